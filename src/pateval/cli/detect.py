"""``pateval detect``: detectors on a data set, one score file each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.options import AT_LEAST_1, Files, option, root
from pateval.cli.output import console, for_terminal, progress_bar, say, say_list, tell, tell_all
from pateval.output.progress import detection_progress
from pateval.output.text_table import TERMINAL_WIDTH, render
from pateval.validation.wording import listed, named_error

if TYPE_CHECKING:
    from pateval.datasets import Series
    from pateval.runner import Candidate

_SHOWN_NOTES = 3


@options.command("detect")
@click.argument("detectors", nargs=-1, metavar="DETECTOR...")
@option("--list listing", "List the detectors and stop.", is_flag=True)
@option(
    "--verdicts=FILE_OR_DIR",
    "Say of every run in these score files whether its training collapsed, and stop.",
    multiple=True,
    type=click.Path(exists=True),
)
@option(
    "--check-causal check_future",
    "Instead of writing scores, say which detectors use the future: scores of beginnings of each series are compared.",
    is_flag=True,
)
@option("--data=NAME_OR_DIR", "A known data set ('pateval data list'), a folder, or a file.")
@root
@option("-o --output=DIR", "Folder for the score files.", type=click.Path(file_okay=False))
@option("--seed=N", "Seed of every detector that has one; its own default otherwise.", type=int)
@option("--seeds=N,N,...", "Several seeds, in one file with a column 'run': 0,1,2 or 0..4.")
@option("--device=DEVICE", "cpu, cuda, cuda:1 ...; a GPU if there is one by default.")
@option("--set=KEY=VALUE settings", "A setting; DETECTOR.KEY=VALUE for one only.", multiple=True)
@option(
    "--higher-is-anomalous/--lower-is-anomalous higher",
    "What a high value of package.module:Class says; known of scikit-learn's, PyOD's and aeon's.",
    default=None,
)
@option("--only=SERIES", "Only this series; may be repeated.", multiple=True)
@option("--join joined", "Lay all series end to end and fit once; no window crosses them.", is_flag=True)
@option(
    "--protocol",
    "paper: join, let windows cross series, drop incomplete ones, and let the test set choose the weights.",
    type=click.Choice(["held-out", "paper"]),
    default="held-out",
)
@option(
    "--preset",
    "With --protocol paper: do as the authors' program does where our defaults differ.",
    type=click.Choice(["authors"]),
)
@option("--jobs=N", "Fits at a time.", type=AT_LEAST_1, default=1)
@option("--minutes=N", "Stop after so long; the next call goes on from there.", type=click.FloatRange(min=0))
@option("--name=NAME", "Call the score file this instead of the detector; for one detector.")
@option("--float32 single", "Store scores as float32, half the size.", is_flag=True)
@option("--overwrite", "Replace score files of other settings or data.", is_flag=True)
def command(
    detectors: Files,
    listing: bool,
    verdicts: tuple[str, ...],
    check_future: bool,
    data: str | None,
    root: Path | None,
    output: str | None,
    seed: int | None,
    seeds: str | None,
    device: str | None,
    settings: tuple[str, ...],
    higher: bool | None,
    only: tuple[str, ...],
    joined: bool,
    preset: str | None,
    name: str | None,
    **work: Any,
) -> None:
    """Run detectors on a data set and write one Parquet file of scores each.

    The files hold series, step, label and score, and are what 'pateval leaderboard' reads. A run that was interrupted
    goes on where it stopped; a detector that fails on one series does not stop the others, and the exit status is 1.

    A detector is one of the list, or package.module:Class for any class with fit and decision_function or
    score_samples, and for a detector of aeon; installed or in the current folder.

    Example: pateval detect random pca knn --data MSL -o scores

    Example: pateval detect sklearn.svm:OneClassSVM --set nu=0.1 --data MSL -o scores

    Example: pateval detect pca moving_zscore --check-causal --data MSL
    """
    if listing:
        from pateval.detectors import REGISTRY

        needs = {name: f" (needs {entry.needs})" if entry.needs else "" for name, entry in REGISTRY.items()}
        say_list({name: f"{entry.about}{needs[name]}" for name, entry in REGISTRY.items()})
        return
    if verdicts:
        _verdicts(verdicts)
        return
    is_paper = work["protocol"] == "paper"
    refused = {
        "name at least one detector ('pateval detect --list' shows them)": not detectors,
        "--check-causal writes no scores and looks at each series by itself: leave out -o, --seeds, --join and "
        "--protocol": check_future and (output is not None or seeds is not None or joined or is_paper),
        "--name goes with one detector": name is not None and len(detectors) > 1,
        "--seed and --seeds exclude each other": seed is not None and seeds is not None,
        "--higher-is-anomalous and --lower-is-anomalous are for package.module:Class only": higher is not None
        and not any(":" in detector for detector in detectors),
        "--preset goes with --protocol paper": preset is not None and not is_paper,
    }
    for message, is_wrong in refused.items():
        if is_wrong:
            raise click.UsageError(message)
    if data is None or (output is None and not check_future):
        raise click.UsageError("--data is needed" if check_future else "--data and -o are needed")
    from pateval.datasets import contents_of, join, load, title_of
    from pateval.runner import candidate, user_candidate
    from pateval.runner.candidates import read_setting

    work["seeds"] = None if seeds is None else _seeds(seeds)
    try:
        chosen = [read_setting(text, detectors) for text in settings]
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    candidates = []
    for detector in dict.fromkeys(detectors):
        own = _settings_of_protocol(detector, preset) if is_paper else {}
        own |= {key: value for wanted, key, value in chosen if wanted in (None, detector)}
        if ":" in detector:
            made = user_candidate(detector, settings=own, higher_is_anomalous=higher, seed=seed, name=name)
            tell(f"{made.name}: {_what_it_sees(made.settings)}")
        else:
            own = _papers_settings(detector, title_of(data), own) | own
            made = candidate(detector, settings=own, name=name, seed=seed, device=device)
        candidates.append(made)
    series = load(data, root=root)
    _announce_features(data, series)
    work["about_data"] = _about(data, contents_of(series), only)
    series = _chosen(series, only)
    if output is None:
        _check_future(candidates, series)
        return
    if joined or is_paper:
        series = [join(series, title_of(data))]
    _run(candidates, series, output, **work)


def _check_future(candidates: Sequence[Candidate], series: Sequence[Series]) -> None:
    """Print, for each detector on each series, whether later steps changed its scores."""
    if any(one.train is None for one in series):
        tell("no training stretch: detectors are fitted on the beginning they score, and see more of it each time")
    pairs = [(candidate, one) for candidate in candidates if candidate.name != "perfect" for one in series]
    if len(pairs) < len(candidates) * len(series):
        tell("perfect is left out: it is shown the labels")
    rows = []
    with progress_bar("series checked") as progress:
        for done, (candidate, one) in enumerate(pairs, start=1):
            try:
                rows.append([candidate.name, one.name, *_future_of(candidate, one)])
            except Exception as error:  # a detector may fail in any way; the others are looked at
                rows.append([candidate.name, one.name, f"failed: {named_error(error)}", *[""] * 5])
            progress(done, len(pairs))
    columns = ("detector", "series", "look-ahead", "steps changed", "first", "reach", "pate_ap", "pate_ap then")
    click.echo(render(columns, rows, width=TERMINAL_WIDTH))
    tell("pate_ap then: each step has the score of the shortest beginning tried that holds it (100 of each series)")


def _future_of(candidate: Candidate, series: Series) -> list[Any]:
    from pateval.checking import check_causal

    labels = series.labels if series.labels.any() else None
    if series.train is None:
        causality = check_causal(lambda values: candidate.build().fit(values).score(values), series.test, labels=labels)
    else:
        causality = check_causal(candidate.build().fit(series.train), series.test, labels=labels)
    if causality.causal:
        return ["no", "0", "", "", causality.pate_ap, causality.pate_ap_causal]
    changed = f"{causality.changed:,} of {causality.steps:,}"
    return ["yes", changed, f"{causality.first:,}", f"{causality.reach:,}", causality.pate_ap, causality.pate_ap_causal]


def _announce_features(data: str, series: Sequence[Series]) -> None:
    """Say which columns of a user's file are features, and which are not; benchmark data sets have no others."""
    for features, left_out in dict.fromkeys((one.features, one.left_out) for one in series):
        if left_out:
            tell(f"{data}: features are {listed(features, 6)}; not taken as such: {listed(left_out, 6)}")
    notes = list(dict.fromkeys(line for one in series for line in one.notes))
    tell_all(notes[:_SHOWN_NOTES])
    if len(notes) > _SHOWN_NOTES:
        tell(f"the times of {len(notes) - _SHOWN_NOTES} more series repeat or are out of order")


