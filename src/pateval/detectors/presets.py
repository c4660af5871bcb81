"""The settings behind the paper's table, as plain data: what differs from data set to data set, and named presets.

Where our defaults and the program the authors published part, and neither is wrong, the preset ``"authors"`` follows
theirs (:func:`preset_settings`). It goes with the paper's protocol.

The paper has no SMAP column. For SMAP, USAD takes the sizes of MSL and PSM and DCdetector those of SWaT: a choice made
here, nowhere published with the table.
"""

from __future__ import annotations

from typing import Any

_Settings = dict[str, dict[str, Any]]  # by data set
_USAD: _Settings = {
    "SMD": {"window": 5, "latent_per_step": 38, "epochs": 250},
    "MSL": {"window": 5, "latent_per_step": 33, "epochs": 250},
    "SMAP": {"window": 5, "latent_per_step": 33, "epochs": 250},
    "SWaT": {"window": 12, "latent_per_step": 40, "epochs": 70},
    "PSM": {"window": 5, "latent_per_step": 33, "epochs": 250},
}
_PATCHES: _Settings = {
    "SMD": {"patch_sizes": (5, 7)},
    "MSL": {"patch_sizes": (3, 5)},
    "SMAP": {"patch_sizes": (3, 5, 7)},
    "SWaT": {"patch_sizes": (3, 5, 7)},
    "PSM": {"patch_sizes": (1, 3, 5)},
}
_ORIGINAL_SIZES: _Settings = {
    "SMD": {"epochs": 2},
    "MSL": {"window": 90, "batch_size": 64},
    "SWaT": {"batch_size": 128},
    "PSM": {"window": 60},
}
_BY_VARIANT: dict[str, dict[str, _Settings]] = {
    "paper": {"usad": _USAD, "dcdetector": _PATCHES},
    "original": {
        "anomaly_transformer": {"SMD": {"stride": 100, "epochs": 10}},
        "dcdetector": {name: {**sizes, **_ORIGINAL_SIZES.get(name, {})} for name, sizes in _PATCHES.items()},
    },
}

_LEGACY: dict[str, Any] = {"order": "legacy", "order_seed": 42, "float32_input": True}
_BATCH_MEANS: dict[str, Any] = {**_LEGACY, "validation_mean": "batches", "seed": 0}
# Their program seeds with 42, prepares the data, and seeds with 0 before it makes a network; only USAD's does not.
_PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "authors": {
        "lstm": _BATCH_MEANS,
        "transformer": {**_BATCH_MEANS, "first_weights": "multihead"},
        "anomaly_transformer": _BATCH_MEANS,
        "dcdetector": {**_LEGACY, "seed": 0},
        "usad": {**_LEGACY, "seed": 42},
    }
}

# Per cent of steps called anomalous, as configured; on SWaT the printed results of AnomalyTransformer need more than
# its 0.1. SMAP: 1, as for MSL.
_RATIOS: dict[str, dict[str, float]] = {
    "anomaly_transformer": {"SMD": 0.5, "MSL": 1, "SMAP": 1, "SWaT": 0.1, "PSM": 1},
    "dcdetector": {"SMD": 0.6, "MSL": 1, "SMAP": 1, "SWaT": 1, "PSM": 1},
    "usad": {"SMD": 1, "MSL": 1, "SMAP": 1, "SWaT": 1, "PSM": 1},
    "lstm": {"SMD": 0.5, "MSL": 1, "SMAP": 1, "SWaT": 0.1, "PSM": 1},
    "transformer": {"SMD": 0.5, "MSL": 1, "SMAP": 1, "SWaT": 0.1, "PSM": 1},
}


def dataset_settings(detector: str, dataset: str, *, variant: str = "paper") -> dict[str, Any]:
    """Return the settings of a detector, by keyword, that are particular to a data set; for others its defaults hold.

    >>> dataset_settings("dcdetector", "SMD"), dataset_settings("lstm", "SMD")
    ({'patch_sizes': (5, 7)}, {})
    """
    if variant not in _BY_VARIANT:
        raise ValueError(f"variant must be 'paper' or 'original'; got {variant!r}")
    return dict(_BY_VARIANT[variant].get(detector, {}).get(dataset, {}))


def preset_settings(preset: str, detector: str) -> dict[str, Any]:
    """Return the settings of a named preset for a detector; none for detectors it says nothing about.

    ``"authors"`` does as the authors' program does where our defaults differ: windows are shuffled by NumPy's legacy
    generator, USAD's weights are seeded with 42 and the others' with 0, the Transformer's are drawn as
    ``nn.MultiheadAttention`` draws them, a validation loss is the mean of the means of its batches, and series are
    float32 before and after scaling.
    """
    if preset not in _PRESETS:
        raise ValueError(f"preset must be one of {', '.join(map(repr, _PRESETS))}; got {preset!r}")
    return dict(_PRESETS[preset].get(detector, {}))


def threshold_ratio(detector: str, dataset: str) -> float:
    """Return r of the paper's threshold, the percentile 100 − r of training and test scores together."""
    if detector not in _RATIOS or dataset not in _RATIOS[detector]:
        raise ValueError(f"the paper configures no threshold for {detector!r} on {dataset!r}")
    return _RATIOS[detector][dataset]
