"""The data of the report: packed without loss where it counts, equal to the tables, harmless under any name."""

import base64
import json
import re
import zlib
from importlib import resources

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from pateval.demo import demo_board
from pateval.io import TableError
from pateval.report import report_of_folder
from pateval.report.packing import MOST_LEVELS, pack, pack_clock, pack_numbers, pack_scores, pack_values
from pateval.report.verdict import evidence_of, over_halves, verdict
from pateval.report.write import join_modules
from pateval.time.clocks import read_clock

HOSTILE = ["<script>alert(1)</script>", '"); drop', "</script>", "=HYPERLINK(1)", "a&b|c", "\u2028 'x'"]


def make_board(folder):
    files = []
    for number in range(2):
        rng = np.random.default_rng(number)
        labels = np.zeros(600, dtype=int)
        labels[200:240] = labels[420:430] = 1
        columns = {"value": rng.normal(size=600), "label": labels}
        columns |= {"good": labels + rng.random(600), "guess": rng.random(600), "flat": np.ones(600)}
        path = folder / f"machine-{number}.csv"
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        path.write_text("\n".join([",".join(columns), *(",".join(map(repr, row)) for row in rows)]))
        files.append(path)
    pv.leaderboard(files, metrics=["pate_ap", "auc_roc", "point_f1"], output=folder / "board", workers=1)
    return folder


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    return make_board(tmp_path_factory.mktemp("demo"))


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    found = re.findall(r'<script type="application/json" id="([a-z]+(?:-\d+)?)">(.*?)</script>', text, re.DOTALL)
    return {name: json.loads(content) for name, content in found}


