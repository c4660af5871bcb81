"""Events by kind, literally: who is short or of a class, which steps are left out, and what remains."""

from __future__ import annotations

from oracles import pate_clock


def events_of(labels):
    """First and last step of each run of ones."""
    found = []
    for step, label in enumerate(labels):
        if label and (step == 0 or not labels[step - 1]):
            found.append([step, step])
        elif label:
            found[-1][1] = step
    return found


def thirds(lengths):
    """0, 1 or 2 for each length: up to that of the event a third of them all reach, up to two thirds, above."""
    ordered, number = sorted(lengths), len(lengths)
    low, high = ordered[-(-number // 3) - 1], ordered[-(-2 * number // 3) - 1]
    return [0 if length <= low else 1 if length <= high else 2 for length in lengths]


def majority(classes):
    """The class of most steps, the first to come of equally many."""
    best = classes[0]
    for one in classes:
        if classes.count(one) > classes.count(best):
            best = one
    return best


def only(labels, chosen, early, delay):
    """Labels of the chosen events, and the steps that are left out with the others."""
    events, size = events_of(labels), len(labels)
    mine = [event for event, is_chosen in zip(events, chosen, strict=True) if is_chosen]
    others = [event for event, is_chosen in zip(events, chosen, strict=True) if not is_chosen]

    def is_inside(step, group):
        return any(first <= step <= last for first, last in group)

    def is_near(step, group):
        return any(first - early <= step <= last + delay for first, last in group)

    kept = [is_inside(step, mine) for step in range(size)]
    left_out = [is_inside(step, others) or (is_near(step, others) and not is_near(step, mine)) for step in range(size)]
    return kept, left_out


def by_kind(labels, predictions, kinds, early, delay, value, ignored=None):
    """For each kind in ``kinds``, one for each event: events, those found, and a value on what is not left out."""
    found = {}
    events = events_of(labels)
    ignored = [False] * len(labels) if ignored is None else ignored
    for kind in sorted(set(kinds)):
        chosen = [one == kind for one in kinds]
        kept, left_out = only(labels, chosen, early, delay)
        left_out = [one or other for one, other in zip(left_out, ignored, strict=True)]
        hit = [
            any(predictions[step] and not ignored[step] for step in range(first, last + 1))
            for (first, last), is_chosen in zip(events, chosen, strict=True)
            if is_chosen
        ]
        found[kind] = len(hit), sum(hit), value(kept, left_out)
    return found


def pate_f1_by_kind(labels, predictions, kinds, early, delay):
    """The same with `pate_f1` of the predictions."""

    def value(kept, left_out):
        times = list(range(len(labels)))
        return float(pate_clock.pate_f1(kept, predictions, [early], [delay], times, None, left_out))

    return by_kind(labels, predictions, kinds, early, delay, value)
