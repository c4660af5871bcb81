"""PATE in torchmetrics: updated with one series after the other, computed at the end of the epoch."""

import torch

import pateval as pv

torch.manual_seed(0)
labels = torch.zeros(3, 400, dtype=torch.int)
labels[:, 200:220] = 1
scores = torch.rand(3, 400) + 0.5 * labels.roll(3, dims=1)

metric = pv.torchmetrics.PateMetric(early=20, delay=20)
for one_scores, one_labels in zip(scores, labels, strict=True):
    metric.update(one_scores, one_labels)
value = metric.compute().item()
print(f"PATE {value:.4f} of three series")

# All steps are one sample, and no buffer reaches from one series into the next.
series = [0] * 400 + [1] * 400 + [2] * 400
assert value == pv.pate_ap(labels.ravel(), scores.ravel(), early=20, delay=20, series=series)
