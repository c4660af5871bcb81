"""What was run, with what: the record that a leaderboard keeps of its making."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pateval.leaderboards.cache import package_version

if TYPE_CHECKING:
    from pateval.leaderboards.collect import Collector
    from pateval.leaderboards.executors import WorkerPool
    from pateval.leaderboards.plan import Plan
    from pateval.leaderboards.tasks import Settings


def describe_run(
    plan: Plan, settings: Settings, collector: Collector, pool: WorkerPool, seconds: float
) -> dict[str, Any]:
    """Say what was run, with what."""
    failed, computed = len(collector.failed), int(collector.is_computed.sum())
    return {
        "inputs": [str(source) if not hasattr(source, "where") else source.where for source in plan.sources],
        "columns": [
            {
                "label": layout.label,
                "scores": list(layout.scores),
                "series": layout.series,
                "detector": layout.detector,
                "run": layout.run,
            }
            for layout in dict.fromkeys(plan.layouts)
        ],
        "reading": _reading(plan),
        "parameters": settings.parameters,
        "chance_draws": settings.draws,
        "event_draws": settings.event_draws,
        "event_metrics": list(settings.event_metrics),
        "doubt": {"amount": settings.doubt, "draws": settings.doubt_draws, "metrics": list(settings.doubt_metrics)}
        if settings.doubt
        else None,
        "seed": settings.seed,
        "code": settings.code,
        "versions": _versions(),
        "units": len(plan.jobs),
        "computed": computed,
        "from_cache": int(collector.is_done.sum()) - computed - failed,
        "failed": failed,
        "where": f"{pool.workers} processes" if pool.executor is None else type(pool.executor).__name__,
        "seconds": round(seconds, 3),
    }


def _reading(plan: Plan) -> dict[str, Any]:
    """Say how each input was read, so that it can be read again."""
    plain = [replace(layout, guessed="", notes=()) for layout in plan.layouts]
    known = {layout: number for number, layout in enumerate(dict.fromkeys(plain))}
    return {
        "directory": os.getcwd(),
        "layouts": [asdict(layout) for layout in known],
        "layout_of_input": [known[layout] for layout in plain],
    }


def _versions() -> dict[str, str]:
    from importlib import metadata

    packages = {"pateval": package_version()}
    for name in ("numpy", "scipy", "pyarrow", "distributed"):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return packages | {"python": platform.python_version(), "platform": platform.platform()}
