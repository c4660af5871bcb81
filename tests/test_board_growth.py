"""Boards that grow: in any order the same bytes as all files at once, and what does not go with them is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.io import TableError
from pateval.leaderboards import growth
from pateval.leaderboards.board_files import OUTPUTS
from support.command_line import invoke
from support.messages import message_of

METRICS = ["pate_ap", "auc_roc", "point_f1"]
ASIDE = ("timings.csv", "run.json")  # times, dates, and where the inputs were
RECORDED = (
    *("measures", "event_draws", "event_metrics", "doubt", "units", "rank_by", "signatures", "own_signatures", "facts"),
    *("detectors", "series", "metrics", "pooled", "intervals", "coarse", "warnings", "checks", "failures"),
)
ORDERS = list(permutations(range(3)))


def labels_of(series):
    labels = np.zeros(80, dtype=int)
    labels[20 + 3 * series : 26 + 4 * series] = labels[55:60] = 1
    return np.zeros(80, dtype=int) if series == 3 else labels  # the last has no anomaly


def write(folder, name, strength, series=range(4), *, run=None, gaps=(), alter=None):
    """A file of one detector, or of one of its runs."""
    folder.mkdir(exist_ok=True)
    columns = {"series": [], "label": [], "score": []}
    for s in series:
        labels = labels_of(s)
        scores = strength * labels + np.random.default_rng([len(name), ord(name[0]), s]).random(80)
        scores[list(gaps)] = np.nan
        scores = alter(scores) if alter else scores
        columns["series"] += [f"s{s}"] * 80
        columns["label"] += labels.tolist()
        columns["score"] += scores.tolist()
    if run is not None:
        columns |= {"detector": [name] * len(columns["label"]), "run": [run] * len(columns["label"])}
    path = folder / f"{name}{'' if run is None else run}.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def by_series(files, folder):
    """The same rows, a file per series."""
    table = pa.concat_tables(
        [
            pq.read_table(file).append_column("detector", pa.array([file.stem] * pq.read_table(file).num_rows))
            for file in files
        ]
    )
    found = []
    for name in table["series"].unique().to_pylist():
        found.append(folder / f"{name}.parquet")
        pq.write_table(table.filter(pc.equal(table["series"], name)), found[-1])
    return found


def three(folder, **given):
    return [write(folder, name, strength, **given) for name, strength in (("zeta", 0.9), ("beta", 0.5), ("alpha", 0.2))]


def with_runs(folder):
    return [write(folder, "lstm", 0.4, run=run) for run in ("10", "9", "1")]


def with_predictions(folder):
    return [*three(folder)[:2], write(folder, "rule", 0.8, alter=lambda scores: (scores > 0.9) * 1.0)]


def with_gaps(folder):
    return [
        write(folder, "zeta", 0.9, gaps=(3, 22)),
        write(folder, "beta", 0.5, gaps=(3, 22)),
        write(folder, "mute", 0.5, gaps=range(60)),  # more than half is missing: it has no say
    ]


def with_holes(folder):
    return [write(folder, "zeta", 0.9), write(folder, "beta", 0.5, series=(0, 2)), write(folder, "alpha", 0.2)]


def with_values(folder, files=None):
    """What was measured stands in all files but the first, and the rules follow from it."""
    files = files or three(folder)
    for file in files[1:]:
        table = pq.read_table(file)
        values = np.random.default_rng(7).normal(size=(4, 80))[
            [int(name[1:]) for name in table["series"].to_pylist()[::80]]
        ]
        pq.write_table(table.append_column("value", pa.array(values.ravel())), file)
    return files


CASES = {
    "values": (with_values, {}),
    "values and gaps": (lambda folder: with_values(folder, with_gaps(folder)), {"missing": "ignore"}),
    "detectors": (three, {}),
    "series": (lambda folder: by_series(three(folder), folder)[:3], {}),
    "runs": (with_runs, {"run": "run", "detector": "detector"}),
    "predictions": (with_predictions, {}),
    "thresholds": (with_predictions, {"metrics": "point_f1(threshold=0.6),pate_f1", "threshold": "quantile:0.1"}),
    "gaps": (with_gaps, {"missing": "ignore"}),
    "series that some lack": (with_holes, {}),
    "moved labels": (three, {"doubt": 2, "doubt_draws": 3}),
    "one series": (lambda folder: three(folder, series=[1]), {"event_draws": 5}),
}
READING = ("run", "detector")


def computed(files, **given):
    return pv.leaderboard(list(map(str, files)), **({"metrics": METRICS, "chance": 2, "workers": 1} | given))


def grown(files, folder, **given):
    """The first file's board, and the others added to what is saved, as people do one after the other."""
    computed(files[:1], **given).save(folder)
    for file in files[1:]:
        reading = {name: value for name, value in given.items() if name in READING}
        pv.Leaderboard.load(folder).add(str(file), workers=1, **reading).save(folder)
    return folder


