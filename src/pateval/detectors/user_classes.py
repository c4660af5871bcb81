"""Classes of the user's own as detectors, found by ``package.module:Class``."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pateval.detectors.adapter import Adapter, AdapterSettings
from pateval.detectors.estimator_kinds import Meaning, high_means, sees_whole_series
from pateval.detectors.series_adapter import SeriesAdapter, SeriesAdapterSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

_WINDOWS = ("window", "standardize", "max_windows")
_SEEDS = ("random_state", "seed")


@dataclass(frozen=True)
class UserClass:
    """A class that was named by its path.

    Attributes
    ----------
    path : str
        ``package.module:Class``.
    kind : type
        The class itself.
    parameters : tuple of str
        What its constructor takes by name.
    takes_any : bool
        Whether its constructor takes further names (``**kwargs``).
    """

    path: str
    kind: type[Any]
    parameters: tuple[str, ...]
    takes_any: bool

    @classmethod
    def find(cls, path: str) -> UserClass:
        """Import the module and find the class.

        Raises
        ------
        ValueError
            If the path is not of the form ``package.module:Class``, or nothing is there.
        TypeError
            If what is there is no class with ``fit`` and ``decision_function`` or ``score_samples``.
        """
        module_name, colon, name = path.partition(":")
        if not colon or not name.isidentifier() or not all(part.isidentifier() for part in module_name.split(".")):
            raise ValueError(f"a detector of your own is named package.module:Class; got {path!r}")
        # The installed command starts with its own folder on the path, not with the one it was called in.
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name != module_name and not module_name.startswith(f"{error.name}."):
                raise
            raise ValueError(f"there is no module {module_name!r}, neither installed nor in {os.getcwd()}") from error
        kind = getattr(module, name, None)
        if kind is None:
            raise ValueError(f"the module {module_name!r} has no class {name!r}")
        if not inspect.isclass(kind) or not hasattr(kind, "fit"):
            raise TypeError(f"{path} is no class with fit and decision_function or score_samples")
        parameters = inspect.signature(kind).parameters.values()
        named = tuple(
            parameter.name
            for parameter in parameters
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        )
        return cls(path, kind, named, any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters))

    @property
    def name(self) -> str:
        """Name of the class."""
        return self.path.partition(":")[2]

    @property
    def seed_parameter(self) -> str | None:
        """The parameter of the constructor that seeds it, if there is one."""
        return next((name for name in _SEEDS if name in self.parameters), None)

    @property
    def source_digest(self) -> str:
        """Short digest of the file the class is in: other code is another detector."""
        file = inspect.getsourcefile(self.kind)
        return "" if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]

    @property
    def shown_settings(self) -> tuple[str, ...]:
        """Settings of what the class is shown: a detector of aeon sees the whole series, others see windows."""
        return ("standardize",) if sees_whole_series(self.kind) else _WINDOWS

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings, or raise ValueError where neither the class nor the adapter knows one."""
        known_names = (*self.parameters, *self.shown_settings)
        unknown = [name for name in settings if name not in known_names and not self.takes_any]
        if unknown:
            known = ", ".join(dict.fromkeys(known_names))
            raise ValueError(f"{self.name} has no setting {', '.join(unknown)}; it has {known}")
        return dict(settings)

    def shown_windows(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Say what the class is shown: windows of how many steps, scaled or not, how many at most in training.

        For a class that is shown the whole series the window is None.
        """
        mine = {
            name: value
            for name, value in settings.items()
            if name in self.shown_settings and name not in self.parameters
        }
        if sees_whole_series(self.kind):
            return {"shown_window": None, "shown_standardize": SeriesAdapterSettings(**mine).standardize}
        if "window" in self.parameters:
            # A class that cuts its own windows is shown single steps.
            mine["window"] = 1
        chosen = AdapterSettings(**mine)
        return {f"shown_{name}": getattr(chosen, name) for name in _WINDOWS}


def make_user_estimator(found: UserClass, settings: Mapping[str, Any], *, seed: int | None = None) -> Any:
    """Make an object of a class, with those settings that its constructor takes."""
    mine = {
        name: value
        for name, value in settings.items()
        if name in found.parameters or (found.takes_any and name not in found.shown_settings)
    }
    if seed is not None and found.seed_parameter is not None:
        mine[found.seed_parameter] = seed
    return found.kind(**mine)


def make_user_detector(
    path: str, higher_is_anomalous: bool, settings: Mapping[str, Any], *, seed: int | None = None
) -> Adapter | SeriesAdapter:
    """Return a detector made of a class; the parameters are those of `pateval.runner.user_candidate`.

    Raises
    ------
    TypeError
        If the class lacks ``decision_function`` and ``score_samples`` and is none of aeon.
    """
    found = UserClass.find(path)
    estimator = make_user_estimator(found, settings, seed=seed)
    meaning: Meaning = "anomalous" if higher_is_anomalous else "normal"
    shown = {name.removeprefix("shown_"): value for name, value in found.shown_windows(settings).items()}
    if shown["window"] is None:
        return SeriesAdapter(estimator, SeriesAdapterSettings(high_means=meaning, standardize=shown["standardize"]))
    return Adapter(estimator, AdapterSettings(high_means=meaning, **shown))


def high_is_anomalous(found: UserClass, settings: Mapping[str, Any]) -> bool | None:
    """Say whether high values of a class are anomalous, or None where it is of no library that tells."""
    meaning = high_means(make_user_estimator(found, settings))
    return None if meaning is None else meaning == "anomalous"