def _verdicts(paths: Sequence[str]) -> None:
    from pateval.io.score_files import training_verdicts

    columns = ("file", "detector", "series", "run", "verdict")
    # Text, so that a table of files without seeds stays readable.
    rows = [["" if row[name] is None else str(row[name]) for name in columns] for row in training_verdicts(paths)]
    say(render(columns, rows, width=TERMINAL_WIDTH))


def _papers_settings(detector: str, title: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the papers' settings of a detector of the registry for a data set, but for those that are given."""
    from pateval.detectors import REGISTRY
    from pateval.detectors.presets import dataset_settings

    if detector not in REGISTRY:
        raise ValueError(
            f"unknown detector {detector!r}; there are {', '.join(REGISTRY)}, or package.module:Class of your own"
        )
    variant = own.get("variant", "paper")
    preset = dataset_settings(detector, title, variant=variant) if variant in ("paper", "original") else {}
    added = {key: value for key, value in preset.items() if key not in own}
    if added:
        shown = ", ".join(f"{key}={value}" for key, value in added.items())
        tell(f"{detector}: settings of the papers for {title}: {shown}")
    return added


def _what_it_sees(settings: Mapping[str, Any]) -> str:
    window, high = settings["shown_window"], settings["higher_is_anomalous"]
    scaled = "z-scored" if settings["shown_standardize"] else "not scaled"
    meaning = f"its {'high' if high else 'low'} values are anomalous"
    if window is None:
        return f"is shown the whole series, {scaled} (--set standardize=false); {meaning}"
    what = f"windows of {window} steps" if window > 1 else "single steps"
    return f"is shown {what}, {scaled} (--set window=N, --set standardize=false); {meaning}"


def _settings_of_protocol(detector: str, preset: str | None) -> dict[str, Any]:
    """Return what goes with the paper's protocol: the test set chooses the weights where it can, and the preset."""
    from pateval.detectors import REGISTRY, settings_class
    from pateval.detectors.presets import preset_settings

    selects = detector in REGISTRY and "select_on_test" in settings_class(detector).__dataclass_fields__
    return ({"select_on_test": True} if selects else {}) | ({} if preset is None else preset_settings(preset, detector))


def _seeds(text: str) -> list[int]:
    """Read ``0,1,2`` or ``0..4``."""
    seeds: list[int] = []
    with suppress(ValueError):
        if ".." in text:
            first, last = map(int, text.split(".."))
            seeds = list(range(first, last + 1))
        else:
            seeds = list(map(int, text.split(",")))
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise click.UsageError(f"--seeds takes different whole numbers like 0,1,2 or 0..4; got {text!r}")
    return seeds


def _about(data: str, found: Any, only: Sequence[str]) -> dict[str, Any]:
    """Return what the score files shall say about the data, and note on standard error what is missing."""
    from pateval.datasets import info, missing, title_of

    about: dict[str, Any] = {"name": title_of(data), "series": len(found.names)}
    if only:
        about["only"] = list(dict.fromkeys(only))
    try:
        (known,) = info(title_of(data))
    except ValueError:
        # A digest tells folders of one name apart, and names no folder.
        return about | {"place": hashlib.sha256(str(Path(data).resolve()).encode()).hexdigest()[:16]}
    about["missing"] = missing(known, found)
    if about["missing"]:
        tell(f"{known.name} is not whole: {about['missing']}")
    return about


def _chosen(series: list[Series], only: Sequence[str]) -> list[Series]:
    if not only:
        return series
    known = {one.name: one for one in series}
    missing = next((name for name in only if name not in known), None)
    if missing is not None:
        shown = ", ".join(list(known)[:12]) + (" ..." if len(known) > 12 else "")
        raise ValueError(f"there is no series {missing!r}; there are {shown}")
    return [known[name] for name in dict.fromkeys(only)]


def _run(candidates: Sequence[Candidate], series: Sequence[Series], output: str, **options: Any) -> None:
    from pateval.runner import detect

    if any(one.train is None for one in series):
        tell("no training stretch: detectors are fitted on the test stretch, without its labels")
    try:
        with detection_progress(console(), for_terminal) as show:
            results = detect(candidates, series, output, show=show, **options)
    except KeyboardInterrupt:
        tell(f"stopped; finished runs are kept in {output}, and the same command goes on from there")
        raise
    for result in results:
        if result.path is not None:
            say(str(result.path))
    failed = sum(len(result.failures) for result in results)
    stopped = sum(result.stopped for result in results)
    if stopped:
        were = "1 run was" if stopped == 1 else f"{stopped} runs were"
        tell(f"{were} not finished in time; run again to go on with {'it' if stopped == 1 else 'them'}")
    if failed:
        tell(f"{failed} of {len(candidates) * len(series)} pairs failed; the reasons are in {output}/failures.json")
    if failed or stopped:
        raise SystemExit(1)