def assert_same(folder, expected):
    for name in set(OUTPUTS) - set(ASIDE):
        there = (expected / name).exists()
        if (expected / name).is_dir():
            assert_same(folder / name, expected / name)
            continue
        assert (folder / name).exists() == there, name
        assert not there or (folder / name).read_bytes() == (expected / name).read_bytes(), name
    found, wanted = (json.loads((where / "run.json").read_text()) for where in (folder, expected))
    for name in RECORDED:
        assert found[name] == wanted[name], name


@pytest.mark.parametrize("case", CASES)
def test_whoever_is_added_first_the_bytes_are_those_of_all_at_once(case, tmp_path):
    write_files, given = CASES[case]
    files = write_files(tmp_path / "scores")
    computed(files, **given).save(tmp_path / "at once")
    # A detector with few scores has no say in which steps are left out, so it may come later only.
    for order in ORDERS[::3] if "doubt" in given else ORDERS[:4] if "missing" in given else ORDERS:
        folder = grown([files[place] for place in order], tmp_path / str(order), **given)
        assert_same(folder, tmp_path / "at once")


def test_a_threshold_of_a_detector_that_is_there_hinders_nobody(tmp_path):
    files = three(tmp_path / "scores")
    given = {"threshold": {None: "quantile:0.1", "beta": 0.9}}
    computed(files, **given).save(tmp_path / "at once")
    computed(files[:2], **given).save(tmp_path / "board")
    pv.Leaderboard.load(tmp_path / "board").add(str(files[2]), workers=1).save(tmp_path / "board")
    assert_same(tmp_path / "board", tmp_path / "at once")


@pytest.mark.parametrize("case", ["detectors", "runs", "gaps", "moved labels", "values", "values and gaps"])
def test_a_board_that_grew_is_what_its_inputs_give(case, tmp_path):
    write_files, given = CASES[case]
    folder = grown(write_files(tmp_path / "scores"), tmp_path / "board", **given)
    assert pv.verify(folder, all=True, workers=1).agrees
    assert pv.verify(folder, sample=2, workers=1).agrees


def test_files_that_were_read_twice_for_other_columns_are_read_twice_again(tmp_path):
    labels = labels_of(0)
    columns = {name: np.random.default_rng(seed).random(80) for seed, name in enumerate(("one", "two", "three"))}
    pq.write_table(pa.table({"label": labels, **columns}), tmp_path / "wide.parquet")
    board = computed([tmp_path / "wide.parquet"], score=["one"])
    for name in ("two", "three"):
        board = board.add(str(tmp_path / "wide.parquet"), score=[name], workers=1)
    board.save(tmp_path / "board")
    assert pv.verify(tmp_path / "board", all=True, workers=1).agrees


def test_inputs_that_were_named_from_elsewhere_are_found_again(tmp_path, monkeypatch):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    write(tmp_path / "here", "zeta", 0.9), write(tmp_path / "there", "beta", 0.5)
    monkeypatch.chdir(tmp_path / "here")
    computed(["zeta.parquet"]).save(tmp_path / "board")
    monkeypatch.chdir(tmp_path / "there")
    pv.Leaderboard.load(tmp_path / "board").add("beta.parquet", workers=1).save(tmp_path / "board")
    monkeypatch.chdir(tmp_path)
    assert pv.verify(tmp_path / "board", all=True, workers=1).agrees


