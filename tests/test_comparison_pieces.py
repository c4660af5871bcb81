"""Draws of pieces from counts, against what each metric literally is on the pieces of a draw."""

from __future__ import annotations

import numpy as np
import pytest

import pateval as pv
from oracles import comparison as oracle
from oracles import event_based as event_oracle
from oracles import pate as pate_oracle
from oracles import point as point_oracle
from oracles import point_adjusted as adjusted_oracle
from oracles import ranking as ranking_oracle
from oracles.runs import f1_of, prf
from oracles.vus import threshold_values
from pateval.evaluation import pieces
from pateval.evaluation.measures import Measures
from pateval.evaluation.pieces import Pieces, cut, draw_pieces
from pateval.time.timelines import read_recording

RNG = np.random.default_rng(5)
# Zones of 3 steps on both sides meet at the cuts; the first piece begins and the last one ends with an event; two
# events are one step apart and stay in one piece.
LABELS = np.repeat([1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1], [2, 4, 3, 1, 2, 5, 1, 3, 4, 9, 2])
SCORES = np.round(0.5 * LABELS + RNG.random(LABELS.size), 1)
THRESHOLD = 0.8
PREDICTIONS = (SCORES >= THRESHOLD).astype(int).tolist()
DRAWS, SEED = 6, 3
EARLY, DELAY = [0, 3], [1, 3]


def drawn_values(metrics, scores=SCORES, **steps):
    recording = read_recording(LABELS, scores, **steps)
    measures = Measures.of(metrics=metrics, early=EARLY, delay=DELAY, window=5, threshold=THRESHOLD, chance=0)
    limits = cut(recording)
    return Pieces(recording, measures, limits).drawn(draw_pieces(len(limits), DRAWS, SEED))


def ranked(metric):
    return lambda drawn: metric(*oracle.put_together(drawn, LABELS.tolist(), SCORES.tolist())[:2])


def cut_at(metric):
    return lambda drawn: metric(*oracle.put_together(drawn, LABELS.tolist(), PREDICTIONS)[:2])


def weighted(metric, values):
    def literal(drawn):
        truth, given, series = oracle.put_together(drawn, LABELS.tolist(), list(values))
        return metric(truth, given, EARLY, DELAY, series=series)

    return literal


def counted(value):
    return lambda drawn: value(*oracle.event_counts(drawn, LABELS.tolist(), PREDICTIONS))


def composite(found, missed, _runs, false_steps, true_steps, _normal):
    return f1_of(true_steps / (true_steps + false_steps) if true_steps + false_steps else 0.0, found / (found + missed))


def event_wise(found, missed, false_runs, false_steps, _true_steps, normal):
    precision, recall, _ = prf(found, false_runs, missed)
    return precision * (1 - false_steps / normal), recall


def volumes(place):
    levels = list(dict.fromkeys(threshold_values(SCORES.tolist(), 250)))
    return lambda drawn: oracle.vus_areas(drawn, LABELS.tolist(), SCORES.tolist(), levels, 5)[place]


