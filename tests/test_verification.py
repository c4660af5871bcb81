"""A leaderboard computed again: what was changed by hand, swapped or defined otherwise is found."""

from __future__ import annotations

import csv
import importlib
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.stats import hypergeom

import pateval as pv
from pateval.cli import pateval as command
from pateval.io import TableError
from pateval.io.atomic import write_csv
from pateval.leaderboards import board_files
from pateval.leaderboards.verification import detectable_share, verify
from support.messages import message_of

METRICS = ["pate_ap", "auc_roc", "point_f1"]


@pytest.fixture
def board(tmp_path):
    """Three detectors on four series, a file each, and the leaderboard of them."""
    generator = np.random.default_rng(0)
    labels = np.tile([0, 0, 0, 0, 0, 0, 1, 1, 0, 0], 8)
    for name in ("good", "fair", "poor"):
        strength = {"good": 1.0, "fair": 0.5, "poor": 0.1}[name]
        columns = {"series": [], "label": [], "score": []}
        for series in "abcd":
            columns["series"] += [series] * labels.size
            columns["label"] += labels.tolist()
            columns["score"] += (strength * labels + generator.random(labels.size)).tolist()
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    files = [str(tmp_path / f"{name}.parquet") for name in ("good", "fair", "poor")]
    pv.leaderboard(files, metrics=METRICS, chance=1, workers=1, output=tmp_path / "board", cache=tmp_path / "cache")
    return tmp_path / "board"


def forge(folder, alter, **given):
    """Change the leaderboard in memory and save it again, so that every table follows from what was changed."""
    files = [str(folder.parent / f"{name}.parquet") for name in ("good", "fair", "poor")]
    found = pv.leaderboard(files, **({"metrics": METRICS, "chance": 1, "workers": 1} | given))
    alter(found).save(folder, overwrite=True)


def other_value(detector, series, metric, amount):
    def alter(found):
        values = found.values.copy()
        values[found.detectors.index(detector), found.series.index(series), found.metrics.index(metric)] += amount
        return replace(found, values=values)

    return alter


def test_an_honest_board_agrees(board):
    found = verify(board, all=True, workers=1)
    assert found.agrees, found
    assert (found.checked, found.pairs, found.values, found.detectable) == (12, 12, 36, 0.0)
    assert "is what its inputs give" in repr(found)
    assert json.loads(found.to_json())["agrees"] is True


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("given", [{"all": True}, {"sample": 3}])
def test_an_honest_board_agrees_with_chance_runs_missing_scores_and_doubt(tmp_path, given, workers):
    rng = np.random.default_rng(1)
    labels = np.tile([0, 0, 0, 0, 0, 0, 1, 1, 0, 0], 8)
    for name in ("good", "poor"):
        scores = np.tile(labels, 6) * (name == "good") + rng.random(6 * labels.size)
        scores[7] = np.nan
        table = {
            "series": np.repeat(["a", "b", "c"], 2 * labels.size),
            "run": np.tile(np.repeat(["1", "2"], labels.size), 3),
            "label": np.tile(labels, 6),
            "score": scores,
        }
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    files = [str(tmp_path / f"{name}.parquet") for name in ("good", "poor")]
    options = {"missing": "ignore", "run": "run", "doubt": 1, "doubt_draws": 4, "chance": 2, "seed": 3}
    pv.leaderboard(files, metrics=METRICS, workers=1, output=tmp_path / "board", **options)
    found = verify(tmp_path / "board", workers=workers, **given)
    assert found.agrees, found


def test_limits_over_the_events_of_one_series_are_computed_again(board):
    path = board.parent / "one.parquet"
    pq.write_table(pq.read_table(board.parent / "good.parquet").slice(0, 80), path)
    pv.leaderboard(str(path), chance=0, event_draws=20, workers=1, output=board.parent / "one")
    assert verify(board.parent / "one", workers=1).agrees
    rewrite_csv(board.parent / "one" / "summary.csv", 0, "low", "0.01")
    (difference,) = verify(board.parent / "one", workers=1).differences
    assert (
        difference.sentence == "summary.csv: low in row 1 (one, pate_ap) is 0.01; the values in scores.parquet give 1"
    )
    alter_json(board.parent / "one" / "run.json", lambda run: run["intervals"][0].__setitem__(2, 0.01))
    seal(board.parent / "one")
    sentences = [each.sentence for each in verify(board.parent / "one", workers=1).differences]
    assert sentences[0] == "run.json: intervals[0][2] is 0.01; the inputs give 1"


