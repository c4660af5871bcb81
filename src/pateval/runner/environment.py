"""What made the scores: version and commit of pateval, versions of the libraries, the device."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@functools.cache
def pateval_version() -> dict[str, Any]:
    """Return ``version`` and, where the package runs from a checkout, ``commit`` (with ``+`` if it was changed).

    A copy of a checkout without its history can be told the commit by the environment variable ``PATEVAL_COMMIT``.
    """
    # Not from the installed package's metadata, which a checkout on the path does not have.
    package = sys.modules["pateval"]
    return {"version": package.__version__, "commit": _commit(Path(str(package.__file__)).parents[2])}


def _commit(checkout: Path) -> str | None:
    if not (checkout / ".git").exists():
        return os.environ.get("PATEVAL_COMMIT") or None
    try:
        commit, changes = (
            subprocess.run(
                ["git", "-C", str(checkout), *command],  # noqa: S607 - the user's own git
                capture_output=True,
                text=True,
                check=True,
                timeout=20,
            ).stdout.strip()
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no", "--", "src"])
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}+" if changes else commit


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that are loaded."""
    found = {"python": platform.python_version()}
    for package, module in (("numpy", "numpy"), ("scikit-learn", "sklearn"), ("torch", "torch")):
        if module in sys.modules:
            found[package] = importlib.metadata.version(package)
    return found


def device_of(settings: Mapping[str, Any]) -> str:
    """Return the device a detector with these settings runs on."""
    if settings.get("device"):
        return str(settings["device"])
    torch = sys.modules.get("torch")
    return "cuda" if "device" in settings and torch is not None and torch.cuda.is_available() else "cpu"
