"""Scores of windows laid on the steps of a series, step by step."""

from __future__ import annotations


def scores_from_windows(window_scores, size, window, stride, how, missing):
    """Each step's score, None where no window gives one; ``window_scores`` hold a number or a list per window."""
    found = []
    for step in range(size):
        mine = []
        for number, scores in enumerate(window_scores):
            offset = step - number * stride
            if not 0 <= offset < window:
                continue
            if how == "last" and offset != window - 1:
                continue
            if how == "first" and offset != 0:
                continue
            if how == "centre" and offset != window // 2:
                continue
            mine.append(scores[offset] if isinstance(scores, list) else scores)
        if not mine:
            found.append(None)
        elif how == "max":
            found.append(max(mine))
        else:
            found.append(sum(mine) / len(mine))
    if missing == "repeat":
        there = [step for step in range(size) if found[step] is not None]
        return [found[min(there, key=lambda other: (abs(other - step), other))] for step in range(size)]
    return found