def rewrite_csv(path, place, column, value):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[place][column] = value
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("given", [{"all": True}, {"sample": 1}])
@pytest.mark.parametrize(
    ("name", "place", "column", "start"),
    [
        ("ranks.csv", 1, "mean_rank", "ranks.csv: mean_rank in row 2 (pate_ap, fair) is 0.5; the values in"),
        ("ranks.csv", 0, "detector", "ranks.csv: detector in row 1 (pate_ap, good) is 0.5; the values in"),
        ("summary.csv", 0, "median", "summary.csv: median in row 1 (fair, pate_ap) is 0.5; the values in"),
        ("summary.csv", 3, "high", "summary.csv: high in row 4 (good, pate_ap) is 0.5; the values in"),
        ("summary.csv", 0, "chance", "summary.csv: chance in row 1 (fair, pate_ap) is 0.5; the values in"),
        ("summary.csv", 8, "skill", "summary.csv: skill in row 9 (poor, point_f1) is 0.5; the values in"),
        ("agreement.csv", 2, "auc_roc", "agreement.csv: auc_roc in row 3 (point_f1) is 0.5; the values in"),
        ("scores.csv", 4, "value", "scores.csv: value in row 5 (fair, b, auc_roc) is 0.5; scores.parquet has"),
    ],
)
def test_a_table_changed_by_hand_is_found_with_its_first_cell(board, name, place, column, start, given):
    rewrite_csv(board / name, place, column, "0.5")
    (difference,) = verify(board, workers=1, **given).differences
    assert difference.kind == "table"
    assert difference.sentence.startswith(start)


def test_how_many_cells_differ_and_what_is_gone(board):
    for place in (0, 1):
        rewrite_csv(board / "ranks.csv", place, "mean_rank", "")
    (board / "agreement.csv").unlink()
    text = (board / "summary.csv").read_text().splitlines()
    (board / "summary.csv").write_text("\n".join(text[:-1]) + "\n")
    sentences = [each.sentence for each in verify(board, sample=1, workers=1).differences]
    assert "summary.csv: it has 8 rows; the values in scores.parquet give 9" in sentences
    assert "agreement.csv: it is not there" in sentences
    assert (
        "ranks.csv: mean_rank in row 1 (pate_ap, good) is empty; the values in scores.parquet give 1 "
        "(and 1 more cell)" in sentences
    )


def alter_json(path, alter):
    data = json.loads(path.read_text())
    alter(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("alter", "sentence"),
    [
        (
            lambda tests: tests["auc_roc"]["wilcoxon_p"][0].__setitem__(1, 0.001),
            "significance.json: auc_roc.wilcoxon_p[0][1] is 0.001; the values in scores.parquet give 0.",
        ),
        (
            lambda tests: tests["pate_ap"]["friedman"].__setitem__("p_value", 0.0),
            "significance.json: pate_ap.friedman.p_value is 0; the values in scores.parquet give 0.",
        ),
        (
            lambda tests: tests["pate_ap"].__setitem__("nemenyi_groups", []),
            "significance.json: pate_ap.nemenyi_groups is []; the values in scores.parquet give [[",
        ),
        (lambda tests: tests.pop("point_f1"), "significance.json: point_f1 is undefined; the values in"),
        (
            lambda tests: tests.update(more=1),
            "significance.json: more is 1; the values in scores.parquet give undefined",
        ),
    ],
)
def test_a_test_changed_by_hand_is_found(board, alter, sentence):
    alter_json(board / "significance.json", alter)
    (difference,) = verify(board, sample=1, workers=1).differences
    assert difference.sentence.startswith(sentence)


