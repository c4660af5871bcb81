"""The gate: what passes, what does not, and what a ledger does about many tries."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import pateval as pv
from pateval.alarms.gate import Ledger, alarm_evidence, decide, paired_evidence, sign_flip_p_value
from pateval.testing import assert_better_than_chance, assert_not_worse
from support.command_line import console, console_status


def literal_sign_flips(differences):
    observed = sum(differences)
    sums = [
        sum(sign * abs(d) for sign, d in zip(signs, differences, strict=True))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(one >= observed for one in sums) / len(sums)


@given(st.lists(st.integers(-64, 64), min_size=1, max_size=9))
def test_the_test_counts_all_sign_patterns(differences):
    # 64 divides the grid where the largest is 64: nothing is rounded.
    differences = [*differences, 64]
    assert sign_flip_p_value(np.array(differences, dtype=float)) == pytest.approx(literal_sign_flips(differences))


def scores_file(path, labels, scores, names=None):
    columns = {"label": labels, "score": scores} | ({} if names is None else {"series": names})
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture
def made(tmp_path):
    """Twelve series; a base, a much better, a much worse detector."""
    rng = np.random.default_rng(0)
    labels = np.tile(np.repeat([0, 1, 0], [30, 5, 25]), 12)
    names = np.repeat([f"s{number}" for number in range(12)], 60)
    noise = rng.normal(size=labels.size)
    files = {
        name: scores_file(tmp_path / f"{name}.csv", labels, np.round(weight * labels + noise, 6), names)
        for name, weight in (("base", 1.0), ("better", 3.0), ("worse", 0.0))
    }
    return files | {"ledger": tmp_path / "ledger.jsonl"}


class TestTheCommand:
    def test_exit_status_and_sentence(self, made):
        options = ("--early", "5", "--delay", "5")
        for name, require, status in (
            ("better", "not-worse", 0),
            ("better", "better", 0),
            ("worse", "not-worse", 1),
            ("base", "not-worse", 0),
            ("base", "better", 1),
        ):
            code, printed = console_status("gate", made["base"], made[name], "--require", require, *options)
            assert code == status, (name, require, printed)
            assert ("stopped:" if status else "passed:") in printed.out
            assert all(len(line) <= 80 for line in printed.out.splitlines())

    def test_json_says_what_evaluate_says(self, made):
        found = json.loads(console("gate", made["base"], made["better"], "--format", "json").out)
        (row,) = found["evidence"]
        for name, value in (("base", row["base"]), ("better", row["new"])):
            data = np.genfromtxt(made[name], delimiter=",", names=True, dtype=None, encoding=None)
            expected = pv.evaluate(data["label"], data["score"], metrics=["pate_ap"], series=data["series"])
            assert value == pytest.approx(expected["pate_ap"])
        assert row["units"] == 12

    def test_bad_input_is_exit_2(self, made, tmp_path):
        other = scores_file(tmp_path / "other.csv", [0, 1, 0], [1, 2, 3])
        for arguments, words in (
            ((made["base"], other), "different series"),
            ((made["base"], tmp_path / "none.csv"), "no such file"),
            ((made["base"], made["base"], "--metric", "nonsense"), "nonsense"),
        ):
            code, printed = console_status("gate", *arguments)
            assert code == 2
            assert words in printed.err
            assert printed.out == ""

    def test_a_ledger_keeps_every_look_and_shares_alpha_out(self, made):
        for look in (1, 2, 3):
            code, printed = console_status(
                "gate", made["base"], made["better"], "--ledger", made["ledger"], "--format", "json"
            )
            found = json.loads(printed.out)
            assert found["look"] == look
            assert found["alpha"] == pytest.approx(0.05 * 6 / (math.pi * look) ** 2)
            assert code == (0 if found["passed"] else 1)
        looks = [json.loads(line) for line in made["ledger"].read_text().splitlines()]
        assert [one["look"] for one in looks] == [1, 2, 3]
        assert len({one["new"] for one in looks}) == 1
        made["ledger"].write_text("not a ledger\n")
        code, printed = console_status("gate", made["base"], made["better"], "--ledger", made["ledger"])
        assert code == 2
        assert "line 1" in printed.err

    def test_alarm_files(self, tmp_path):
        rng = np.random.default_rng(0)
        starts = np.arange(60) * 100 + 50
        incidents = tmp_path / "incidents.csv"
        incidents.write_text("start,stop\n" + "".join(f"{start},{start + 5}\n" for start in starts))
        base = [*(starts[:50] + 1), *rng.integers(0, 6000, 60)]
        new = [*(starts + 1), *rng.integers(0, 6000, 5)]
        files = [tmp_path / name for name in ("a.csv", "b.csv")]
        for file, times in zip(files, (base, new), strict=True):
            file.write_text("time\n" + "".join(f"{time}\n" for time in times))
        assert console_status("gate", *files, "--incidents", incidents, "--require", "better")[0] == 0
        assert console_status("gate", *files[::-1], "--incidents", incidents)[0] == 1
        assert console_status("gate", files[0], files[0], "--incidents", incidents)[0] == 0


def test_boards(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.tile(np.repeat([0, 1, 0], [20, 5, 15]), 8)
    names = np.repeat([f"s{place}" for place in range(8)], 40)
    for name, weight in (("base", 1.0), ("new", 4.0)):
        data = {"label": labels, "series": names}
        data |= {detector: weight * labels + rng.normal(size=labels.size) for detector in ("mine", "other")}
        board = pv.leaderboard(data, series="series", score=["mine", "other"], metrics=["pate_ap"], chance=0)
        board.save(tmp_path / name)
    pair = (tmp_path / "base", tmp_path / "new")
    assert console_status("gate", *pair, "--detector", "mine", "--require", "better")[0] == 0
    assert console_status("gate", *pair[::-1], "--detector", "mine")[0] == 1
    code, printed = console_status("gate", *pair)
    assert (code, "--detector" in printed.err) == (2, True)
    code, printed = console_status("gate", *pair, "--detector", "nobody")
    said = f"{pair[0]}: the board has no detector 'nobody'; name one with --detector: 'mine', 'other'"
    assert (code, said in printed.err) == (2, True)


def test_alarm_evidence_by_exact_tests():
    incidents = [(10 * place, 10 * place + 1) for place in range(20)]
    period = [(0, 1000)]
    base = pv.judge_alarms([place * 10 for place in range(10)] + [500, 600, 700], incidents, period=period)
    new = pv.judge_alarms([place * 10 for place in range(2, 20)] + [500], incidents, period=period)
    found, false = alarm_evidence(base, new, margin_missed=0.05, margin_false=0.25)
    assert found.better == pytest.approx(binomtest(10, 12, alternative="greater").pvalue)
    assert false.better == pytest.approx(binomtest(1, 4, alternative="less").pvalue)
    assert false.not_worse == pytest.approx(binomtest(1, 4, 1.25 / 2.25, alternative="less").pvalue)


def test_assertions_say_by_how_much():
    labels = np.tile([0] * 20 + [1] * 5, 8)
    noise = np.random.default_rng(0).random(labels.size)
    assert assert_better_than_chance(labels, labels + noise) == 0.01
    with pytest.raises(AssertionError, match=r"random scores reach 0\.\d+"):
        assert_better_than_chance(labels, noise - labels)
    assert assert_not_worse(labels, labels + noise, 2 * labels + noise).passed
    with pytest.raises(AssertionError, match=r"pate_ap -0\.\d+ on 8"):
        assert_not_worse(labels, labels + noise, noise)


def test_too_few_units_are_no_evidence_and_the_power_says_so():
    rng = np.random.default_rng(0)
    few = paired_evidence("m", rng.random(4), rng.random(4) + 9, margin=0.01, alpha=0.05)
    assert not few.passes("better", 0.05)
    assert few.power == 0


def searches(number, variants, series, generator, ledger):
    """How many searches ever pass, where every variant is exchangeable with the base."""
    passed = 0
    for _ in range(number):
        base = generator.random(series)
        ever = False
        for look in range(variants):
            new = base + generator.choice([-1, 1], series) * generator.exponential(0.05, series)
            evidence = paired_evidence("m", base, new, margin=0.01, alpha=0.05)
            ever = ever or decide([evidence], "better", 0.05, Ledger(ledger, look)).passed
        passed += ever
    return passed


def test_a_search_of_twenty_variants_does_not_pass_by_luck(tmp_path):
    assert searches(40, 20, 15, np.random.default_rng(0), tmp_path / "l") <= 5


@pytest.mark.slow
def test_a_thousand_searches(tmp_path):
    # All twenty looks spend 0.0485 of alpha together; with the seeds 0, 1 and 2 there are 46, 42 and 50.
    assert searches(1000, 20, 25, np.random.default_rng(0), tmp_path / "l") <= 0.05 * 1000


def planted(number, effect, deviation, series, require, generator):
    """Share of new detectors that pass, better by the effect or by nothing, and the mean power printed for them."""
    passed, power = [], []
    for _ in range(number):
        base = generator.random(series)
        new = base + generator.normal(effect if require == "better" else 0, deviation, series)
        evidence = paired_evidence("m", base, new, margin=effect, alpha=0.05)
        passed.append(evidence.passes(require, 0.05))
        power.append(evidence.power)
    return np.mean(passed), np.mean(power)


@pytest.mark.parametrize("require", ["better", "not-worse"])
def test_planted_improvements_pass_at_the_power_that_is_printed(require):
    passed, power = planted(300, 0.02, 0.03, 20, require, np.random.default_rng(0))
    assert passed == pytest.approx(power, abs=3 * math.sqrt(0.25 / 300))


@pytest.mark.slow
@pytest.mark.parametrize("require", ["better", "not-worse"])
@pytest.mark.parametrize(("deviation", "series"), [(0.02, 12), (0.03, 20), (0.06, 40)])
def test_planted_improvements_pass_at_that_power_in_many_draws(require, deviation, series):
    passed, power = planted(3000, 0.02, deviation, series, require, np.random.default_rng(1))
    assert passed == pytest.approx(power, abs=3 * math.sqrt(0.25 / 3000) + 0.02)  # the power itself is estimated