@pytest.mark.parametrize("write_files", [three, with_values])
def test_other_metrics_of_all_that_is_there(write_files, tmp_path):
    files = write_files(tmp_path / "scores")
    computed(files, metrics=METRICS).save(tmp_path / "at once")
    board = computed(files, metrics=METRICS[:1])
    board.add(list(map(str, files)), metrics=METRICS[1:], workers=1).save(tmp_path / "board")
    assert_same(tmp_path / "board", tmp_path / "at once")
    assert pv.verify(tmp_path / "board", all=True, workers=1).agrees
    assert message_of(board.add, str(files[0]), metrics="auc_roc", workers=1).endswith(
        "metrics are added for all detectors and series at once, with the same files"
    )
    assert "'pate_ap' is there already" in message_of(board.add, str(files[0]), metrics="pate_ap")


def test_only_what_is_new_is_computed_and_chance_is_taken_from_the_board(tmp_path, monkeypatch):
    from pateval.leaderboards import tasks

    files = three(tmp_path / "scores")
    board, drawn = computed(files[:2]), []
    really = tasks.chance_of
    monkeypatch.setattr(tasks, "chance_of", lambda asked, *given: drawn.extend(asked) or really(asked, *given))
    found = board.add(str(files[2]), workers=1)
    # The last series has no anomaly, so that the board knows no chance there.
    assert [recording.names for recording, _ in drawn] == [("s3",)]
    assert found.run["units"] == 12
    for name in ("zeta", "beta"):
        before, after = (b.values[b.detectors.index(name)] for b in (board, found))
        assert np.array_equal(before, after, equal_nan=True)


def test_what_is_there_is_refused_or_replaced(tmp_path):
    files = three(tmp_path / "scores")
    grown(files, tmp_path / "board")
    before = (tmp_path / "board" / "run.json").read_bytes()
    board = pv.Leaderboard.load(tmp_path / "board")
    assert message_of(board.add, str(files[0]), workers=1) == (
        "detector 'zeta' on series 's0', and 3 more, is there already; replace it (overwrite=True, --overwrite), or "
        "give the new one another name"
    )
    write(tmp_path / "scores", "zeta", 0.1, series=(0, 1))
    board = board.add(str(files[0]), workers=1, overwrite=True)
    assert (tmp_path / "board" / "run.json").read_bytes() == before
    fresh = computed(files[:1])
    for s in (0, 1):
        assert np.array_equal(board.values[board.detectors.index("zeta"), s], fresh.values[0, s])
    write(tmp_path / "scores", "zeta", 0.1)
    board = board.add(str(files[0]), workers=1, overwrite=True)
    board.save(tmp_path / "again")
    computed(files).save(tmp_path / "at once")
    assert_same(tmp_path / "again", tmp_path / "at once")
    assert pv.verify(tmp_path / "again", all=True, workers=1).agrees


def other_labels(path):
    table = pq.read_table(path).to_pydict()
    table["label"][3] = 1 - table["label"][3]
    pq.write_table(pa.table(table), path)
    return path


def test_other_labels_are_refused_with_series_and_count(tmp_path):
    files = three(tmp_path / "scores")
    board = computed(files[:2])
    other_labels(files[2])
    assert message_of(board.add, str(files[2]), workers=1) == (
        "what is added does not go with the leaderboard: 1 of 4 series ('s0') have other labels, or other steps to "
        "ignore"
    )
    # Beside others whose labels are right, too; a board of them is no way around it.
    several = [str(write(tmp_path / "scores", name, 0.3)) for name in ("psi", "chi")]
    assert "1 of 4 series ('s0') have other labels" in message_of(board.add, [*several, str(files[2])], workers=1)
    assert "1 of 4 series ('s0') have other labels" in message_of(board.merge, computed([*several, files[2]]))
    shorter = pq.read_table(write(tmp_path / "scores", "omega", 0.3)).slice(1)
    pq.write_table(shorter, tmp_path / "scores" / "omega.parquet")
    assert "1 of 4 series ('s0') have another number of steps" in message_of(
        board.add, str(tmp_path / "scores" / "omega.parquet"), workers=1
    )


def test_other_gaps_are_refused_with_the_remedy(tmp_path):
    files = with_gaps(tmp_path / "scores")
    other = write(tmp_path / "scores", "omega", 0.3, gaps=(3, 4, 5))
    board = computed(files, missing="ignore")
    assert message_of(board.add, str(other), workers=1) == (
        "detector 'omega' has no score at 2 steps of series 's0' that count in the leaderboard; give scores there, or "
        "compute the leaderboard again from all files, which leaves them out for all detectors"
    )