@pytest.mark.parametrize("given", [{"all": True}, {"sample": 12}])
def test_chance_changed_by_hand_is_found_though_every_table_follows_from_it(board, given):
    def alter(found):
        levels = found.chance.levels.copy()
        levels[:, found.metrics.index("auc_roc")] = 0.25
        return replace(found, chance=replace(found.chance, levels=levels))

    forge(board, alter)
    found = verify(board, workers=1, **given)
    assert {each.kind for each in found.differences} == {"chance"}
    assert found.differences[0].sentence.startswith("fair on a: chance of auc_roc is 0.25; the inputs give 0.")
    (board / "chance.parquet").unlink()
    sentences = [each.sentence for each in verify(board, workers=1, **given).differences]
    assert "chance.parquet: it is not there" in sentences
    assert any(line.startswith("good on a: chance of auc_roc is undefined; the inputs give 0.") for line in sentences)


def test_moved_labels_are_computed_again_with_all(board):
    forge(board, lambda found: found, doubt=1, doubt_draws=5)
    assert verify(board, all=True, workers=1).agrees
    draws = pq.read_table(board / "doubt.parquet")
    rows = draws.to_pylist()
    place = [(row["detector"], row["series"], row["draw"]) for row in rows].index(("good", "a", 3))
    rows[place]["value"] += 0.25
    pq.write_table(pa.Table.from_pylist(rows, schema=draws.schema), board / "doubt.parquet")
    sentences = [each.sentence for each in verify(board, all=True, workers=1).differences]
    assert sentences[0].startswith(f"doubt.parquet: value in row {place + 1} (pate_ap, good, a, 3) is ")
    # The rows of doubt.csv, and the spread in summary.csv, no longer follow from the draws.
    assert sentences[1].startswith("summary.csv: doubt_std in row 4 (good, pate_ap) is ")
    assert sentences[2].startswith("doubt.csv: draw_mean in row 1 (pate_ap, good) is ")
    assert len(sentences) == 3


def test_a_pooled_board_is_computed_again_as_a_whole(board):
    forge(board, lambda found: found, pooled=True)
    found = verify(board, sample=1, workers=1)
    assert found.agrees, found
    assert (found.checked, found.values) == (12, 9)
    forge(board, other_value("fair", "pooled", "auc_roc", 0.125), pooled=True)
    (difference,) = verify(board, workers=1).differences
    assert (difference.kind, difference.sentence[:25]) == ("value", "fair on pooled: auc_roc i")
    poor = board.parent / "poor.parquet"
    poor.write_bytes((board.parent / "good.parquet").read_bytes())
    assert {each.kind for each in verify(board, workers=1).differences} == {"input", "value"}


def seal(folder):
    """Write the digests anew, as somebody would who knows of them."""
    run = json.loads((folder / "run.json").read_text())
    run["digests"] = {name: board_files.file_digest(folder / name) for name in run["digests"]}
    (folder / "run.json").write_text(board_files.sealed(run))


@pytest.mark.parametrize(
    ("alter", "sentence"),
    [
        (
            lambda run: run["facts"]["auc_roc"].__setitem__("higher_is_better", False),
            "run.json: facts.auc_roc.higher_is_better is False; the inputs give True",
        ),
        (lambda run: run.update(checks=[]), "run.json: checks is []; the inputs give [{'code': 'long-buffers'"),
        (
            lambda run: run.update(warnings=[]),
            "run.json: warnings lack a line; the inputs give early 100 and delay 100 are",
        ),
        (lambda run: run.update(units=11), "run.json: units is 11; the inputs give 12"),
        (lambda run: run.update(coarse=["good"]), "run.json: coarse is ['good']; the inputs give []"),
        (lambda run: run["measures"].update(chance=2), "good on a: chance of pate_ap is "),
        (
            lambda run: run["signatures"].update(auc_roc="auc_roc"),
            "good on a: auc_roc is of the definition auc_roc; the inputs give auc_roc|definition:1",
        ),
    ],
)
def test_the_record_of_the_run_is_found_out_again(board, alter, sentence):
    alter_json(board / "run.json", alter)
    assert "run.json" in repr(verify(board, sample=1, workers=1))
    seal(board)
    sentences = [each.sentence for each in verify(board, all=True, workers=1).differences]
    assert any(line.startswith(sentence) for line in sentences), sentences


