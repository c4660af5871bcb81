"""The data sets by name: what they are, whose they are, where they come from. A table one can read.

A sha256 stands only where the bytes are known. Archives of GitHub commits have stable content but not stable bytes,
so they have none: the digest of what was unpacked is written down at the first download and compared at the next.
None of the addresses could be tried where this was written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mirror:
    """One place a file can be had from.

    Attributes
    ----------
    url : str
        Address.
    inside : str
        For archives: the folder whose content is wanted; ``*`` stands for a folder of any name.
    only : tuple of str
        For archives: patterns of the paths wanted inside that folder; all where empty.
    """

    url: str
    inside: str = ""
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Download:
    """One file to fetch.

    Attributes
    ----------
    mirrors : tuple of Mirror
        Tried in order.
    file : str
        What it is called in the data set's folder; empty for an archive, which is unpacked there.
    sha256 : str or None
        Of the file; None where it is not known.
    """

    mirrors: tuple[Mirror, ...]
    file: str = ""
    sha256: str | None = None


@dataclass(frozen=True)
class Dataset:
    """What is known about one data set.

    Attributes
    ----------
    name : str
        As used on the command line.
    title, licence, citation, origin : str
        For people.
    series, features : str
        How many.
    train, test : str
        Published numbers of rows.
    anomalies : str
        Published share of anomalous test steps, and events.
    layout : str
        Module and function in `pateval.datasets` that find it in a folder.
    files : str
        What is looked for in that folder.
    folders : tuple of str
        Names its folder may have below the data root.
    home : str
        The one of them a download goes to; the first where empty.
    downloads : tuple of Download
        Empty where it cannot be downloaded.
    note : str
        What else one should know.
    members : tuple of str
        Names of all its series, where they are known: what is missing can then be said.
    """

    name: str
    title: str
    licence: str
    citation: str
    origin: str
    series: str
    features: str
    train: str
    test: str
    anomalies: str
    layout: str
    files: str
    folders: tuple[str, ...]
    downloads: tuple[Download, ...] = ()
    note: str = ""
    home: str = ""
    members: tuple[str, ...] = ()


def _github(repository: str, commits: tuple[str, ...], inside: str, only: tuple[str, ...] = ()) -> tuple[Mirror, ...]:
    """Return the archives of some commits of a repository; the first is what was looked at."""
    return tuple(Mirror(f"https://github.com/{repository}/archive/{commit}.zip", inside, only) for commit in commits)


_MASTER = "refs/heads/master"
_TELEMANOM_LABELS = Download(
    (
        Mirror("https://raw.githubusercontent.com/khundman/telemanom/2e6c5b6c3558/labeled_anomalies.csv"),
        Mirror("https://raw.githubusercontent.com/khundman/telemanom/master/labeled_anomalies.csv"),
    ),
    "labeled_anomalies.csv",
    "057ce2d6c8875982bf4e5404aefea14efdcbce413d80826d2b737c95b59b7539",
)
_TELEMANOM_ARRAYS = Download(
    (
        *_github("imperial-qore/TranAD", ("7ffb98d0c181",), "*/data/SMAP_MSL", ("train/*.npy", "test/*.npy")),
        Mirror("https://s3-us-west-2.amazonaws.com/telemanom/data.zip", "data", ("train/*.npy", "test/*.npy")),
    )
)
_TELEMANOM: dict[str, Any] = {
    "licence": "telemanom: Caltech licence of BSD kind, its README says Apache-2.0; TranAD's copy BSD-3-Clause; "
    "no separate data licence",
    "citation": "Hundman, Constantinou, Laporte, Colwell, Soderstrom (2018). Detecting Spacecraft Anomalies Using "
    "LSTMs and Nonparametric Dynamic Thresholding. KDD.",
    "origin": "github.com/khundman/telemanom (labels), github.com/imperial-qore/TranAD (arrays)",
    "home": "SMAP_MSL",
}
_NAB: dict[str, Any] = {
    "title": "Numenta Anomaly Benchmark",
    "licence": "MIT",
    "citation": "Lavin, Ahmad (2015). Evaluating Real-time Anomaly Detection Algorithms: the Numenta Anomaly "
    "Benchmark. ICMLA.",
    "origin": "github.com/numenta/NAB",
    "series": "58",
    "features": "1",
    "train": "none",
    "test": "365,558",
    "files": "data/*/*.csv with labels/combined_*.json, or NAB.parquet",
}
_NAB_DOWNLOADS = (
    Download(_github("numenta/NAB", ("ea702d75cc22", _MASTER), "*", ("data/*/*.csv", "labels/combined_*.json"))),
)
_TSB_AD: dict[str, Any] = {
    "licence": "Apache-2.0 for the curation; each collection keeps its own",
    "citation": "Liu, Paparrizos (2024). The Elephant in the Room: Towards A Reliable Time-Series Anomaly Detection "
    "Benchmark. NeurIPS Datasets and Benchmarks.",
    "origin": "github.com/TheDatumOrg/TSB-AD",
    "anomalies": "varies",
    "layout": "univariate.tsb_ad",
    "files": "NNN_..._tr_N_1st_M.csv",
    "note": "The whole series is scored, the rows to learn from included, as in the benchmark's own runs.",
}

DATASETS: tuple[Dataset, ...] = (
    Dataset(
        name="SMD",
        title="Server Machine Dataset",
        licence="MIT",
        citation="Su, Zhao, Niu, Liu, Sun, Pei (2019). Robust Anomaly Detection for Multivariate Time Series through "
        "Stochastic Recurrent Neural Network. KDD.",
        origin="github.com/NetManAIOps/OmniAnomaly",
        series="28",
        features="38",
        train="708,405",
        test="708,420",
        anomalies="4.16 %, 327 events",
        layout="multivariate.smd",
        files="ServerMachineDataset/test, or machine-*_test.parquet",
        folders=("SMD", "ServerMachineDataset"),
        downloads=(Download(_github("NetManAIOps/OmniAnomaly", ("7fb0e0acf89e", _MASTER), "*/ServerMachineDataset")),),
        note="One series per machine; the papers lay them end to end (--join).",
        members=tuple(
            f"machine-{group}-{number}"
            for group, machines in ((1, 8), (2, 9), (3, 11))
            for number in range(1, machines + 1)
        ),
    ),
    Dataset(
        name="MSL",
        title="Mars Science Laboratory rover telemetry",
        series="27",
        features="55",
        train="58,317",
        test="73,729",
        anomalies="10.5 %, 36 events",
        layout="multivariate.msl",
        files="test/*.npy with labeled_anomalies.csv, or MSL_test.parquet",
        folders=("MSL", "SMAP_MSL", "telemanom"),
        downloads=(_TELEMANOM_LABELS, _TELEMANOM_ARRAYS),
        note="One series per channel; the papers lay them end to end (--join). MSL and SMAP come in one download.",
        **_TELEMANOM,
    ),
    Dataset(
        name="SMAP",
        title="Soil Moisture Active Passive satellite telemetry",
        series="53",
        features="25",
        train="135,183",
        test="427,617",
        anomalies="12.8 %, 67 events",
        layout="multivariate.smap",
        files="test/*.npy with labeled_anomalies.csv, or SMAP_test.parquet",
        folders=("SMAP", "SMAP_MSL", "telemanom"),
        downloads=(_TELEMANOM_LABELS, _TELEMANOM_ARRAYS),
        note="Channel P-2 is left out, as everybody does. MSL and SMAP come in one download.",
        **_TELEMANOM,
    ),
    Dataset(
        name="PSM",
        title="Pooled Server Metrics",
        licence="CC BY 4.0, (c) 2021 eBay Inc.",
        citation="Abdulaal, Liu, Lancewicki (2021). Practical Approach to Asynchronous Multivariate Time Series "
        "Anomaly Detection and Localization. KDD.",
        origin="github.com/eBay/RANSynCoders",
        series="1",
        features="25",
        train="132,481",
        test="87,841",
        anomalies="27.8 %, 72 events",
        layout="multivariate.psm",
        files="test.csv with test_label.csv, or PSM_test_first*.parquet",
        folders=("PSM",),
        downloads=(
            Download(
                _github(
                    "eBay/RANSynCoders",
                    ("948e61eb579815ff2a6bce721332d8220d59ca47",),
                    "*/data",
                    ("train.csv", "test.csv", "test_label.csv", "LICENSE"),
                )
            ),
        ),
        note="Missing values of the training stretch become 0 and the time stamp is left out, as everybody does.",
    ),
    Dataset(
        name="SWaT",
        title="Secure Water Treatment test bed",
        licence="on request only, not to be passed on",
        citation="Goh, Adepu, Junejo, Mathur (2016). A Dataset to Support Research in the Design of Secure Water "
        "Treatment Systems. CRITIS.",
        origin="iTrust, Singapore University of Technology and Design",
        series="1",
        features="51",
        train="495,000 (v1)",
        test="449,919",
        anomalies="12.1 %",
        layout="multivariate.swat",
        files="a CSV file with 'normal' and one with 'attack' in its name, given out on request only",
        folders=("SWaT",),
        note="SWaT cannot be downloaded: fill in the form at https://itrust.sutd.edu.sg/itrust-labs_datasets/ and take "
        "'SWaT.A1 & A2_Dec 2015'; save the two workbooks SWaT_Dataset_Normal_v1 and SWaT_Dataset_Attack_v0 as CSV "
        "and put them into the folder SWaT.",
    ),
    Dataset(
        name="UCR",
        title="UCR time series anomaly archive (KDD Cup 2021)",
        licence="none stated; ask the authors before passing it on",
        citation="Wu, Keogh (2021). Current Time Series Anomaly Detection Benchmarks are Flawed and are Creating the "
        "Illusion of Progress. IEEE TKDE.",
        origin="www.cs.ucr.edu/~eamonn",
        series="250",
        features="1",
        train="first part of each",
        test="rest of each",
        anomalies="one event each",
        layout="univariate.ucr",
        files="NNN_UCR_Anomaly_NAME_TRAIN_START_STOP.txt",
        folders=("UCR", "UCR-KDD21"),
        downloads=(
            Download(
                (
                    Mirror(
                        "https://www.cs.ucr.edu/~eamonn/time_series_data_2018/UCR_TimeSeriesAnomalyDatasets2021.zip",
                        "",
                        ("*_UCR_Anomaly_*.txt",),
                    ),
                )
            ),
        ),
        note="Steps count from 0 and the last number of the file name is taken as exclusive; "
        "see pateval.datasets.univariate.ucr.",
    ),
    Dataset(
        name="MBA_ECG",
        title="MBA electrocardiograms of TSB-UAD",
        licence="Apache-2.0 (TSB-UAD); recordings from PhysioNet, ODC-By 1.0 (from memory)",
        citation="Paparrizos, Kang, Boniol, Tsay, Palpanas, Franklin (2022). TSB-UAD: An End-to-End Benchmark Suite "
        "for Univariate Time-Series Anomaly Detection. PVLDB 15(8).",
        origin="github.com/TheDatumOrg/TSB-UAD",
        series="3",
        features="1",
        train="none",
        test="230,400 each",
        anomalies="8.77 %, 2.26 %, 6.24 %",
        layout="univariate.ecg",
        files="MBA_*.out or MBA_*.parquet",
        folders=("MBA_ECG", "MBA", "ECG"),
        downloads=tuple(
            Download(
                tuple(
                    Mirror(
                        f"https://raw.githubusercontent.com/TheDatumOrg/TSB-UAD/{commit}/data/benchmark/ECG/"
                        f"MBA_ECG{record}_data.out"
                    )
                    for commit in ("b61e91efc80be2d1766cc44f6a121c1b662ba67e", "main")
                ),
                f"MBA_ECG{record}_data.out",
            )
            for record in ("805", "806", "820")
        ),
    ),
    Dataset(
        name="NAB",
        anomalies="9.16 % in 116 windows",
        layout="univariate.nab",
        folders=("NAB",),
        downloads=_NAB_DOWNLOADS,
        note="The truth are the windows; NAB-points has the single time stamps.",
        **_NAB,
    ),
    Dataset(
        name="NAB-points",
        anomalies="single steps",
        layout="univariate.nab_points",
        folders=("NAB",),
        downloads=_NAB_DOWNLOADS,
        note="The truth are single time stamps; NAB has the windows around them. Both are one download.",
        **_NAB,
    ),
    Dataset(
        name="TSB-AD-U",
        title="TSB-AD, univariate",
        series="870",
        features="1",
        train="first part of each",
        test="all of each",
        folders=("TSB-AD-U",),
        downloads=(Download((Mirror("https://www.thedatum.org/datasets/TSB-AD-U.zip", "", ("*.csv",)),)),),
        **_TSB_AD,
    ),
    Dataset(
        name="TSB-AD-M",
        title="TSB-AD, multivariate",
        series="200",
        features="2 to 248",
        train="first part of each",
        test="all of each",
        folders=("TSB-AD-M",),
        downloads=(Download((Mirror("https://www.thedatum.org/datasets/TSB-AD-M.zip", "", ("*.csv",)),)),),
        **_TSB_AD,
    ),
    Dataset(
        name="TSB-AD-sample",
        title="TSB-AD, the one univariate series in its repository",
        series="1",
        features="1",
        train="1,007",
        test="all",
        folders=("TSB-AD-sample", "TSB-AD_sample"),
        downloads=(
            Download(
                tuple(
                    Mirror(
                        f"https://raw.githubusercontent.com/TheDatumOrg/TSB-AD/{commit}/Datasets/TSB-AD-U/"
                        "001_NAB_id_1_Facility_tr_1007_1st_2014.csv"
                    )
                    for commit in ("e7527d853dc44634bc31fc9d2432d4abbcd7b087", "main")
                ),
                "001_NAB_id_1_Facility_tr_1007_1st_2014.csv",
                "e3e67660bbaa840ef24e70b38f0b384d41c7e2bce71bf0edbab65565a40a7584",
            ),
        ),
        **_TSB_AD,
    ),
)
