"""What the deep detectors share: to fit is to plan, then to train; several seeds may train side by side."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pateval.detectors.training import Epoch, Progress, Recipe, TrainingJob, TrainingRecord, cpu_threads, run_together

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pateval.detectors.windows import Boundaries


class DeepDetector:
    """A detector with a network.

    Parameters
    ----------
    settings : dataclass
        Those of the detector.

    Attributes
    ----------
    training_ : TrainingRecord or None
        What training did, and whether it collapsed; None before it.
    """

    # Whether the result depends so much on the number of threads that one alone must do the work.
    one_thread: ClassVar[bool] = False

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.training_: TrainingRecord | None = None

    @property
    def history_(self) -> tuple[Epoch, ...]:
        """The epochs of the training."""
        return () if self.training_ is None else self.training_.history

    @property
    def tile_steps(self) -> int | None:
        """Steps of the windows that are laid end to end in scoring; None where windows slide."""
        steps: int = self.settings.window
        return steps

    def plan(
        self,
        train: object,
        *,
        boundaries: Boundaries | None = None,
        test: object = None,
        test_boundaries: Boundaries | None = None,
    ) -> Recipe:
        """Build network, windows and optimiser step without training; the parameters are those of `fit`."""
        raise NotImplementedError

    def fit(
        self,
        train: object,
        *,
        boundaries: Boundaries | None = None,
        test: object = None,
        test_boundaries: Boundaries | None = None,
        progress: Progress | None = None,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Train on a series of normal behaviour.

        Parameters
        ----------
        train : array-like
            Shape (steps,) or (steps, features).
        boundaries : sequence of int, optional
            The step at which each of several series laid end to end begins, 0 first: no window crosses one, and the
            end of each series is held out where something is. None takes all steps for one series.
        test : array-like, optional
            Only with ``select_on_test=True``: chooses the weights.
        test_boundaries : sequence of int, optional
            Likewise for ``test``.
        progress : callable, optional
            Called with an :class:`~pateval.detectors.training.Epoch` after each epoch.
        checkpoint : path, optional
            State of the training; it goes on from there if the file exists.

        Returns
        -------
        detector
            Itself.

        Warns
        -----
        CollapsedTrainingWarning
            If the network learned nothing.
        """
        fit_together(
            [self],
            train,
            boundaries=boundaries,
            test=test,
            test_boundaries=test_boundaries,
            progress=[progress],
            checkpoints=[checkpoint],
        )
        return self


def fit_together(
    detectors: Sequence[DeepDetector],
    train: object,
    *,
    boundaries: Boundaries | None = None,
    test: object = None,
    test_boundaries: Boundaries | None = None,
    progress: Sequence[Progress | None] | None = None,
    checkpoints: Sequence[str | Path | None] | None = None,
) -> None:
    """Train several detectors of one kind, such as several seeds, on the same series: on a GPU side by side.

    Each ends as its own ``fit`` would leave it.

    Parameters
    ----------
    detectors : sequence of DeepDetector
        Not fitted yet.
    train, boundaries, test, test_boundaries
        As for `DeepDetector.fit`.
    progress, checkpoints : sequences, optional
        One for each detector.
    """
    count = len(detectors)
    data = {"boundaries": boundaries, "test": test, "test_boundaries": test_boundaries}
    with cpu_threads(1 if any(detector.one_thread for detector in detectors) else None):
        jobs = [
            TrainingJob(
                detector.plan(train, **data),  # type: ignore[arg-type]  # the mapping mixes the types of three parameters
                shown,
                checkpoint,
                settings=(dataclasses.asdict(detector.settings), boundaries, test_boundaries),
                graph=getattr(detector.settings, "cuda_graph", False),
            )
            for detector, shown, checkpoint in zip(
                detectors, progress or [None] * count, checkpoints or [None] * count, strict=True
            )
        ]
        for detector, record in zip(detectors, run_together(jobs), strict=True):
            detector.training_ = record
