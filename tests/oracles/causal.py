"""What a detector says of each beginning of a series, one after the other."""

from __future__ import annotations


def growing_beginnings(score, values, shortest, tolerance):
    """First scores, steps that changed, and the longest time after which one still did, over all beginnings."""
    seen, before, changes, reach = {}, {}, {}, 0
    largest = max(abs(number) for number in score(values))
    for length in range(shortest, len(values) + 1):
        for step, number in enumerate(score(values[:length])):
            if step not in seen:
                seen[step], before[step], changes[step] = number, number, 0
                continue
            if abs(number - before[step]) > tolerance * largest:
                reach = max(reach, length - 1 - step)
            before[step] = number
            changes[step] = max(changes[step], abs(number - seen[step]))
    changed = [step for step in changes if changes[step] > tolerance * largest]
    return [seen[step] for step in range(len(values))], changed, reach