def unpack(text):
    """Undo `pack`, as the page does."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8).reshape(2, -1)
    differences = planes[0].astype(np.uint16) * np.uint16(256) + planes[1]
    return np.cumsum(differences, dtype=np.uint16)


class TestPacking:
    @given(
        st.lists(st.floats(-1e9, 1e9) | st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=60), st.integers(8, 70)
    )
    def test_levels_flag_what_scores_flag(self, scores, most):
        array = np.array(scores) + 0.0
        packed = pack_scores(array, most=most)
        ranks = unpack(packed.ranks)
        assert ranks.min() >= 1
        assert len(packed.thresholds) <= max(most, 8)
        for level, threshold in enumerate(packed.thresholds):
            assert ((array >= threshold) == (ranks > level)).all()

    def test_every_distinct_score_is_a_level_where_they_are_few(self):
        scores = np.random.default_rng(0).random(900)
        assert len(pack_scores(scores).thresholds) == 900

    def test_many_scores_are_cut_to_levels_that_keep_what_is_asked_for(self):
        scores = np.random.default_rng(0).random(20_000)
        packed = pack_scores(scores, keep=(scores[77],))
        assert len(packed.thresholds) <= MOST_LEVELS
        assert any(((scores >= threshold) == (scores >= scores[77])).all() for threshold in packed.thresholds)
        # What is drawn is off by less than can be seen.
        drawn = np.array(packed.thresholds)[unpack(packed.ranks) - 1]
        assert np.abs(drawn - scores).max() < 0.01

    @given(st.lists(st.integers(0, 65535), min_size=1))
    def test_pack_and_back(self, numbers):
        assert unpack(pack(np.array(numbers))).tolist() == numbers

    def test_no_score_at_all_has_no_level(self):
        packed = pack_scores(np.full(3, -np.inf))
        assert (packed.thresholds, unpack(packed.ranks).tolist()) == ([], [0, 0, 0])

    def test_values_with_holes(self):
        packed = pack_values(np.array([1.0, np.nan, 3.0]))
        assert unpack(packed["packed"]).tolist() == [1, 0, 4095]

    @given(
        st.lists(st.integers(0, 10**15), min_size=1, max_size=40, unique=True).map(sorted).map(np.array)
        | st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40, unique=True).map(sorted).map(np.array)
        | st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 10)).map(lambda each: each[0] + np.arange(30) * each[1])
    )
    def test_numbers_come_back_to_the_last_digit(self, numbers):
        packed = json.loads(json.dumps(pack_numbers(numbers)))
        if "numbers" in packed:
            found = packed["numbers"]
        elif "interval" in packed:
            found = [packed["start"] + step * packed["interval"] for step in range(numbers.size)]
        else:
            gaps = np.array(packed["gaps"])[unpack(packed["packed"])[1:]]
            found = np.cumsum([packed["start"], *gaps])
        np.testing.assert_array_equal(found, numbers)

    @pytest.mark.parametrize("unit", ["ns", "us", "ms", "s", "m", "D"])
    def test_dates_are_whole_ticks_after_the_first(self, unit):
        times = np.datetime64("2024-05-01T10:20:30.123456789") + np.array([0, 3, 4, 9]).astype(f"timedelta64[{unit}]")
        clock = read_clock(times, 4, np.zeros(1, dtype=int))
        packed = pack_clock(clock, dates=True)
        seconds, nanoseconds = packed["first"]
        assert np.datetime64(seconds, "s") + np.timedelta64(nanoseconds, "ns") == times[0]
        gaps = np.array(packed["offsets"]["gaps"])[unpack(packed["offsets"]["packed"])[1:]] * packed["tick"]
        np.testing.assert_array_equal(np.diff(times).astype("timedelta64[ns]").astype(int), gaps)


class TestScripts:
    def test_a_circle_is_refused(self):
        modules = {"a": 'import { b } from "./b.js";\nexport const a = 1;', "b": 'import { a } from "./a.js";'}
        with pytest.raises(ValueError, match="modules import from each other in a circle: a -> b -> a"):
            join_modules("a", modules.__getitem__)

    def test_a_name_that_is_not_exported_is_refused(self):
        modules = {"a": 'import { b, c } from "./b.js";', "b": "export const b = 1;\nconst c = 2;"}
        with pytest.raises(ValueError, match=r"a\.js imports c from b\.js, which does not export that"):
            join_modules("a", modules.__getitem__)

    @pytest.mark.parametrize("line", ["export default 1;", "export { a };", 'import * as b from "./b.js";'])
    def test_what_is_not_understood_is_refused(self, line):
        with pytest.raises(ValueError, match=r"a\.js has a line that is not understood here: "):
            join_modules("a", {"a": line, "b": ""}.__getitem__)

    def test_every_file_is_part_of_the_page(self):
        folder = resources.files("pateval.report").joinpath("assets")
        joined = join_modules()
        for name in sorted(path.name for path in folder.iterdir() if path.name.endswith(".js")):
            assert f"const {name.removesuffix('.js')}_module = " in joined
            assert max(map(len, folder.joinpath(name).read_text(encoding="utf-8").splitlines())) <= 120


class TestNumbers:
    def test_values_equal_those_of_the_parquet_file(self, demo_folder, tmp_path):
        report_of_folder(demo_folder / "board", tmp_path / "r.html")
        blocks = blocks_of(tmp_path / "r.html")
        board = blocks["board"]
        rows = pq.read_table(demo_folder / "board" / "scores.parquet").to_pylist()
        assert len(rows) == 2 * 3 * 3
        for row in rows:
            place = next(i for i, metric in enumerate(board["metrics"]) if metric["id"] == row["metric"])
            d, s = board["detectors"].index(row["detector"]), board["series"].index(row["series"])
            assert blocks[f"metric-{place}"]["values"][d][s] == row["value"]

    def test_summary_equals_that_of_the_board(self, tmp_path):
        board = demo_board(series=2)
        board.to_report(tmp_path / "r.html")
        shown = blocks_of(tmp_path / "r.html")["board"]
        for row in board.summary().to_pylist():
            d = shown["detectors"].index(row["detector"])
            assert shown["summary"][row["metric"]]["mean"][d] == row["mean"]
            assert shown["summary"][row["metric"]]["chance"][d] == row["chance"]

    def test_reasons_stand_beside_missing_values(self, tmp_path):
        labels = np.zeros(50, dtype=int)
        tables = {
            "calm": {"label": labels, "a": np.arange(50.0)},
            "busy": {"label": labels + (np.arange(50) > 40), "a": np.arange(50.0)},
        }
        pv.leaderboard(tables, metrics=["auc_roc"], workers=1).to_report(tmp_path / "r.html")
        block = blocks_of(tmp_path / "r.html")["metric-0"]
        assert block["values"][0][1] is None
        assert any("no anomaly" in reason and cells == [[0, 1]] for reason, cells in block["reasons"].items())


class TestInputs:
    def test_what_has_changed_is_left_out_and_said(self, tmp_path):
        folder = make_board(tmp_path)
        text = (folder / "machine-1.csv").read_text().splitlines()
        cells = text[5].split(",")
        text[5] = ",".join([*cells[:2], "0.123", *cells[3:]])
        (folder / "machine-1.csv").write_text("\n".join(text))
        written = report_of_folder(folder / "board", tmp_path / "r.html")
        assert written.shown == 2
        block = blocks_of(tmp_path / "r.html")["series-1"]
        assert "has changed since" in block["detectors"]["good"][0]["missing"]
        assert "ranks" in block["detectors"]["guess"][0]

    @pytest.mark.parametrize("unit", ["dates", "s", None])
    @pytest.mark.parametrize("changed", ["time", "skip", "label", "mine"])
    @pytest.mark.parametrize("early", [5, "5s"])
    def test_every_column_that_counts_is_compared(self, tmp_path, unit, changed, early):
        if unit is None and early == "5s":
            return  # refused
        steps = np.arange(300)
        columns = {"label": (steps % 100 > 80).astype(int), "skip": (steps % 50 == 7).astype(int)}
        columns["mine"] = columns["label"] + np.random.default_rng(0).random(300)
        columns["time"] = steps + (np.datetime64("2026-03-01T00:00:00") if unit == "dates" else 0)
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table(columns), path)
        options = {"ignore": "skip", "time_unit": "s" if unit == "s" else None, "early": early, "delay": early}
        pv.leaderboard([path], metrics=["pate_ap"], output=tmp_path / "board", workers=1, chance=0, **options)
        assert report_of_folder(tmp_path / "board", tmp_path / "r.html").missing == ()
        columns[changed] = columns[changed].copy()
        columns[changed][200:] = (
            columns[changed][200:] + 1 if changed in ("time", "mine") else columns[changed][100:200]
        )
        columns[changed][150] = 1 if changed in ("skip", "label") else columns[changed][150]
        pq.write_table(pa.table(columns), path)
        written = report_of_folder(tmp_path / "board", tmp_path / "r.html")
        is_drawn_only = changed == "time" and unit is None
        assert written.missing == (() if is_drawn_only else ("a",))

    def test_what_is_gone_is_said(self, tmp_path):
        folder = make_board(tmp_path)
        (folder / "machine-0.csv").unlink()
        written = report_of_folder(folder / "board", tmp_path / "r.html")
        assert written.missing == ("machine-0",)
        board = blocks_of(tmp_path / "r.html")["board"]
        assert board["missing"] == [["machine-0", "its input is gone"]]
        gone = f"{folder / 'machine-0.csv'}: the input can no longer be read: it is gone, or was a table in memory"
        assert [check["sentence"] for check in board["checks"] if check["code"] == "input-gone"] == [gone]

    def test_of_a_board_in_memory_and_of_its_folder_are_the_same(self, demo_folder, tmp_path):
        files = sorted(demo_folder.glob("*.csv"))
        board = pv.leaderboard(files, metrics=["pate_ap", "auc_roc", "point_f1"], workers=1)
        board.to_report(tmp_path / "one.html", title="board")
        report_of_folder(demo_folder / "board", tmp_path / "two.html")
        one, two = blocks_of(tmp_path / "one.html"), blocks_of(tmp_path / "two.html")
        differing = ("made", "run")  # when, and how long it took
        for blocks in (one, two):
            blocks["board"] = {name: value for name, value in blocks["board"].items() if name not in differing}
        assert one == two

    def test_a_folder_that_is_no_leaderboard(self, tmp_path):
        with pytest.raises(TableError, match="no leaderboard, which has run"):
            report_of_folder(tmp_path, tmp_path / "r.html")

    def test_a_series_is_shown_with_its_values_and_clock(self, tmp_path):
        times = np.datetime64("2024-01-01T00:00") + np.arange(50) * np.timedelta64(10, "m")
        table = {"timestamp": times, "value": np.sin(np.arange(50)), "label": np.arange(50) > 40, "a": np.arange(50.0)}
        pv.leaderboard({"s": table}, metrics=["auc_roc"], workers=1, event_draws=0).to_report(tmp_path / "r.html")
        block = blocks_of(tmp_path / "r.html")["series-0"]
        assert (block["clock"]["tick"], block["clock"]["offsets"]) == (600 * 10**9, {"start": 0, "interval": 1})
        assert block["values"]["high"] == pytest.approx(np.sin(np.arange(50)).max())
        assert block["events"] == [[41, 50]]


class TestWhatIsComputedBeside:
    def test_places_under_label_doubt(self, tmp_path):
        rng = np.random.default_rng(0)
        labels = np.arange(400) % 100 > 80
        tables = {f"s{k}": {"label": labels, "a": labels + rng.random(400), "b": rng.random(400)} for k in range(4)}
        board = pv.leaderboard(
            tables, metrics=["pate_ap"], workers=1, chance=0, doubt=3, doubt_draws=5, output=tmp_path / "board"
        )
        board.to_report(tmp_path / "one.html")
        report_of_folder(tmp_path / "board", tmp_path / "two.html")
        one, two = (blocks_of(tmp_path / f"{name}.html")["board"]["doubt"] for name in ("one", "two"))
        assert one == two
        assert one["pate_ap"]["first"] == [1.0, 0.0]
        assert one["pate_ap"]["amount"] == "3 steps"

    def test_buffers_in_time(self, tmp_path):
        times = np.datetime64("2024-01-01T00:00") + np.arange(200) * np.timedelta64(10, "m")
        table = {"timestamp": times, "label": np.arange(200) % 50 > 44, "a": np.arange(200.0), "b": np.ones(200)}
        metrics = ["pate_ap", "auc_roc", "vus_pr(window=1h)"]
        options = {"early": "30min", "delay": ["0min", "1h"], "workers": 1, "event_draws": 0, "chance": 0}
        pv.leaderboard({"s": table}, score=["a", "b"], metrics=metrics, **options).to_report(tmp_path / "r.html")
        shown = blocks_of(tmp_path / "r.html")["board"]
        assert shown["buffers"] == {"unit": "s", "early": 1800.0, "delay": 3600.0}
        assert shown["constant"]["auc_roc"] == 0.5
        assert set(shown["audit"]["rows"]) == set(metrics)

    def test_every_run_can_be_opened(self, tmp_path):
        rng = np.random.default_rng(0)
        labels = np.tile(np.arange(100) > 80, 2)
        table = {"run": np.repeat(["x", "y"], 100), "label": labels, "score": rng.random(200) + labels}
        for name in ("a", "b"):
            (tmp_path / f"{name}.jsonl").write_text(
                "\n".join(json.dumps({key: column[row].item() for key, column in table.items()}) for row in range(200))
            )
        files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
        board = pv.leaderboard(files, metrics=["auc_roc"], workers=1, output=tmp_path / "board")
        report_of_folder(tmp_path / "board", tmp_path / "r.html")
        blocks = blocks_of(tmp_path / "r.html")
        assert [entry["run"] for entry in blocks["series-0"]["detectors"]["a"]] == ["x", "y"]
        assert blocks["metric-0"]["values"][0][0] == pytest.approx(board.values[0, 0, 0], abs=1e-15)

    def test_a_pooled_board_has_an_order_and_no_tests(self, tmp_path):
        rng = np.random.default_rng(0)
        labels = np.arange(100) > 80
        tables = {f"s{k}": {"label": labels, "a": labels + rng.random(100), "b": rng.random(100)} for k in range(3)}
        board = pv.leaderboard(tables, metrics=["pate_ap", "point_f1"], workers=1, pooled=True, chance=0)
        board.to_report(tmp_path / "r.html")
        blocks = blocks_of(tmp_path / "r.html")
        value = board.values[0, 0, 0]
        assert blocks["board"]["verdicts"]["pate_ap"]["claim"] == f"First by pate_ap: a, {value:.3f}."
        assert blocks["board"]["order"]["pate_ap"] == [0, 1]
        assert blocks["metric-0"]["tests"] == {"detectors": []}
        assert [why for _, why in blocks["board"]["missing"]] == ["all series were taken for one sample"]

    def test_steps_that_are_left_out_leave_their_numbers(self, tmp_path):
        labels = np.arange(60) % 30 > 20
        scores = np.arange(60.0)
        scores[5] = np.nan
        table = {"label": labels, "skip": (np.arange(60) >= 50).astype(int), "a": scores, "b": np.arange(60.0)}
        board = pv.leaderboard(
            {"s": table},
            score=["a", "b"],
            ignore="skip",
            missing="ignore",
            metrics=["auc_roc"],
            workers=1,
            event_draws=0,
            chance=0,
        )
        board.to_report(tmp_path / "r.html")
        block = blocks_of(tmp_path / "r.html")["series-0"]
        assert block["steps"] == 49
        gaps = np.array(block["numbers"]["gaps"])[unpack(block["numbers"]["packed"])[1:]]
        assert np.cumsum(gaps)[3:6].tolist() == [4, 6, 7]


class TestBudget:
    def test_the_least_telling_series_go_first_and_are_named(self, tmp_path):
        rng = np.random.default_rng(0)
        labels = np.arange(30_000) % 3000 > 2900
        tables = {}
        for number in range(4):
            good = labels * number / 3 + rng.random(30_000)  # the first series cannot tell the detectors apart
            tables[f"s{number}"] = {"label": labels, "good": good, "guess": rng.random(30_000)}
        board = pv.leaderboard(tables, metrics=["auc_roc"], workers=1, chance=0)
        whole = board.to_report(tmp_path / "whole.html")
        assert (whole.shown, whole.left_out) == (4, ())
        budget = 0.6 * whole.size / 1e6
        small = board.to_report(tmp_path / "small.html", budget=budget)
        assert small.left_out[0] == "s0"
        assert 0 < small.shown < 4
        assert small.size <= budget * 1e6
        assert blocks_of(tmp_path / "small.html")["board"]["left_out"] == list(small.left_out)

    def test_a_budget_that_not_even_the_values_keep(self, tmp_path):
        with pytest.raises(ValueError, match="write a folder"):
            demo_board(series=2).to_report(tmp_path / "r.html", budget=0.001)


class TestHarmless:
    def test_no_name_leaves_its_script_element(self, tmp_path):
        rng = np.random.default_rng(0)
        labels = np.arange(200) % 50 > 44
        tables = {name: {"label": labels, **{other: rng.random(200) for other in HOSTILE}} for name in HOSTILE}
        board = pv.leaderboard(tables, metrics=["auc_roc"], workers=1, chance=0)
        board.to_report(tmp_path / "r.html", title="<img src=x onerror=alert(1)>")
        text = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert "<script>alert" not in text
        assert "<img" not in text
        blocks = blocks_of(tmp_path / "r.html")
        assert sorted(blocks["board"]["series"]) == sorted(HOSTILE)
        assert sorted(blocks["series-0"]["detectors"]) == sorted(HOSTILE)

    def test_the_policy_lets_nothing_out(self, tmp_path):
        demo_board(series=2).to_report(tmp_path / "r.html")
        text = (tmp_path / "r.html").read_text(encoding="utf-8")
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
        assert policy.startswith("default-src &#39;none&#39;")
        assert "unsafe" not in policy
        ours = text.split('<script type="application/json"')[0] + text.rsplit("</script>", 2)[1]
        assert set(re.findall(r"\w+://[^\s'\"]+", ours)) == {"http://www.w3.org/2000/svg"}


class TestFolder:
    def test_one_file_per_series_and_metric(self, demo_folder, tmp_path):
        written = report_of_folder(demo_folder / "board", f"{tmp_path / 'site'}/")
        names = sorted(path.name for path in (tmp_path / "site" / "data").iterdir())
        assert names == ["metric-0.js", "metric-1.js", "metric-2.js", "series-0.js", "series-1.js"]
        assert written.path == tmp_path / "site" / "index.html"
        content = (tmp_path / "site" / "data" / "series-0.js").read_text()
        assert content.startswith('patevalBlock("series-0", {')

    def test_data_of_an_earlier_report_is_removed(self, demo_folder, tmp_path):
        (tmp_path / "site" / "data").mkdir(parents=True)
        for name in ("series-7.js", "notes.js"):
            (tmp_path / "site" / "data" / name).write_text("old")
        report_of_folder(demo_folder / "board", f"{tmp_path / 'site'}/")
        names = {path.name for path in (tmp_path / "site" / "data").iterdir()}
        assert "series-7.js" not in names
        assert "notes.js" in names


TESTS = {"detectors": ["a", "b", "c"], "series_used": 20, "alpha": 0.05}


class TestVerdict:
    def test_a_tie_is_no_evidence(self):
        tests = TESTS | {"wilcoxon_holm_p": [[1, 0.3, 0.001], [0.3, 1, 0.2], [0.001, 0.2, 1]]}
        tied, sentence = evidence_of(tests)
        assert tied == ["b"]
        assert sentence == "It is not told apart from b (Wilcoxon-Holm, 5 %; against b p = 0.3 on 20 series)."

    def test_groups_are_evidence_where_pairs_are_not_kept(self):
        tests = TESTS | {"wilcoxon_holm_p": [], "wilcoxon_groups": [["a", "c"], ["b"]]}
        expected = "It is not told apart from c (Wilcoxon-Holm, 5 %; on 20 series)."
        assert evidence_of(tests) == (["c"], expected)

    def test_ranks_order_and_the_highest_mean_may_be_another(self):
        values = pa.table({"series": list("wxyz"), "a": [0.4, 0.5, 0.6, 0.1], "b": [0.3, 0.4, 0.5, 0.9]})
        board = pv.leaderboard_from_results(values, metric="vus_pr")
        found = verdict(board, "vus_pr", board.significance("vus_pr"))
        assert found["leader"] == "a"
        assert found["claim"] == "First by mean rank under vus_pr: a, 1.25 (mean 0.400); the highest mean is b, 0.525."
        assert found["tied"] == ["b"]

    def test_where_no_series_has_all_nothing_orders(self):
        tables = {name: {"label": np.arange(60) > 50, name: np.arange(60.0)} for name in ("a", "b")}
        board = pv.leaderboard(tables, metrics=["auc_roc"], workers=1, chance=0)
        found = verdict(board, "auc_roc", board.significance("auc_roc"))
        assert (found["leader"], found["claim"]) == (None, "Nothing orders the detectors under auc_roc.")

    def test_halves_of_an_even_field_have_no_certain_winner(self):
        table = np.random.default_rng(0).random((40, 4))
        steady = over_halves(table, higher_is_better=True)
        assert max(steady["first"]) < 1
        assert over_halves(table[:3], higher_is_better=True) is None


class TestCommandLine:
    def run(self, capsys, *arguments):
        from pateval.cli import main

        with pytest.raises(SystemExit) as ended:
            main(list(map(str, arguments)))
        found = capsys.readouterr()
        return ended.value.code or 0, found.out, found.err

    def test_from_a_folder(self, demo_folder, tmp_path, capsys):
        status, out, _ = self.run(capsys, "report", demo_folder / "board", "-o", tmp_path / "r.html")
        assert status == 0
        assert out.startswith(f"{tmp_path / 'r.html'}: ")
        assert "2 series to open" in out

    def test_from_files(self, demo_folder, tmp_path, capsys):
        files = sorted(demo_folder.glob("*.csv"))
        where = tmp_path / "r.html"
        status, _, _ = self.run(capsys, "report", *files, "-o", where, "--metrics", "auc_roc", "--workers", "1")
        assert status == 0
        assert blocks_of(where)["board"]["detectors"] == ["flat", "good", "guess"]

    def test_a_page_is_not_replaced_unasked(self, demo_folder, tmp_path, capsys):
        (tmp_path / "r.html").write_text("mine")
        status, _, err = self.run(capsys, "report", demo_folder / "board", "-o", tmp_path / "r.html")
        assert status == 2
        assert "--overwrite replaces it" in err
        assert (tmp_path / "r.html").read_text() == "mine"

    def test_options_that_come_too_late(self, demo_folder, tmp_path, capsys):
        status, _, err = self.run(capsys, "report", demo_folder / "board", "-o", tmp_path / "r.html", "--early", "5")
        assert status == 2
        assert "--early is for score files" in err

    def test_of_values_computed_elsewhere(self, tmp_path, capsys):
        (tmp_path / "v.csv").write_text("series,a,b\n" + "\n".join(f"s{k},0.{k}5,0.{k}" for k in range(6)))
        where = tmp_path / "r.html"
        arguments = ("--from-results", tmp_path / "v.csv", "--metrics", "vus_pr", "-o", tmp_path / "board")
        status, _, err = self.run(capsys, "leaderboard", *arguments, "--report", where)
        why = "no series to open, since the values were computed elsewhere and came without scores"
        assert (status, why in err) == (0, True)
        assert "computed elsewhere" in dict(blocks_of(where)["board"]["missing"])["s0"]
        # Said once, and not for each series.
        again = tmp_path / "again.html"
        status, out, err = self.run(capsys, "report", tmp_path / "board", "-o", again)
        assert (status, err) == (0, "")
        assert out == f"{again}: {again.stat().st_size / 1e6:.1f} MB, {why}\n"

    def test_with_the_leaderboard(self, demo_folder, tmp_path, capsys):
        files = sorted(demo_folder.glob("*.csv"))
        where = tmp_path / "r.html"
        arguments = ("leaderboard", *files, "--metrics", "auc_roc", "--workers", "1", "--report", where)
        status, _, err = self.run(capsys, *arguments)
        assert status == 0
        assert f"report: {where}" in err
