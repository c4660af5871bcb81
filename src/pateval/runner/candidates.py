"""Detectors to be run: from the registry, or a class of the user's own."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pateval.detectors import REGISTRY, make, settings_class
from pateval.detectors.user_classes import UserClass, high_is_anomalous, make_user_detector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Candidate:
    """A detector to be run: how to make a fresh one, what it is called, how it is set.

    Attributes
    ----------
    name : str
        Names the score file.
    build : callable
        Makes a detector that has not been fitted: ``fit(train)`` and ``score(values)``. It takes ``seed=`` where the
        settings have one. To run in other processes it must be picklable: a function of a module, no lambda.
    settings : mapping
        What made it, written to the file; plain values only.
    """

    name: str
    build: Callable[..., Any] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)

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
    """Take a detector from the registry.

    Parameters
    ----------
    detector : str
        Its name there.
    name : str, optional
        Of the score file; the detector's by default.
    seed, device : optional
        Set where the detector has such a setting; its own default otherwise.
    settings : mapping, optional
        Further settings by name.

    Returns
    -------
    Candidate

    Raises
    ------
    ValueError
        If there is no such detector or setting, a setting is wrong, or there is no such device.
    ImportError
        If the extra it needs is not installed.

    Examples
    --------
    >>> candidate("random", seed=3).settings["seed"]
    3
    """
    if detector not in REGISTRY:
        raise ValueError(f"unknown detector {detector!r}; there are {', '.join(REGISTRY)}")
    chosen = dict(settings or {})
    fields = {field.name for field in dataclasses.fields(settings_class(detector))}
    common = {"seed": seed, "device": device}
    chosen |= {key: value for key, value in common.items() if value is not None and key in fields}
    made = make(detector, **chosen)
    if chosen.get("device") is not None:
        from pateval.detectors.training import choose_device

        choose_device(chosen["device"])
    return Candidate(name or detector, functools.partial(make, detector, **chosen), dataclasses.asdict(made.settings))


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
        and aeon it is known: scikit-learn's outlier detectors give high values to normal data, the others to
        anomalies. Of any other class it must be stated.
    name : str, optional
        Of the score file; the class's by default.
    seed : int, optional
        Given to the class as ``random_state`` or ``seed``, whichever its constructor takes.
    settings : mapping, optional
        Those that its constructor takes are given to it; ``window``, ``standardize`` and ``max_windows`` say what it is
        shown otherwise (see `pateval.detectors.adapter.AdapterSettings`).

    Returns
    -------
    Candidate

    Raises
    ------
    ValueError
        If there is no such class, a setting is not known, or the direction is neither known nor stated.
    TypeError
        If the class lacks the methods.
    """
    found = UserClass.find(path)
    chosen = found.checked(settings or {})
    if higher_is_anomalous is None:
        higher_is_anomalous = high_is_anomalous(found, chosen)
    if higher_is_anomalous is None:
        raise ValueError(
            f"say what a high value of {found.name} means, which is known of scikit-learn's, PyOD's and aeon's "
            "detectors only: --higher-is-anomalous or --lower-is-anomalous"
        )
    build = functools.partial(make_user_detector, path, higher_is_anomalous, chosen)
    # Made once for nothing, so that what is wrong with it is said before any data are read.
    build()
    known: dict[str, Any] = {
        "class": path,
        "source_digest": found.source_digest,
        "higher_is_anomalous": higher_is_anomalous,
        **found.shown_windows(chosen),
        **chosen,
    }
    made = Candidate(name or found.name, build, known)
    if found.seed_parameter is None:
        return made
    start = chosen.get(found.seed_parameter, 0) if seed is None else seed
    return Candidate(made.name, functools.partial(build, seed=start), {**known, "seed": start})
