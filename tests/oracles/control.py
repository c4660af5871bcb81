"""One detector against the others, literally: all patterns of signs are counted, Holm's steps gone one by one."""

from __future__ import annotations

from itertools import product


def signed_rank_p(differences):
    """Two-sided p-value of Wilcoxon's signed-rank test, zeros left out, ties with the mean of their ranks."""
    parted = [difference for difference in differences if difference != 0]
    if not parted:
        return 1.0
    sizes = [abs(difference) for difference in parted]
    ranks = [sum(b < a for b in sizes) + (sizes.count(a) + 1) / 2 for a in sizes]
    observed = sum(rank for rank, difference in zip(ranks, parted, strict=True) if difference > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in product([0, 1], repeat=len(ranks))
    ]
    below = sum(each <= observed for each in sums)
    above = sum(each >= observed for each in sums)
    return min(1.0, 2 * min(below, above) / len(sums))


def against_control(rows, control):
    """Corrected p-value of each other column against one of them; series with a missing value do not count."""
    complete = [row for row in rows if all(value == value for value in row)]
    others = [column for column in range(len(rows[0])) if column != control]
    raw = {other: signed_rank_p([row[control] - row[other] for row in complete]) for other in others}
    corrected, largest = {}, 0.0
    for place, other in enumerate(sorted(others, key=lambda column: raw[column])):
        largest = max(largest, raw[other] * (len(others) - place))
        corrected[other] = min(1.0, largest)
    return corrected