LITERAL = {
    "pate": weighted(pate_oracle.pate, SCORES),
    "pate_ap": weighted(pate_oracle.pate_ap, SCORES),
    "pate_f1": weighted(pate_oracle.pate_f1, PREDICTIONS),
    "auc_roc": ranked(ranking_oracle.auc_roc),
    "average_precision": ranked(ranking_oracle.average_precision),
    "auc_pr": ranked(ranking_oracle.auc_pr),
    "vus_roc": volumes(0),
    "vus_pr": volumes(1),
    "point_f1": cut_at(lambda *given: point_oracle.point(*given)[2]),
    "point_recall": cut_at(lambda *given: point_oracle.point(*given)[1]),
    "point_adjusted_f1": cut_at(lambda *given: adjusted_oracle.point_adjusted(*given)[2]),
    "point_adjusted_k_f1": cut_at(lambda *given: adjusted_oracle.point_adjusted_k(*given, 20)[2]),
    "delay_adjusted_f1(delay=1)": cut_at(lambda *given: adjusted_oracle.delay_adjusted(*given, 1)[2]),
    "composite_f1": counted(composite),
    "segment_f1": counted(lambda found, missed, runs, *_: prf(found, runs, missed)[2]),
    "revised_point_adjusted_f1": counted(lambda found, missed, _, steps, *__: prf(found, steps, missed)[2]),
    "event_wise_f1": counted(lambda *counts: f1_of(*event_wise(*counts))),
    "event_wise_f_beta": counted(lambda *counts: event_oracle.f_beta_of(*event_wise(*counts), 0.5)),
    "affiliation_f1": lambda drawn: oracle.affiliation_f1(drawn, LABELS.tolist(), PREDICTIONS),
    # no function of counts: on the pieces put end to end
    "range_based_recall": cut_at(lambda truth, given: pv.range_based(truth, given).recall),
    "precision_at_k": ranked(lambda truth, given: pv.precision_at_k(truth, given)),
}


@pytest.mark.parametrize("is_sparse", [False, True])
def test_every_draw_is_what_the_metric_is_on_its_pieces(is_sparse, monkeypatch):
    if is_sparse:
        monkeypatch.setattr(pieces, "_MAX_CELLS", 1)
    found = drawn_values(list(LITERAL))
    drawn = oracle.draws_of(LABELS.tolist(), DRAWS, SEED)
    for metric, literal in LITERAL.items():
        np.testing.assert_allclose(found[metric], [literal(pieces) for pieces in drawn], atol=1e-12, err_msg=metric)


def test_pieces_are_series_of_their_own():
    (whole,) = drawn_values("pate_ap").values()
    drawn = oracle.draws_of(LABELS.tolist(), DRAWS, SEED)
    joined = [
        pate_oracle.pate_ap(*oracle.put_together(pieces, LABELS.tolist(), SCORES.tolist())[:2], EARLY, DELAY)
        for pieces in drawn
    ]
    assert np.abs(whole - joined).max() > 0.001


def test_left_out_and_missing_steps_and_a_clock():
    times = np.cumsum(RNG.integers(1, 4, LABELS.size)) * 60
    gaps = np.where(RNG.random(LABELS.size) < 0.2, np.nan, SCORES)
    ignore = (RNG.random(LABELS.size) < 0.1) & (LABELS == 0)
    steps = {"times": times, "time_unit": "s", "ignore": ignore, "missing": "normal"}
    metrics = ["pate", "pate_ap", "auc_roc", "average_precision", "vus_pr(thresholds=20000000)", "point_f1"]
    recording = read_recording(LABELS, gaps, **steps)
    measures = Measures.of(metrics=metrics, early="3min", delay="2min", threshold=THRESHOLD, chance=0)
    limits = cut(recording)
    weights = draw_pieces(len(limits), DRAWS, SEED)
    found = Pieces(recording, measures, limits).drawn(weights)
    for draw, times_drawn in enumerate(weights):
        chosen = [limit for limit, number in zip(limits, times_drawn, strict=True) for _ in range(number)]
        rows = np.concatenate([np.arange(limit.start, limit.stop) for limit in chosen])
        series = np.repeat(np.arange(len(chosen)), [limit.stop - limit.start for limit in chosen])
        given = {"times": times[rows], "time_unit": "s", "ignore": ignore[rows], "missing": "normal", "series": series}
        expected = pv.evaluate(
            LABELS[rows], gaps[rows], metrics=metrics[:4] + metrics[5:], early="3min", delay="2min",
            threshold=THRESHOLD, pooled=True, chance=0, **given,
        )  # fmt: skip
        for metric, value in expected.items():
            assert found[metric][draw] == pytest.approx(value, abs=1e-12), metric
    assert np.isfinite(found["vus_pr(thresholds=20000000)"]).all()
