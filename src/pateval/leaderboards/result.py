"""The leaderboard: all values with their reasons, and how they are shown, kept, and added to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.evaluation.explanation import BoardKinds
from pateval.evaluation.files import kinds_of_detectors
from pateval.io import Reading, TableError
from pateval.io.atomic import as_csv, write_csv, write_parquet
from pateval.io.content import has_arrow
from pateval.io.plan import saved_plan
from pateval.leaderboards import board_files, render
from pateval.leaderboards.arrays import table_of
from pateval.leaderboards.render import lead_of, one_liner_dict
from pateval.leaderboards.significance import known_detector
from pateval.leaderboards.tables import BoardValues
from pateval.output.results import build_frame, choose_backend, columns_of_records
from pateval.output.text_table import TERMINAL_WIDTH, plain

if TYPE_CHECKING:
    from pateval.report import Written

POOLED = "pooled"
"""What stands in place of a series where all series are one sample."""


@dataclass(frozen=True, repr=False)
class Leaderboard(BoardValues):
    """Detectors x series x metrics, with reasons for what is undefined.

    Attributes
    ----------
    detectors, series, metrics : tuple of str
        The three axes, in the order of the input.
    values : ndarray
        Detectors by series by metrics; NaN where undefined, failed or absent. Of several runs the mean of those that
        have a value: a series counts once, however often a detector was run on it.
    runs : RunTable or None
        The values of every run, where there is a column of runs.
    doubt : LabelDoubt or None
        What moving the edges of events does to means and places, where labels are in doubt.
    rank_by : str
        The metric that orders the detectors: `pate_ap` where it is there, else the first one, unless another was named.
    signatures : mapping of str to str
        Of each metric, everything that decided its values on one series, in one line; `pateval.parse_signature` reads
        it.
    own_signatures : mapping of str to mapping
        The same for detectors with a threshold of their own, or with scores of 0 and 1, by their names.
    measures : Measures or None
        What was computed; None where the values were computed elsewhere.
    pooled : int
        How many series were taken for one sample; 0 where values are those of single series.
    coverage : ndarray or None
        Detectors, or their runs, by series: share of the steps that have a score, where some may be missing.
    coarse : tuple of str
        Detectors whose scores are coarse on most series: `pate` flatters them, `pate_ap` does not.
    notes : tuple of str
        What was guessed or put together in reading.
    warnings : tuple of str
        What stands against reading too much into the numbers.
    checks : tuple of BoardCheck
        The same with a code and a remedy each, as far as they are about the numbers.
    failures : tuple of str
        Files and series that could not be evaluated, one line each.
    run : dict
        What was run: versions, parameters, inputs, counts.
    jobs : mapping of str to list
        For each detector, series and run: steps, digests of what its values were computed from, what was left out, and
        how long it took.
    series_table : mapping of str to list
        What all detectors of a series have in common: digests of labels and times, left-out steps, and how events lie.
    plan : Plan or None
        Where those are, for a report that shows them.
    one_liners : Leaderboard or None
        The same of what needs no training, such as a constant and rules of one line (see `leaderboard`); these are in
        no rank and no test of the board.
    control : str
        The detector that the others are compared with where the board is shown (see `against`); empty where every two
        are compared. Saved tables compare every two.
    """

    def against(self, control: str) -> Leaderboard:
        """Return the same board shown as one detector against the others: in tables, letters, figure and report.

        Raises
        ------
        ValueError
            If there is no such detector, or no test over series.
        """
        self._require_series()
        return replace(self, control=known_detector(control, self.detectors))

    def by_kind(self, by: str = "length") -> BoardKinds:
        """Judge the detectors on each kind of event as if there were no others, under the metric that ranks.

        Parameters
        ----------
        by : {"length", "class"}
            The shortest, the middle and the longest third of all events, or those of each class of labels.

        Raises
        ------
        ValueError
            If the labels and scores of single series are not at hand, or labels have no classes.
        """
        if self.measures is None or self.pooled:
            what = "values that were computed elsewhere" if self.measures is None else "one sample of all series"
            raise ValueError(f"kinds of events need labels and scores of each series; this board holds {what}")
        plan = self.plan if self.plan is not None else saved_plan(self.run)[0]
        if plan is None:
            raise TableError("kinds of events are judged on the inputs of the board, which are gone; compute it again")
        ranking = replace(self.measures, metrics=(self.measures.by_id[self.rank_by],))
        rows = kinds_of_detectors(plan, ranking, by, self.best_first(self.rank_by))
        return BoardKinds(self.label(self.rank_by), by, rows)

    def overview(self) -> render.Overview:
        """Return the table for people: one row per detector, the best under `rank_by` first, and remarks on it."""
        return render.make_overview(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the scores as a data frame.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        chosen = choose_backend(backend)
        if chosen != "pyarrow" and not has_arrow():
            parts = list(self.score_parts())
            return build_frame(
                {name: np.concatenate([part[name] for part in parts]).tolist() for name in parts[0]}, chosen
            )
        if chosen == "polars":
            import polars

            return polars.from_arrow(self.scores)
        return self.scores.to_pandas() if chosen == "pandas" else self.scores

    def to_pandas(self) -> Any:
        """Return the scores as a pandas data frame."""
        return self.to_frame("pandas")

    def to_polars(self) -> Any:
        """Return the scores as a polars data frame."""
        return self.to_frame("polars")

    def to_dict(self) -> dict[str, Any]:
        """Return summary, tests of `rank_by`, warnings, failures and notes as plain lists and numbers."""
        tests = None if self.pooled else self.significance()
        lead = None if tests is None else lead_of(self, tests)
        said: dict[str, Any] = {
            "rank_by": self.rank_by,
            "signatures": dict(self.signatures),
            "summary": self.summary_rows,
            **({} if tests is None else {"significance": tests.to_dict()}),
            **({} if lead is None else {"power": lead.to_dict()}),
            **({} if self.one_liners is None else {"one_liners": one_liner_dict(self)}),
            **({} if self.doubt is None else {"doubt": self.doubt.to_dict()}),
        }
        said |= {name: getattr(self, name) for name in ("warnings", "failures", "notes")}
        return plain(said)

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)

    def rendered(self, style: str, width: int | None = TERMINAL_WIDTH) -> str:
        """Return the overview for people, summary or everything for programs, in a format of the command line."""
        if style == "json":
            return self.to_json()
        if style == "csv":
            table = self.summary() if has_arrow() else columns_of_records(self._summary())
            return as_csv(table).removesuffix("\n")
        if style == "table":
            return render.text(self.overview(), width)
        return self.to_latex() if style == "latex" else render.as_markdown(self.overview())

    def to_latex(
        self,
        *,
        metrics: Sequence[str] | None = None,
        names: Mapping[str, str] | None = None,
        caption: str | None = None,
        label: str = "",
    ) -> str:
        r"""Return a table for a paper, for the package booktabs: detectors, best first, by metrics.

        The best of a column is bold, the second underlined; limits or standard deviations stand behind every mean, what
        random scores and rules without training reach in the last rows. A star marks what is not above chance, letters
        who is not told apart.

        Parameters
        ----------
        metrics : sequence of str, optional
            Which of the metrics computed; by default those of the overview.
        names : mapping of str to str, optional
            What to call detectors and metrics, as in ``{"lstm_v2": "LSTM", "pate_ap": "PATE-AP"}``.
        caption : str, optional
            Its first sentence, without a full stop. What marks mean, and the signatures, follow it.
        label : str
            For references, such as ``"tab:main"``.

        Examples
        --------
        >>> import pateval as pv
        >>> data = {"label": [0, 1, 0, 0], "a": [0.1, 0.9, 0.2, 0.1], "b": [0.5, 0.2, 0.1, 0.9]}
        >>> board = pv.leaderboard(data, metrics="auc_roc", chance=0, event_draws=0)
        >>> print(board.to_latex(names={"a": "LSTM"}).splitlines()[8])
        LSTM & \textbf{1.00} & \textbf{1.000}\textsuperscript{a} \\
        """
        chosen = None if metrics is None else [self._id(metric) for metric in metrics]
        return render.as_latex(self, chosen, names, caption, label)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the scores as CSV."""
        write_csv(self.score_parts(), path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the scores as Parquet."""
        write_parquet(self.score_parts(), path)

    def to_report(
        self,
        path: str | os.PathLike[str],
        *,
        budget: float = 25.0,
        title: str = "Leaderboard",
        by: str | None = None,
    ) -> Written:
        """Write the report: an HTML page in which every number can be opened up to the events behind it.

        Parameters
        ----------
        path : path
            A file, or a folder where it ends in a slash or is one already. A folder gets a data file per series, so
            that a board of any size can be opened from a disk.
        budget : float
            Megabytes that a single file may have; timelines that do not fit are left out, the least telling first.
        title : str
            What to call it.
        by : {"length", "class"}, optional
            Also show each kind of event by itself, as `by_kind` does.

        Returns
        -------
        pateval.report.Written
            Where it is, how large, and what was left out.
        """
        from pateval.report import report_of_board

        return report_of_board(self, path, budget=budget, title=title, by=by)

    to_html = to_report

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Leaderboard:
        """Read what `save` wrote.

        Parameters
        ----------
        folder : path
            The folder of a leaderboard.

        Raises
        ------
        TableError
            If it holds no leaderboard, one of another release, or one that was not written whole; the sentence says
            what to do.
        """
        return board_files.load(folder)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write everything into a folder, each file whole or not at all.

        A folder that holds a leaderboard with other options, or with metrics or rows that this one lacks, is refused
        unless it is to be overwritten.

        ``scores.parquet``, ``scores.csv``, ``summary.csv``, ``ranks.csv``, ``significance.json``, ``agreement.csv``,
        ``timings.csv``, ``contents.csv`` (a digest of what each value was computed from) and ``run.json``. The scores
        hold no times, so equal results are equal bytes. Where chance was computed also ``chance.parquet``, with its
        level on each series. Where labels are in doubt also ``doubt.csv``, and ``doubt.parquet`` with the values of
        every draw. ``run.json`` is written last, with a digest of every file.
        """
        board_files.save(self, folder, overwrite=overwrite)

    def add(
        self,
        data: object,
        *,
        metrics: Any = None,
        overwrite: bool = False,
        executor: Executor | None = None,
        workers: int | None = None,
        cache: str | os.PathLike[str] | None = None,
        keep_going: bool = False,
        progress: Any = None,
        **columns: Any,
    ) -> Leaderboard:
        """Return the board with more detectors, series or runs, computed as this one was, from their own files alone.

        It is the board that all files give at once, whoever was added first. Labels, steps to ignore and, where values
        hang on them, times must be those that this board was made with. Where steps without a score are left out for
        all detectors, one that is added may lack no other scores than those.

        Parameters
        ----------
        data : path, frame, mapping, or a collection of them
            What is new, as for `pateval.leaderboard`.
        metrics : str, Metric, function, or iterable of these, optional
            Metrics that the board lacks, computed of all that it has: ``data`` are then the files it was made from.
        overwrite : bool
            Replace what is there already: a detector on a series, in a run. It is refused otherwise.
        executor, workers, cache, keep_going, progress
            As for `pateval.leaderboard`.
        **columns
            How to read the data: ``label``, ``score``, ``series``, ``time`` and so on, as for `pateval.leaderboard`.

        Raises
        ------
        TableError
            If what is new does not go with the board; the sentence says why, and what to do.

        Examples
        --------
        >>> import pateval as pv
        >>> labels = [0, 1, 0, 0]
        >>> board = pv.leaderboard({"label": labels, "a": [0.1, 0.9, 0.2, 0.1], "b": [0.5, 0.2, 0.1, 0.9]}, chance=0)
        >>> board.add({"label": labels, "c": [0.1, 0.2, 0.8, 0.1]}, score="c").detectors
        ('a', 'b', 'c')
        """
        from pateval.leaderboards.growth import add

        work = {"executor": executor, "workers": workers, "keep_going": keep_going, "progress": progress}
        reading = Reading(**{"label": "label", "score": "score", "defaults": True, **columns})
        return add(self, data, reading, metrics=metrics, overwrite=overwrite, cache=cache, **work)

    def merge(self, other: Leaderboard, *, overwrite: bool = False) -> Leaderboard:
        """Return the board that the files of both give at once.

        Parameters
        ----------
        other : Leaderboard
            Computed with the same options, on the same labels where series are in both.
        overwrite : bool
            Take what both have from the other; it is refused otherwise.
        """
        from pateval.leaderboards.growth import merge

        return merge(self, other, overwrite=overwrite)

    def timing_table(self) -> Any:
        """Return how long each job took (pyarrow Table)."""
        return self._of_jobs("detector", "series", "run", "steps", "seconds", "cached")

    def content_table(self) -> Any:
        """Return the digest of what each detector's values on each series were computed from (pyarrow Table)."""
        return self._of_jobs("detector", "series", "run", "digest")

    @cached_property
    def digests(self) -> dict[tuple[str, str, str], str]:
        """The digests of `content_table` by detector, series and run (empty where there are none)."""
        jobs = self.jobs
        runs = jobs.get("run") or [""] * len(jobs.get("detector", ()))
        rows = zip(*(jobs.get(name, ()) for name in ("detector", "series")), runs, jobs.get("digest", ()), strict=False)
        return {(detector, series, run): digest for detector, series, run, digest in rows if digest}

    def _of_jobs(self, *names: str) -> Any:
        """Some columns of the jobs that have the last of them (pyarrow Table)."""
        jobs = self.jobs
        if names[-1] not in jobs:
            return table_of({name: [] for name in names if name != "run"})
        is_there = [cell is not None for cell in jobs[names[-1]]]
        return table_of({name: list(compress(jobs[name], is_there)) for name in names if name in jobs})

    def _repr_html_(self) -> str:
        return render.as_html(self.overview(), (*self.failures, *self.warnings))

    def __repr__(self) -> str:
        return render.text(self.overview())