@pytest.mark.parametrize("field", ["checks", "warnings", "failures", "coarse", "notes", "units", "versions", "seconds"])
def test_whatever_is_taken_from_the_record_is_found(board, field):
    alter_json(board / "run.json", lambda run: run.pop(field))
    found = verify(board, sample=1, workers=1)
    assert found.differences[0] == ("file", "run.json: it is not as it was written")


def test_a_value_changed_by_hand_is_found_though_all_tables_were_rewritten(board):
    forge(board, other_value("fair", "c", "auc_roc", 1e-6))
    found = verify(board, all=True, workers=1)
    assert [each.kind for each in found.differences] == ["value"]
    assert "fair on c: auc_roc is " in found.differences[0].sentence
    assert "is not what its inputs give" in repr(found)


def test_a_swapped_score_file_is_found(board):
    folder = board.parent
    good, poor = (folder / f"{name}.parquet" for name in ("good", "poor"))
    first, second = good.read_bytes(), poor.read_bytes()
    good.write_bytes(second)
    poor.write_bytes(first)
    kinds = {each.kind for each in verify(board, all=True, workers=1).differences}
    assert kinds == {"input", "value"}


def test_a_swapped_score_file_is_found_though_its_digests_were_rewritten(board):
    poor = board.parent / "poor.parquet"
    poor.write_bytes((board.parent / "good.parquet").read_bytes())
    jobs = pq.read_table(board / "jobs.parquet")
    digests = {(row["detector"], row["series"]): row["digest"] for row in jobs.to_pylist()}
    pairs = zip(jobs["detector"].to_pylist(), jobs["series"].to_pylist(), strict=True)
    forged = pa.array([digests["good" if detector == "poor" else detector, series] for detector, series in pairs])
    jobs = jobs.set_column(jobs.column_names.index("digest"), "digest", forged)
    pq.write_table(jobs, board / "jobs.parquet")
    write_csv([jobs.select(["detector", "series", "digest"])], board / "contents.csv")
    seal(board)
    found = verify(board, all=True, workers=1)
    assert {each.kind for each in found.differences} == {"value"}
    assert all(each.sentence.startswith("poor on ") for each in found.differences)


def test_a_result_of_another_definition_is_found(board):
    def alter(found):
        other = found.signatures["pate_ap"].replace("|definition:1|", "|definition:0|")
        return replace(found, signatures={**found.signatures, "pate_ap": other})

    forge(board, alter)
    found = verify(board, all=True, workers=1)
    assert [each.kind for each in found.differences] == ["definition"] * 12 + ["record"]


def test_a_detector_left_out_of_the_board_is_found(board):
    table = pq.read_table(board / "scores.parquet")
    rows = [row for row in table.to_pylist() if row["detector"] != "poor"]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), board / "scores.parquet")
    sentences = [each.sentence for each in verify(board, all=True, workers=1).differences]
    assert sentences == [
        "scores.parquet: it is not as it was written",
        f"{board}: 'poor' is in run.json and not in scores.parquet; compute the leaderboard again",
    ]
    forge(board, lambda found: found)
    (board.parent / "more.parquet").write_bytes((board.parent / "good.parquet").read_bytes())

    def add(run):
        run["inputs"].append(str(board.parent / "more.parquet"))
        run["reading"]["layout_of_input"].append(0)

    alter_json(board / "run.json", add)
    seal(board)
    sentences = [each.sentence for each in verify(board, all=True, workers=1).differences]
    assert "more on a: in the inputs, but not in the leaderboard" in sentences


def test_a_sample_says_what_it_could_have_missed(board):
    found = verify(board, sample=3, workers=1)
    assert (found.checked, found.pairs) == (3, 12)
    assert found.detectable == detectable_share(12, 3) == 7 / 12
    assert "would have met one with a probability of 95 %" in repr(found)