@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_what_is_refused_is_not_computed_and_leaves_no_trace(missing, tmp_path):
    files = three(tmp_path / "scores")
    computed(files[:2], missing=missing, cache=tmp_path / "board" / "cache").save(tmp_path / "board")
    other = {
        "error": other_labels(files[2]),
        "ignore": write(tmp_path / "scores", "omega", 0.3, gaps=(3, 4)),
    }[missing]
    before = {path: path.read_bytes() for path in (tmp_path / "board").rglob("*") if path.is_file()}
    with pytest.raises(TableError):
        invoke("leaderboard", other, "--add-to", tmp_path / "board", "--workers", 1)
    assert {path: path.read_bytes() for path in (tmp_path / "board").rglob("*") if path.is_file()} == before
    assert not (tmp_path / "board" / "scores.partial").exists()


def test_boards_of_other_options_or_unknown_origin_are_refused(tmp_path):
    files = three(tmp_path / "scores")
    board = computed(files[:1])
    start = "the first leaderboard: the second does not go with it: "
    assert message_of(board.merge, computed(files[1:2], chance=3)) == f"{start}chance is 3 instead of 2"
    assert message_of(board.merge, computed(files[1:2], doubt=1)) == f"{start}labels are in doubt in another way"
    pooled = computed(files, pooled=True, metrics="auc_roc")
    assert "a pooled leaderboard does not grow" in message_of(pooled.add, str(files[0]))
    given = pv.leaderboard_from_results({"file": ["s0"], "zeta": [0.5]}, metric="auc_roc")
    assert "its values were computed elsewhere" in message_of(given.add, str(files[0]))


def test_a_metric_of_another_definition_is_refused(monkeypatch, tmp_path):
    files = three(tmp_path / "scores")
    board = computed(files[:1])
    signatures = {name: text.replace("definition:", "definition:7") for name, text in board.signatures.items()}
    stale = replace(board, signatures=signatures)
    monkeypatch.setattr(growth, "make_board", None)  # nothing is computed
    assert "pate_ap is of another definition than here (1), pate_ap|" in message_of(stale.add, str(files[1]))
    monkeypatch.undo()
    assert "pate_ap is measured otherwise or of another definition" in message_of(stale.merge, computed(files[1:2]))
    assert board.add(str(files[1]), workers=1).detectors == ("beta", "zeta")


def test_a_detector_that_no_longer_gives_predictions_is_refused(tmp_path):
    files = with_predictions(tmp_path / "scores")
    board = computed(by_series(files, tmp_path)[:2])
    graded = write(tmp_path / "scores", "rule", 0.8, series=[2])
    assert message_of(board.add, str(graded), workers=1) == (
        "detector 'rule' has scores of 0 and 1 only in the leaderboard, and others here: compute the leaderboard again "
        "from all files"
    )


def test_other_times_are_refused_where_values_hang_on_them(tmp_path):
    def frame(hours):
        times = np.datetime64("2026-01-01") + np.arange(80) * np.timedelta64(hours, "h")
        return {"time": times, "label": labels_of(0), "score": np.random.default_rng(hours).random(80)}

    hourly = pv.leaderboard({"a": frame(1)}, metrics="false_alarm_rate", workers=1)
    assert "1 of 1 series ('series') were recorded at other times" in message_of(hourly.add, {"b": frame(2)}, workers=1)
    assert pv.leaderboard({"a": frame(1)}, metrics="auc_roc", workers=1).add({"b": frame(2)}, workers=1).detectors == (
        "a",
        "b",
    )


def test_boards_are_merged_in_any_order(tmp_path):
    files = three(tmp_path / "scores")
    computed(files).save(tmp_path / "at once")
    parts = [computed(files[:1]), computed(files[1:])]
    for name, (first, second) in {"one": parts, "other": parts[::-1]}.items():
        first.merge(second).save(tmp_path / name)
        assert_same(tmp_path / name, tmp_path / "at once")


