"""The papers that metrics come from."""

from __future__ import annotations

from typing import NamedTuple


class Paper(NamedTuple):
    """A reference one can look up."""

    text: str
    link: str


PAPERS = {
    "pate": Paper("Ghorbani, Reinders, Tax: PATE, KDD 2024", "arXiv:2405.12096"),
    "pateval": Paper("pateval's own, on the curve of Ghorbani et al.: PATE, KDD 2024", "arXiv:2405.12096"),
    "classic": Paper("textbook; as scikit-learn computes it", "https://jmlr.org/papers/v12/pedregosa11a.html"),
    "vus": Paper("Paparrizos et al.: Volume Under the Surface, PVLDB 15(11), 2022", "doi:10.14778/3551793.3551830"),
    "point_adjusted": Paper("Xu et al.: Unsupervised Anomaly Detection via VAE, WWW 2018", "arXiv:1802.03903"),
    "point_adjusted_k": Paper("Kim et al.: Towards a Rigorous Evaluation, AAAI 2022", "arXiv:2109.05257"),
    "delay_adjusted": Paper("Ren et al.: Anomaly Detection Service at Microsoft, KDD 2019", "arXiv:1906.03821"),
    "range_based": Paper("Tatbul et al.: Precision and Recall for Time Series, NeurIPS 2018", "arXiv:1803.03639"),
    "tapr": Paper("Hwang et al.: Time-Series Aware Precision and Recall, CIKM 2019", "doi:10.1145/3357384.3358118"),
    "etapr": Paper("Hwang et al.: Existing Accuracy Metrics Overrate, SAC 2022", "doi:10.1145/3477314.3507024"),
    "affiliation": Paper("Huet, Navarro, Rossi: Local Evaluation of Anomaly Detection, KDD 2022", "arXiv:2206.13167"),
    "composite": Paper("Garg et al.: An Evaluation of Anomaly Detection and Diagnosis, TNNLS 2021", "arXiv:2109.11428"),
    "segment": Paper("Hundman et al.: Detecting Spacecraft Anomalies, KDD 2018", "arXiv:1802.04431"),
    "event_wise": Paper("Sehili, Zhang: Multivariate Time Series Anomaly Detection, TPCTC 2023", "arXiv:2308.13068"),
    "tolerant": Paper("Sorbo, Ruocco: Navigating the Metric Maze, DMKD 2024", "arXiv:2303.01272"),
    "nab": Paper("Lavin, Ahmad: The Numenta Anomaly Benchmark, ICMLA 2015", "arXiv:1510.03336"),
    "ucr": Paper("Wu, Keogh: Current Benchmarks are Flawed, TKDE 2021", "arXiv:2009.13807"),
    "ts_auprc": Paper("Wagner et al.: TimeSeAD, TMLR 2023", "https://openreview.net/forum?id=iMmsCI0JsS"),
    "latency": Paper("Doshi et al.: Reward Once, Penalize Once, ICASSP 2022", "arXiv:2203.05167"),
    "merlion": Paper("Bhatnagar et al.: Merlion, JMLR 2023", "arXiv:2109.09265"),
    "timeeval": Paper("Wenig, Schmidl, Papenbrock: TimeEval, PVLDB 15(12), 2022", "doi:10.14778/3554821.3554873"),
    "sktime": Paper("as sktime's detection metrics define it", "https://www.sktime.net"),
    "time_series_bench": Paper("Si et al.: TimeSeriesBench, ISSRE 2024", "arXiv:2402.10802"),
    "simad": Paper("Zhong et al.: SimAD, TNNLS 2025", "arXiv:2405.11238"),
    "oipr": Paper("Jing et al.: Operator Interest (OIPR), 2025", "arXiv:2503.01260"),
    "dqe": Paper("Li et al.: DQE, 2026", "arXiv:2603.06131"),
    "tranad": Paper("Tuli, Casale, Jennings: TranAD, PVLDB 15(6), 2022", "arXiv:2201.07284"),
    "cce": Paper("Zhong et al.: Confidence-Consistency Evaluation (CCE), 2025", "arXiv:2509.01098"),
    "balanced": Paper("Bhattacharya et al.: Towards Unbiased Evaluation, 2024", "arXiv:2409.13053"),
    "soft_event": Paper("Salles et al.: SoftED, 2024", "arXiv:2304.00439"),
    "szcore": Paper("Dan et al.: SzCORE, Epilepsia 2024", "arXiv:2402.13005"),
    "esa": Paper("Kotowski et al.: European Space Agency Benchmark, 2024", "arXiv:2406.17826"),
}