@pytest.mark.parametrize(("pairs", "checked"), [(12, 3), (50, 20), (500, 40)])
def test_the_share_a_sample_would_have_met(pairs, checked):
    wrong = round(detectable_share(pairs, checked) * pairs)
    assert hypergeom.pmf(0, pairs, wrong, checked) <= 0.05 < hypergeom.pmf(0, pairs, wrong - 1, checked)


def test_a_file_that_is_gone_is_named(board):
    (board.parent / "fair.parquet").unlink()
    found = verify(board, all=True, workers=1)
    assert not found.agrees
    assert found.differences[0].sentence == (
        f"{board.parent / 'fair.parquet'}: the input can no longer be read: it is gone, or was a table in memory"
    )


def test_what_is_no_leaderboard_is_refused(tmp_path):
    assert message_of(verify, tmp_path) == (
        f"{tmp_path}: no leaderboard, which has run.json and scores.parquet; make one with 'pateval leaderboard "
        f"FILE... -o {tmp_path}'"
    )


def test_values_from_elsewhere_cannot_be_verified(tmp_path):
    pv.leaderboard_from_results({"series": ["a", "b"], "x": [0.1, 0.2], "y": [0.3, 0.4]}).save(tmp_path / "board")
    assert message_of(verify, tmp_path / "board") == (
        f"{tmp_path / 'board'}: its values were computed elsewhere, so there are no inputs to compute them from"
    )


def test_what_follows_from_values_from_elsewhere_is_made_again(tmp_path):
    folder = tmp_path / "board"
    pv.leaderboard_from_results({"series": ["a", "b"], "x": [0.1, 0.2], "y": [0.3, 0.4]}).save(folder)
    rewrite_csv(folder / "ranks.csv", 0, "mean_rank", "1.5")
    seal(folder)
    assert [each.sentence for each in verify(folder).differences] == [
        "ranks.csv: mean_rank in row 1 (value, y) is 1.5; the values in scores.parquet give 1",
        f"{folder}: its values were computed elsewhere, so there are no inputs to compute them from",
    ]


def alter_table(path, alter):
    pq.write_table(alter(pq.read_table(path)), path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: alter_json(folder / "run.json", lambda run: run.update(own_signatures=None)),
        lambda folder: alter_json(folder / "run.json", lambda run: run.pop("event_metrics")),
        lambda folder: alter_table(folder / "series.parquet", lambda table: table.drop_columns("longest")),
        lambda folder: alter_table(
            folder / "jobs.parquet", lambda table: table.set_column(2, "steps", pa.array(["x"] * len(table)))
        ),
        lambda folder: alter_table(folder / "chance.parquet", lambda table: table.slice(0, 0)),
    ],
)
def test_nonsense_with_the_right_digests_is_one_sentence(board, damage):
    damage(board)
    seal(board)
    try:
        sentences = [each.sentence for each in verify(board, workers=1, all=True).differences]
    except TableError as error:
        sentences = [str(error)]
    assert sentences
    assert not any("\n" in sentence for sentence in sentences)


