"""What all detectors share: settings that are checked when they are made, ``fit``, and one score per step."""

from __future__ import annotations

import ast
import dataclasses
import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np

from pateval.detectors.windows import Boundaries, FloatMatrix, Scaling, parts, series_matrix, standard_scaling

_FROM_ZERO = ("seed", "order_seed")
# Adam divides by the size of the gradient, so that a rate is about the length of a step: above 1 nothing can converge.
_RANGES: dict[str, tuple[str, float, float]] = {
    "learning_rate": ("above 0 and at most 1", 0.0, 1.0),
    "validation_share": ("above 0 and below 1", 0.0, math.nextafter(1.0, 0.0)),
    "share": ("above 0 and below 1", 0.0, math.nextafter(1.0, 0.0)),
    "floor": ("positive", 0.0, math.inf),
    "clip": ("positive", 0.0, math.inf),
    "temperature": ("positive", 0.0, math.inf),
    "weight_decay": ("zero or positive", -math.ulp(0.0), math.inf),
}


@dataclass(frozen=True, kw_only=True)
class CheckedSettings:
    """Settings that are checked when they are made, before anything is read or trained.

    Each field is checked by its annotation and, where it has a usual name, by its range: whole numbers must be
    positive, seeds may be zero, flags must be True or False, words must be among those listed. Where there is a field
    ``variant``, "paper" means as the PATE paper's table was made and "original" as the detector was published; a field
    that is None then takes the value of the variant, which stands in ``VARIANTS``.
    """

    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {}

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            kinds = str(field.type).split(" | ")
            value = getattr(self, field.name)
            if value is None and "None" in kinds:
                continue
            wanted = _wanted(field.name, kinds[0], value)
            if wanted:
                raise ValueError(f"{field.name} must be {wanted}; got {value!r}")

    def with_variant(self) -> Self:
        """Return the settings with the values of their variant in place of None."""
        values = self.VARIANTS.get(getattr(self, "variant", ""), {})
        return dataclasses.replace(
            self, **{name: value for name, value in values.items() if getattr(self, name) is None}
        )


def _wanted(name: str, kind: str, value: Any) -> str:
    """Say what a value should have been; nothing where it is right."""
    if kind == "bool":
        return "" if isinstance(value, bool) else "True or False"
    if kind == "int":
        least = 0 if name in _FROM_ZERO else 1
        right = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
        return "" if right else f"a whole number of at least {least}"
    if kind == "float":
        words, low, high = _RANGES.get(name, ("a finite number", -math.inf, math.inf))
        number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
        return "" if number and low < float(value) <= high else words
    if kind == "str":
        return "" if isinstance(value, str) else "text"
    if kind.startswith("Literal["):
        known = ast.literal_eval(f"({kind.removeprefix('Literal[').removesuffix(']')},)")
        return "" if value in known else f"one of {', '.join(map(repr, known))}"
    return ""


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(CheckedSettings):
    """What every network of the paper's table can be told."""

    window: int | None = None  # steps of a window
    batch_size: int | None = None  # windows per optimiser step
    epochs: int | None = None  # the most
    learning_rate: float = 1e-4  # of the optimiser, at the start
    seed: int = 0  # of the weights
    order_seed: int = 42  # of the order of the windows
    # How windows are shuffled: by NumPy's generator of today, or by its legacy one, as in the authors' program.
    order: Literal["generator", "legacy"] = "generator"
    float32_input: bool = False  # round series to float32 before and after scaling, as the authors' telemetry files are
    device: str | None = None  # "cpu", "cuda", ...; a GPU if there is one by default
    cuda_graph: bool = False  # replay the optimiser step as a CUDA graph; no effect on a CPU


@dataclass(frozen=True, kw_only=True)
class SelectingSettings(NetworkSettings):
    """What a network whose weights are chosen among those of its epochs can be told, too."""

    patience: int | None = None  # stop after so many epochs without better weights
    validation_share: float = 0.1  # of the training windows: the last ones of each series are held out to choose
    # What the validation loss is a mean of: all windows alike, or batches alike, as in the authors' program, where the
    # windows of a short last batch count more.
    validation_mean: Literal["windows", "batches"] = "windows"
    # Let the test series choose instead, as the authors did: the scores have then seen the test data.
    select_on_test: bool = False
    score_batch: int = 1024  # windows scored at a time: bounds the memory


class Detector:
    """``fit(train)``, then ``score(values)``.

    A detector that keeps to the steps of :meth:`fit` and :meth:`score` says what it learns from a scaled series and how
    it scores one; others have methods of their own.

    Parameters
    ----------
    settings : dataclass, optional
        Of the class ``Settings``; its defaults if not given.
    """

    Settings: ClassVar[type[Any]] = CheckedSettings
    settings: Any
    # Fewest steps of a series that can be scored.
    window = 1

    def __init__(self, settings: Any = None) -> None:
        self.settings = self.Settings() if settings is None else settings
        self._scaling: Scaling | None = None

    def fit(self, train: object, *, boundaries: Boundaries | None = None) -> Self:
        """Learn from a training series, finite numbers of shape (steps,) or (steps, features).

        ``boundaries`` are the steps at which each of several series laid end to end begins, 0 first; no window crosses
        one. None takes all steps for one series.
        """
        matrix = series_matrix(train, "train")
        scaling = self.scale(matrix)
        self.learn(scaling(matrix), boundaries)
        self._scaling = scaling
        return self

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        scaling = self.fitted(self._scaling)
        scaled = scaling(series_matrix(values, features=scaling.features))
        return np.concatenate([self.score_series(scaled[part]) for part in parts(len(scaled), boundaries, self.window)])

    def scale(self, matrix: FloatMatrix) -> Scaling:
        """Return what brings a training series, and later those to be scored, to zero mean and unit deviation."""
        return standard_scaling(matrix)

    def learn(self, scaled: FloatMatrix, boundaries: Boundaries | None) -> None:
        """Learn from a scaled training series; nothing by default."""

    def score_series(self, scaled: FloatMatrix) -> FloatMatrix:
        """Score one scaled series, a value per step."""
        raise NotImplementedError

    @staticmethod
    def fitted(state: Any) -> Any:
        """Return what ``fit`` has left, or say that it has not been called."""
        if state is None:
            raise RuntimeError("the detector is not fitted yet: call fit(train) before score(values)")
        return state
