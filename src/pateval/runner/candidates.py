"""Detectors to be run: from the registry, or a class of the user's own, found by ``package.module:Class``."""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pateval.detectors import adapter, make, settings_class

_WINDOWS = ("window", "standardize", "max_windows")
_SEEDS = ("random_state", "seed")


@dataclass(frozen=True)
class Candidate:
    """A detector to be run: how to make a fresh one, what it is called, how it is set."""

    name: str  # of the score file
    # Makes a detector that has not been fitted: fit(train) and score(values). It takes seed= where the settings have
    # one. To run in other processes it must be picklable: a function of a module, no lambda.
    build: Callable[..., Any] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)  # what made it, written to the file; plain values only

    @property
    def has_seed(self) -> bool:
        """Whether another seed gives another detector."""
        return "seed" in self.settings

    def with_seed(self, seed: int) -> Candidate:
        """Return the same detector with another seed."""
        return dataclasses.replace(
            self, build=functools.partial(self.build, seed=seed), settings={**self.settings, "seed": seed}
        )


def candidate(
    detector: str,
    *,
    name: str | None = None,
    seed: int | None = None,
    device: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Candidate:
    """Take a detector from the registry; ``name`` is that of the score file, the detector's by default.

    Seed and device are set where the detector has such a setting; ``settings`` are further ones by name. What is wrong
    with them, or not installed, is said here, before any data are read.

    Examples
    --------
    >>> candidate("random", seed=3).settings["seed"]
    3
    """
    known = settings_class(detector).__dataclass_fields__
    common = {"seed": seed, "device": device}
    chosen = dict(settings or {}) | {key: value for key, value in common.items() if value is not None and key in known}
    made = make(detector, **chosen)
    if chosen.get("device") is not None:
        from pateval.detectors.devices import choose_device

        choose_device(chosen["device"])
    return Candidate(name or detector, functools.partial(make, detector, **chosen), dataclasses.asdict(made.settings))


def read_setting(text: str, detectors: Sequence[str]) -> tuple[str | None, str, Any]:
    """Read ``KEY=VALUE`` or ``DETECTOR.KEY=VALUE``: the detector, None for all; the key; a Python literal, or text."""
    left, equals, right = text.partition("=")
    detector, dot, key = left.rpartition(".")
    if not equals or not (key if dot else left).isidentifier():
        raise ValueError(f"--set takes KEY=VALUE or DETECTOR.KEY=VALUE; got {text!r}")
    if dot and detector not in detectors:
        raise ValueError(f"--set {text}: {detector!r} is not among the detectors to run")
    try:
        value = ast.literal_eval(right)
    except (ValueError, SyntaxError):
        value = {"true": True, "false": False, "none": None}.get(right.lower(), right)
    return detector or None, key if dot else left, value


def user_candidate(
    path: str,
    *,
    higher_is_anomalous: bool | None = None,
    name: str | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Candidate:
    """Make a detector of a class that the user names, such as an estimator of scikit-learn or one of their own.

    Parameters
    ----------
    path : str
        ``package.module:Class``; a module in the current folder is found too.
    higher_is_anomalous : bool, optional
        What a high value of its ``decision_function`` or ``score_samples`` says. Of estimators of scikit-learn, PyOD
        and aeon it is known (`pateval.detectors.adapter.high_means`); of any other class it must be stated.
    name : str, optional
        Of the score file; the class's by default.
    seed : int, optional
        Given to the class as ``random_state`` or ``seed``, whichever its constructor takes.
    settings : mapping, optional
        Those that its constructor takes are given to it; ``window``, ``standardize`` and ``max_windows`` say what it is
        shown otherwise (see `pateval.detectors.adapter.AdapterSettings`).
    """
    chosen = dict(settings or {})
    user = _UserClass(path, chosen)
    if higher_is_anomalous is None:
        meaning = adapter.high_means(user.make())
        if meaning is None:
            raise ValueError(
                f"say what a high value of {user.name} means, which is known of scikit-learn's, PyOD's and aeon's "
                "detectors only: --higher-is-anomalous or --lower-is-anomalous"
            )
        higher_is_anomalous = meaning == "anomalous"
    build = functools.partial(make_user_detector, path, higher_is_anomalous, chosen)
    # Made once for nothing, so that what is wrong with it is said before any data are read.
    build()
    known = {"class": path, "source_digest": user.source_digest, "higher_is_anomalous": higher_is_anomalous}
    known |= {f"shown_{key}": value for key, value in user.shown().items()} | chosen
    if user.seed_parameter is not None:
        start = chosen.get(user.seed_parameter, 0) if seed is None else seed
        build, known = functools.partial(build, seed=start), {**known, "seed": start}
    return Candidate(name or user.name, build, known)


def make_user_detector(
    path: str, higher_is_anomalous: bool, settings: Mapping[str, Any], *, seed: int | None = None
) -> adapter.SeriesAdapter:
    """Return a detector made of a class; the parameters are those of `user_candidate`."""
    user = _UserClass(path, settings)
    shown = {"high_means": "anomalous" if higher_is_anomalous else "normal", **user.shown()}
    estimator = user.make(seed)
    if user.sees_whole_series:
        del shown["window"]
        return adapter.SeriesAdapter(estimator, adapter.SeriesAdapterSettings(**shown))
    return adapter.Adapter(estimator, adapter.AdapterSettings(**shown))


class _UserClass:
    """A class that was named by its path, ``package.module:Class``: what it takes, and what it is shown.

    A setting that neither the class nor the adapter knows is refused.
    """

    def __init__(self, path: str, settings: Mapping[str, Any]) -> None:
        module_name, colon, self.name = path.partition(":")
        if not colon or not self.name.isidentifier() or not all(part.isidentifier() for part in module_name.split(".")):
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
        if not hasattr(module, self.name):
            raise ValueError(f"the module {module_name!r} has no class {self.name!r}")
        self.kind: Any = getattr(module, self.name)
        if not inspect.isclass(self.kind) or not hasattr(self.kind, "fit"):
            raise TypeError(f"{path} is no class with fit and decision_function or score_samples")
        parameters = inspect.signature(self.kind).parameters.values()
        self._parameters = [
            parameter.name
            for parameter in parameters
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        ]
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        # A detector of aeon is shown the whole series, others windows of it.
        self.sees_whole_series = adapter.sees_whole_series(self.kind)
        of_adapter = ("standardize",) if self.sees_whole_series else _WINDOWS
        known = dict.fromkeys((*self._parameters, *of_adapter))
        unknown = [name for name in settings if name not in known and not takes_any]
        if unknown:
            raise ValueError(f"{self.name} has no setting {', '.join(unknown)}; it has {', '.join(known)}")
        self.seed_parameter = next((name for name in _SEEDS if name in self._parameters), None)
        self._of_adapter = {
            name: value for name, value in settings.items() if name in of_adapter and name not in self._parameters
        }
        self._of_class = {name: value for name, value in settings.items() if name not in self._of_adapter}

    @property
    def source_digest(self) -> str:
        """Short digest of the file the class is in: other code is another detector."""
        file = inspect.getsourcefile(self.kind)
        return "" if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]

    def shown(self) -> dict[str, Any]:
        """Say what the class is shown: windows of how many steps (None: the whole series), scaled or not, how many."""
        if self.sees_whole_series:
            return {"window": None, "standardize": adapter.SeriesAdapterSettings(**self._of_adapter).standardize}
        # A class that cuts its own windows is shown single steps.
        single = {"window": 1} if "window" in self._parameters else {}
        chosen = adapter.AdapterSettings(**{**self._of_adapter, **single})
        return {name: getattr(chosen, name) for name in _WINDOWS}

    def make(self, seed: int | None = None) -> Any:
        """Make an object of the class, with those settings that its constructor takes."""
        seeds = {} if seed is None or self.seed_parameter is None else {self.seed_parameter: seed}
        return self.kind(**{**self._of_class, **seeds})
