"""Which channels an anomaly affects and which the detector blames, cell by cell."""

from __future__ import annotations

from oracles.runs import f1_of, runs_of


def cells_of(labels, anomalies):
    """For each anomaly its (step, channel) cells."""
    steps, channels = range(len(labels)), range(len(labels[0]))
    if anomalies is None:
        runs = runs_of([int(any(row)) for row in labels])
        return [{(t, c) for t in run for c in channels if labels[t][c]} for run in runs]
    names = sorted({anomalies[t][c] for t in steps for c in channels} - {0})
    return [{(t, c) for t in steps for c in channels if anomalies[t][c] == name} for name in names]


def counts(labels, predictions, anomalies, subsystems):
    """True and false positives and false negatives, in units, of each anomaly."""
    channels = range(len(labels[0]))
    subsystems = list(channels) if subsystems is None else list(subsystems)
    units = [[c for c in channels if subsystems[c] == name] for name in dict.fromkeys(subsystems)]
    every = cells_of(labels, anomalies)
    found = []
    for cells in every:
        others = {cell for other in every if other is not cells for cell in other}
        extent = {t for t, _ in cells}
        blamed = {c for c in channels if any(predictions[t][c] for t in extent)}
        excused = {c for c in blamed if any(predictions[t][c] and (t, c) in others for t in extent)}
        true_positive = false_positive = false_negative = 0
        for unit in units:
            affected = any((t, c) in cells for t in extent for c in unit)
            if affected and blamed & set(unit):
                true_positive += 1
            elif affected:
                false_negative += 1
            elif (blamed - excused) & set(unit):
                false_positive += 1
        found.append((true_positive, false_positive, false_negative))
    return found


def ratios(true_positive, false_positive, false_negative):
    if not true_positive:
        return 0.0, 0.0
    return true_positive / (true_positive + false_positive), true_positive / (true_positive + false_negative)


def mean(values):
    return sum(values) / len(values)


def affected_channels(labels, predictions, anomalies=None, subsystems=None):
    found = [ratios(*count) for count in counts(labels, predictions, anomalies, subsystems)]
    return mean([p for p, _ in found]), mean([r for _, r in found]), mean([f1_of(p, r) for p, r in found])


def affected_channels_f_beta(labels, predictions, anomalies=None, subsystems=None, beta=0.5):
    found = [ratios(*count) for count in counts(labels, predictions, anomalies, subsystems)]
    return mean([(1 + beta**2) * p * r / (beta**2 * p + r) if p else 0.0 for p, r in found])
