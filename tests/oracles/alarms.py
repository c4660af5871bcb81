"""Alarms and incidents, word for word: intervals in lists, every alarm held against every incident, exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist, median

from scipy.stats import chi2

Z = NormalDist().inv_cdf(0.975)


def observed_pieces(periods, ignored, alarms, incidents):
    """Pieces ``(from, to, is_closed)`` of observed time, in order."""
    if periods is None:
        times = [time for interval in [*alarms, *incidents] for time in interval]
        pieces = [(min(times), max(times), True)] if times else []
    else:
        pieces = [(start, stop, False) for start, stop in union(periods)]
    for start, stop in ignored:
        left = []
        for a, b, closed in pieces:
            if start >= stop or stop <= a or start > b or (start == b and not closed):
                left.append((a, b, closed))
                continue
            if a < start:
                left.append((a, start, False))
            if stop < b or (stop == b and closed):
                left.append((stop, b, closed))
        pieces = left
    return sorted(pieces)


def union(intervals):
    """Half-open intervals that neither touch nor overlap."""
    found = []
    for start, stop in sorted(intervals):
        if start == stop:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return found


def first_moment(start, stop, pieces):
    """The first observed moment within a closed interval, or None."""
    for a, b, closed in pieces:
        moment = max(start, a)
        if moment <= stop and (moment < b or (closed and moment == b)):
            return moment
    return None


def judge(
    alarms, incidents, *, periods=None, ignored=(), early=0, delay=0, merge=None, cooldown=None, pieces=None, total=None
):
    """Everything that is counted on one series; ``pieces`` and their length may be given in place of periods."""
    pieces = observed_pieces(periods, ignored, alarms, incidents) if pieces is None else pieces
    counting = [first_moment(*incident, pieces) is not None for incident in incidents]
    started = [(first_moment(start, stop, pieces), stop) for start, stop in alarms]
    dropped = sum(start is None for start, _ in started)
    groups = sorted(alarm for alarm in started if alarm[0] is not None)
    if merge is not None:
        merged = []
        for start, stop in groups:
            if merged and start <= merged[-1][1] + merge:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        groups = merged
    kept, suppressed = [], 0
    for alarm in groups:
        if cooldown is not None and kept and alarm[0] - kept[-1][0] < cooldown:
            suppressed += 1
        else:
            kept.append(alarm)
    # A merged or suppressed list is still in order of start, then stop.
    met, firsts, times, missed = set(), set(), [], []
    met_left_out = set()
    for incident, counts in zip(incidents, counting, strict=True):
        start, stop = incident
        meeting = [i for i, (a, b) in enumerate(kept) if a <= stop + delay and b >= start - early]
        if not counts:
            met_left_out.update(meeting)
            continue
        met.update(meeting)
        if meeting:
            firsts.add(meeting[0])
            times.append(max(kept[meeting[0]][0], start - early) - start)
        else:
            missed.append(incident)
    aside = met_left_out - met
    return {
        "incidents": sum(counting),
        "found": len(times),
        "missed": missed,
        "left_out": len(incidents) - sum(counting),
        "alarms": len(kept) - len(aside),
        "first": len(firsts),
        "repeat": len(met - firsts),
        "false": len(kept) - len(met | aside),
        "set_aside": len(aside),
        "dropped": dropped,
        "suppressed": suppressed,
        "observed": sum(b - a for a, b, _ in pieces) if total is None else total,
        "ttd": times,
        "in_alarm": sum(
            max(0, min(b, q) - max(a, p)) for a, b in union(kept) for p, q, _ in pieces
        ),
        "kept": kept,
    }  # fmt: skip


def add(parts):
    """Several series together."""
    found = dict(parts[0])
    for part in parts[1:]:
        for name, value in part.items():
            found[name] = found[name] + value
    return found


def wilson(successes, trials):
    if not trials:
        return (math.nan, math.nan)
    share = successes / trials
    centre = share + Z**2 / (2 * trials)
    spread = Z * math.sqrt(share * (1 - share) / trials + Z**2 / (4 * trials**2))
    return tuple(min(1.0, max(0.0, (centre + sign * spread) / (1 + Z**2 / trials))) for sign in (-1, 1))


def garwood(events, length):
    if not length:
        return (math.nan, math.nan)
    low = chi2.ppf(0.025, 2 * events) / 2 if events else 0.0
    return (low / float(length), chi2.ppf(0.975, 2 * events + 2) / 2 / float(length))


def limits(found):
    return {
        "recall_95": wilson(found["found"], found["incidents"]),
        "precision_95": wilson(found["first"] + found["repeat"], found["alarms"]),
        "false_rate_95": garwood(found["false"], found["observed"]),
    }


def runs(times, is_in, is_ignored, max_gap):
    """Runs of marked steps of one series as ``[time of first, time of last]``; ignored steps are not there."""
    found, last, parted = [], None, False
    for i, time in enumerate(times):
        parted = parted or (i > 0 and max_gap is not None and time - times[i - 1] > max_gap)
        if is_ignored[i]:
            continue
        if is_in[i]:
            if last is not None and not parted:
                found[-1] = (found[-1][0], time)
            else:
                found.append((time, time))
            last = i
        else:
            last = None
        parted = False
    return found


def shares(times, max_gap, on_steps):
    """How long each step counts for."""
    if on_steps:
        return [Fraction(1)] * len(times)
    intervals = [Fraction(b) - Fraction(a) for a, b in pairwise(times)]
    usual = median(intervals) if intervals else Fraction(0)
    return [
        interval if interval is not None and (max_gap is None or interval <= max_gap) else usual
        for interval in [*intervals, None]
    ]


def judge_scores(
    scores, threshold, *, labels=None, incidents=None, times=None, ignored=None, max_gap=None, merge=None, **policy
):
    """One series with a score per step, at a threshold; steps that have no score are None and never flagged."""
    size = len(scores)
    clock = list(range(size)) if times is None else list(times)
    ignored = [False] * size if ignored is None else list(ignored)
    lengths = shares(clock, max_gap, times is None)
    counted = [i for i in range(size) if not ignored[i]]
    flagged = [score is not None and score >= threshold for score in scores]
    alarms = runs(clock, flagged, ignored, max_gap)
    incidents = runs(clock, labels, ignored, max_gap) if incidents is None else incidents
    pieces = [(clock[i], clock[i] + lengths[i], lengths[i] == 0) for i in counted]
    total = sum((lengths[i] for i in counted), Fraction(0))
    found = judge(alarms, incidents, pieces=pieces, total=total, merge=merge, **policy)
    found["in_alarm"] = sum(
        (lengths[i] for i in counted if any(a <= clock[i] <= b for a, b in found["kept"])), Fraction(0)
    )
    return found


def candidates(series):
    """Thresholds from the highest down, less any that flags every step that counts; series are lists of pairs
    (score, is_ignored)."""
    scores = [score for steps in series for score, is_ignored in steps if not is_ignored]
    levels = sorted({score for score in scores if score is not None}, reverse=True)
    return [level for level in levels if any(score is None or score < level for score in scores)]


def budget_threshold(levels, judged_at, allowed):
    """The lowest candidate that is allowed together with all higher ones; None where the highest is not."""
    chosen = None
    for level in levels:
        if judged_at(level)["false"] > allowed:
            break
        chosen = level
    return chosen


def frontier_thresholds(levels, judged_at):
    """Candidates at which the number of incidents found changes."""
    found, before = [], 0
    for level in levels:
        now = judged_at(level)["found"]
        if now != before:
            found.append(level)
        before = now
    return found