def test_the_command_adds_in_place_and_merges_into_a_new_folder(tmp_path):
    files = three(tmp_path / "scores")
    named = ["--metrics", ",".join(METRICS), "--chance", 2, "--workers", 1]
    invoke("leaderboard", *files, *named, "-o", tmp_path / "at once")
    invoke("leaderboard", files[0], *named, "-o", tmp_path / "board")
    done = invoke("leaderboard", files[1], "--add-to", tmp_path / "board", "--workers", 1, "--format", "csv")
    assert "beta,pate_ap" in done.stdout
    invoke("leaderboard", files[2], *named, "-o", tmp_path / "other")
    said = invoke("board", "merge", tmp_path / "board", tmp_path / "other", "-o", tmp_path, status=2).stderr
    assert f"-o {tmp_path}: the folder holds other things (" in said
    invoke("board", "merge", tmp_path / "board", tmp_path / "other", "-o", tmp_path / "both")
    assert_same(tmp_path / "both", tmp_path / "at once")
    invoke("leaderboard", files[2], "--add-to", tmp_path / "board", "--workers", 1)
    assert_same(tmp_path / "board", tmp_path / "at once")


def test_options_of_the_board_are_refused_beside_it(tmp_path):
    files = three(tmp_path / "scores")
    computed(files[:1]).save(tmp_path / "board")
    for option in (["--chance", 3], ["--threshold", "0.5"], ["--missing", "ignore"], ["--early", "5"]):
        done = invoke("leaderboard", files[1], "--add-to", tmp_path / "board", *option, status=2)
        assert f"{option[0]} is that of the leaderboard in {tmp_path / 'board'}" in done.stderr


def test_a_board_that_changed_meanwhile_is_not_written_over(tmp_path, monkeypatch):
    from pateval.io import Reading

    files = three(tmp_path / "scores")
    computed(files[:1]).save(tmp_path / "board")
    really = growth.make_board

    def meanwhile(*given, **named):
        pv.Leaderboard.load(tmp_path / "board").merge(computed(files[1:2])).save(tmp_path / "board")
        return really(*given, **named)

    monkeypatch.setattr(growth, "make_board", meanwhile)
    with pytest.raises(TableError, match="has changed meanwhile; run this again"):
        growth.grow(tmp_path / "board", str(files[2]), Reading(label="label", score="score"), workers=1)


SAME = ("scores.parquet", "summary.csv", "ranks.csv", "chance.parquet", "significance.json", "jobs.parquet")


def grows_as_at_once(files, folder):
    options = {"chance": 1, "workers": 2, "metrics": ["pate_ap", "auc_roc", "point_f1"]}
    pv.leaderboard(list(map(str, files)), **options).save(folder / "at once")
    for name, order in (("forward", files), ("backward", files[::-1])):
        board = pv.leaderboard(str(order[0]), **options)
        for file in order[1:]:
            board = board.add(str(file), workers=1)
        board.save(folder / name)
        for table in SAME:
            assert (folder / name / table).read_bytes() == (folder / "at once" / table).read_bytes(), table


def test_detectors_of_nab_one_by_one(nab, tmp_path):
    files, few = [], []
    for path in sorted(nab.glob("*.parquet")):
        table = pq.read_table(path)
        few = few or table.filter(pc.equal(table["label"], 1))["series"].unique().to_pylist()[:3]
        files.append(tmp_path / path.name)
        pq.write_table(table.filter(pc.is_in(table["series"], pa.array(few))), files[-1])
    assert len(files) == 16
    grows_as_at_once(files, tmp_path)


@pytest.mark.slow
def test_all_of_nab_one_by_one(nab, tmp_path):
    """Sixteen detectors; the published file of `random` has other labels on one series, without which it is added."""
    files = sorted(nab.glob("*.parquet"))
    odd = files.pop(files.index(nab / "random.parquet"))
    other = "realKnownCause/machine_temperature_system_failure.csv"
    table = pq.read_table(odd)
    pq.write_table(table.filter(pc.not_equal(table["series"], other)), tmp_path / "random.parquet")
    grows_as_at_once([*files, tmp_path / "random.parquet"], tmp_path)
    board = computed(files[:1], metrics="auc_roc")
    with pytest.raises(TableError, match=r"1 of 58 series \('realKnownCause/machine_temperature.*have other labels"):
        board.add(str(odd), workers=1)