def test_the_command_line(board):
    done = CliRunner().invoke(command, ["verify", str(board), "--all", "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert "is what its inputs give" in done.stdout

    forge(board, other_value("good", "a", "pate_ap", -0.5))
    done = CliRunner().invoke(command, ["verify", str(board), "--all", "--workers", "1"])
    assert done.exit_code == 1
    assert "good on a: pate_ap is 0." in done.stdout


def test_a_sample_knows_whose_scores_are_0_and_1_on_all_series(tmp_path):
    labels = np.tile([0, 0, 0, 1, 1, 0, 0, 0], 10)
    rng = np.random.default_rng(0)
    part = {"series": np.repeat(["a", "b"], labels.size), "label": np.tile(labels, 2)}
    scores = np.concatenate([labels ^ (rng.random(labels.size) < 0.2), rng.random(labels.size)])
    rule = np.tile(labels, 2) ^ (rng.random(2 * labels.size) < 0.1)
    pq.write_table(pa.table(part | {"mixed": scores, "rule": rule.astype(float)}), tmp_path / "both.parquet")
    pv.leaderboard(str(tmp_path / "both.parquet"), metrics="point_f1, auc_roc", workers=1, output=tmp_path / "board")
    for seed in range(4):
        found = verify(tmp_path / "board", sample=1, seed=seed, workers=1)
        assert found.agrees, found


def test_a_detector_with_a_threshold_of_its_own_may_be_out_of_the_sample(board):
    forge(board, lambda found: found, threshold={"good": 0.5})
    for seed in range(3):
        found = verify(board, sample=1, seed=seed, workers=1)
        assert found.agrees, found


def test_metrics_of_ones_own_are_found_by_their_module(board, tmp_path, monkeypatch):
    (tmp_path / "my_helpers_for_verify.py").write_text("def share(labels, scores):\n    return float(scores.mean())\n")
    (tmp_path / "my_metrics_for_verify.py").write_text(
        "import pateval as pv\n"
        "from my_helpers_for_verify import share\n"
        "def optimism(labels, scores, *, k=2):\n    return float(scores.mean()) / k\n"
        "hits = pv.define_metric(optimism, id='hopes', takes='scores')\n"
        "raised = pv.define_metric(optimism, id='optimism', takes='scores', definition=2)\n"
        "mean = pv.define_metric(share, id='mean_score', takes='scores')\n"
        "class Metrics:\n"
        "    @staticmethod\n"
        "    def highest(labels, scores):\n        return float(scores.max())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    named = ("optimism(k=4)", "hits", "mean", "Metrics.highest")
    spelled = [f"my_metrics_for_verify:{name}" for name in named]
    forge(board, lambda found: found, metrics=[*spelled, "auc_roc"])
    assert json.loads((board / "run.json").read_text())["measures"]["metrics"] == [*spelled, "auc_roc"]
    assert pv.Leaderboard.load(board).metrics == ("optimism(k=4)", "hopes", "mean_score", "highest", "auc_roc")
    found = verify(board, all=True, workers=1)
    assert found.agrees, found
    assert found.values == 60
    # Functions and metrics as objects are looked up in their module.
    module = importlib.import_module("my_metrics_for_verify")
    forge(board, lambda found: found, metrics=[module.raised, module.share, module.Metrics.highest])
    spelled = ["my_metrics_for_verify:raised", "my_helpers_for_verify:share", "my_metrics_for_verify:Metrics.highest"]
    assert json.loads((board / "run.json").read_text())["measures"]["metrics"] == spelled
    found = verify(board, all=True, workers=1)
    assert found.agrees, found


@pytest.fixture
def with_events(tmp_path):
    """A board whose labels are in a file of events."""
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({"a": rng.random(60), "b": rng.random(60)}), tmp_path / "scores.parquet")
    (tmp_path / "events.csv").write_text("start,stop\n10,14\n40,45\n")
    events = str(tmp_path / "events.csv")
    pv.leaderboard(
        str(tmp_path / "scores.parquet"),
        score=["a", "b"],
        events=events,
        metrics="auc_roc",
        workers=1,
        output=tmp_path / "board",
    )
    return tmp_path / "board"


def test_a_file_of_events_that_was_changed_or_is_gone_is_found(with_events):
    assert verify(with_events, all=True, workers=1).agrees
    path = with_events.parent / "events.csv"
    path.write_text("start,stop\n10,14\n40,46\n")
    (difference,) = verify(with_events, all=True, workers=1).differences
    assert difference == ("input", f"{path}: the events are not those that the leaderboard was computed from")
    path.write_text("start\n10\n")
    assert "events.csv: the events can no longer be read" in repr(verify(with_events, all=True, workers=1))
    path.unlink()
    (difference,) = verify(with_events, all=True, workers=1).differences
    assert difference.sentence == f"{path}: the events can no longer be read: it is gone, or was a table in memory"


def edited(content, generator):
    """Text with one thing changed: a line deleted or doubled, or a character changed, deleted or added."""
    lines = content.split(b"\n")
    place = int(generator.integers(len(lines) - 1)) if len(lines) > 1 else 0
    kind = int(generator.integers(5))
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(place, lines[place])
    else:
        line = bytearray(lines[place])
        at = int(generator.integers(max(len(line), 1)))
        new = b"0123456789abcxyz,."[int(generator.integers(18))]
        line[at : at + (kind != 2)] = bytes([new]) if kind < 4 else b""
        lines[place] = bytes(line)
    return b"\n".join(lines)


def found_or_refused(folder):
    """Whether `verify` finds a difference, or refuses the folder, in sentences of one line."""
    try:
        sentences = [each.sentence for each in verify(folder, sample=1, workers=1).differences]
    except TableError as error:
        sentences = [str(error)]
    return bool(sentences) and not any("\n" in sentence for sentence in sentences)


@pytest.mark.parametrize("seed", range(4))
def test_every_edit_of_any_file_is_found_and_no_damage_raises_anything_but_a_sentence(board, seed):
    forge(board, lambda found: found, doubt=1, doubt_draws=2, metrics="auc_roc")
    generator = np.random.default_rng(seed)
    files = sorted(path for path in board.iterdir() if path.is_file())
    assert len(files) == 14
    for path in files * 2:
        before = path.read_bytes()
        after = edited(before, generator)
        if after == before:
            continue
        path.write_bytes(after)
        with pytest.raises(TableError) as caught:
            pv.Leaderboard.load(board)
        assert "\n" not in str(caught.value)
        assert found_or_refused(board), path
        path.write_bytes(before)
    assert verify(board, sample=1, workers=1).agrees


@pytest.mark.parametrize(
    "content", ["[]", "null", "{", '"x"', "[" * 10_000, "\xff", '{"format": 3}', '{"format": 3, "digest": 1}']
)
def test_a_record_that_is_none_is_refused_in_a_sentence(board, content):
    (board / "run.json").write_bytes(content.encode("latin-1"))
    assert "\n" not in message_of(pv.Leaderboard.load, board)
    assert found_or_refused(board)


def test_a_board_of_the_former_release_is_refused_with_the_command_that_makes_it_anew(board):
    def former(run):
        for name in ("format", "digest", "digests"):
            del run[name]
        run["inputs"] = ["a.csv", "b.csv"]

    alter_json(board / "run.json", former)
    for read in (pv.Leaderboard.load, verify):
        assert message_of(read, board) == (
            f"{board}: the leaderboard was written by another release of pateval, whose means and thresholds had other "
            f"meanings; make it anew with 'pateval leaderboard a.csv b.csv -o {board} --overwrite'"
        )


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


@pytest.mark.parametrize(
    "options",
    [
        {"chance": 1},
        {"missing": "ignore", "doubt": 1, "doubt_draws": 3},
        {"run": "run", "threshold": {"good": 0.5}},
        {"pooled": True},
    ],
)
def test_a_board_that_is_loaded_and_saved_is_the_same_folder(tmp_path, options):
    rng = np.random.default_rng(1)
    labels = np.tile([0, 0, 0, 0, 0, 0, 1, 1, 0, 0], 8)
    for name, runs in (("good", "23"), ("poor", "123")):
        table = {
            "series": np.repeat(["a", "b"], len(runs) * labels.size) if "run" in options else np.repeat(["a", "b"], 80),
            "label": np.tile(labels, 2 * len(runs)) if "run" in options else np.tile(labels, 2),
        }
        if "run" in options:
            table["run"] = np.tile(np.repeat(list(runs), labels.size), 2)
        table["score"] = table["label"] * (name == "good") + rng.random(table["label"].size)
        if "missing" in options:
            table["score"][3] = np.nan
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    files = [str(tmp_path / "good.parquet"), str(tmp_path / "poor.parquet")]
    board = pv.leaderboard(files, metrics=METRICS, workers=1, output=tmp_path / "board", **options)
    loaded = pv.Leaderboard.load(tmp_path / "board")
    assert repr(loaded) == repr(board)
    loaded.save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "board")
    found = verify(tmp_path / "again", all=True, workers=1)
    assert found.agrees, found


def test_a_write_that_fails_leaves_no_board_behind(board, monkeypatch):
    loaded = pv.Leaderboard.load(board)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(board_files, "write_csv", full)
    with pytest.raises(OSError, match="No space"):
        loaded.save(board)
    assert "no leaderboard" in message_of(pv.Leaderboard.load, board)
