"""PATE in Lightning: a metric of torchmetrics, logged over the validation epoch."""

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

import pateval as pv


class Detector(lightning.LightningModule):
    """The score of a step is its distance from zero."""

    def __init__(self):
        super().__init__()
        self.pate = pv.torchmetrics.PateMetric(early=20, delay=20)

    def validation_step(self, batch, _):  # noqa: D102 - Lightning's
        values, labels = batch
        self.pate.update(values.abs(), labels)
        self.log("pate", self.pate, on_step=False, on_epoch=True)


torch.manual_seed(0)
labels = torch.zeros(4, 500, dtype=torch.int)
labels[:, 300:310] = 1
values = torch.randn(4, 500) + 4 * labels
trainer = lightning.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False)
(found,) = trainer.validate(Detector(), DataLoader(TensorDataset(values, labels), batch_size=2), verbose=False)
print(f"PATE {found['pate']:.4f} of four series")
series = torch.arange(4).repeat_interleave(500)
expected = pv.pate_ap(labels.ravel(), values.abs().ravel(), early=20, delay=20, series=series)
assert abs(found["pate"] - expected) < 1e-6
