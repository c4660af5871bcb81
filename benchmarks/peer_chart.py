"""The charts of the speed sheet: panels per metric, a marker per package, so that they can be read in grey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MARKERS = {
    "PATE": "o",
    "scikit-learn": "s",
    "TSB-AD": "^",
    "vus": "v",
    "aeon": "D",
    "TimeEval": "P",
    "dtaianomaly": "X",
    "tsadmetrics": "*",
}
GREYS = ("#000000", "#555555", "#888888", "#333333")


def draw(cells: list[dict[str, Any]], path: Path, limit: float) -> None:
    """Draw ratio over length; where theirs was stopped, an open marker at the lower bound, with an arrow."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D

    metrics = list(dict.fromkeys(cell["metric"] for cell in cells if cell["package"]))
    rows = max(1, -(-len(metrics) // 3))
    figure, axes = plt.subplots(rows, 3, figsize=(9, 2.7 * rows), sharex=True, sharey=True, squeeze=False)
    for place, metric in zip(axes.flat, metrics, strict=False):
        place.axhline(1, color="0.6", linewidth=1)
        packages = list(
            dict.fromkeys(cell["package"] for cell in cells if cell["metric"] == metric and cell["package"])
        )
        for number, package in enumerate(packages):
            found = [cell for cell in cells if (cell["metric"], cell["package"]) == (metric, package)]
            # Packages stand beside each other, not on one another, and so do the two cases of 10,000 steps.
            shift = 1.12 ** (number - (len(packages) - 1) / 2)
            grey = GREYS[number % len(GREYS)]
            for cell in found:
                across = cell["steps"] * shift
                if cell["ratio"] is not None:
                    place.plot(across, cell["ratio"], MARKERS[package], color=grey, markersize=5)
                    place.vlines(across, cell["lowest"], cell["highest"], color=grey, linewidth=1)
                elif cell["remark"].startswith("not done"):
                    bound = limit / cell["our_seconds"]
                    place.plot(across, bound, MARKERS[package], color=grey, markersize=5, fillstyle="none")
                    place.annotate(
                        "", (across, bound * 5), (across, bound * 1.3), arrowprops={"arrowstyle": "->", "color": grey}
                    )
        place.set(xscale="log", yscale="log", title=metric)
        place.title.set_size(10)
        place.grid(color="0.9")
        place.set_axisbelow(True)
    for empty in axes.flat[len(metrics) :]:
        empty.set_visible(False)
    for place in axes[-1]:
        place.set_xlabel("steps")
    figure.supylabel("CPU time of theirs over ours", size=10)
    used = [name for name in MARKERS if any(cell["package"] == name for cell in cells)]
    handles = [Line2D([], [], marker=MARKERS[name], color="0.2", linestyle="", label=name) for name in used]
    handles.append(Line2D([], [], marker="o", color="0.2", linestyle="", fillstyle="none", label="stopped: at least"))
    figure.legend(handles=handles, ncol=5, loc="lower center", frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_scaling(cells: list[dict[str, Any]], path: Path) -> None:
    """Draw CPU time and peak memory over length, ours alone as a thick line and each package as a thin one."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.ticker import NullFormatter

    metrics = list(dict.fromkeys(cell["metric"] for cell in cells if cell["package"]))
    figure, axes = plt.subplots(len(metrics), 2, figsize=(7, 2.2 * len(metrics)), sharex=True, squeeze=False)
    for row, metric in zip(axes, metrics, strict=True):
        found = [cell for cell in cells if cell["metric"] == metric]
        for place, quantity, unit in zip(row, ("seconds", "bytes"), (1, 1e-6), strict=True):
            alone = [cell for cell in found if not cell["package"] and cell[f"our_{quantity}"]]
            values = [unit * cell[f"our_{quantity}"] for cell in alone]
            place.plot([cell["steps"] for cell in alone], values, color="black", linewidth=2.5)
            for number, package in enumerate(dict.fromkeys(cell["package"] for cell in found if cell["package"])):
                of_package = [cell for cell in found if cell["package"] == package and cell[f"their_{quantity}"]]
                place.plot(
                    [cell["steps"] for cell in of_package],
                    [unit * cell[f"their_{quantity}"] for cell in of_package],
                    marker=MARKERS[package],
                    color=GREYS[number % len(GREYS)],
                    markersize=5,
                    linewidth=0.8,
                )
            place.set(xscale="log", yscale="log")
            place.yaxis.set_minor_formatter(NullFormatter())
            place.grid(color="0.9")
            place.set_axisbelow(True)
        row[0].set_ylabel(metric, size=9)
    for place, title in zip(axes[0], ("CPU time in seconds", "peak memory of the call in MB"), strict=True):
        place.set_title(title, size=10)
    for place in axes[-1]:
        place.set_xlabel("steps")
    used = [name for name in MARKERS if any(cell["package"] == name for cell in cells)]
    handles = [Line2D([], [], color="black", linewidth=2.5, label="pateval")]
    handles += [Line2D([], [], marker=MARKERS[name], color="0.3", linewidth=0.8, label=name) for name in used]
    figure.legend(handles=handles, ncol=4, loc="lower center", frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.7 / (2.2 * len(metrics)), 1, 1))
    figure.savefig(path, dpi=150)
    plt.close(figure)
