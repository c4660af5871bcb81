"""The gate that a change must pass: whether a new detector is not worse than the base, or better, beyond luck.

A detector is *not worse* if its difference to the base is above ``-margin`` beyond luck, and *better* if it is above 0
beyond luck. Differences are paired, over series, or over pieces around the events of one series. The test is exact: if
the two detectors were exchangeable, each difference could as well have the other sign, and all signs are counted.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from pateval.alarms.judgement import AlarmJudgement, found_by_one_only
from pateval.alarms.lists import judge_alarm_files
from pateval.catalog import find_metrics
from pateval.catalog.metric import Metric
from pateval.evaluation.files import ScoredFiles
from pateval.evaluation.measures import Measures
from pateval.evaluation.pieces import Pieces, cut
from pateval.evaluation.values import values_of, with_predictions
from pateval.io import NoRowsError, Reading, TableError, read_table
from pateval.io.plan import make_plan
from pateval.leaderboards import Leaderboard
from pateval.output.results import Rows, TableResult, columns_of_records
from pateval.output.text_table import plain
from pateval.time.timelines import Recording, leave_out_for_all
from pateval.validation.arrays import FloatArray
from pateval.validation.wording import in_words, listed

REQUIRE = ("not-worse", "better")
MetricPair = tuple[Metric, FloatArray, FloatArray]  # values of base and new under a metric
_GRID = 1 << 16  # places of the grid on which sums of differences are counted, about


@dataclass(frozen=True)
class GateEvidence:
    """What the data say about one quantity of a new detector against the base."""

    measure: str
    base: float
    new: float
    difference: float  # how much better the new one is
    margin: float  # how much worse it may be
    units: int  # series, pieces or incidents that the difference goes over; alarms for a rate
    not_worse: float  # p-values of the two one-sided tests: small ones speak for the new detector
    better: float
    # How likely the gate lets pass a detector that is as good as the base (not-worse), or better by the margin
    # (better), if differences vary as they do here; NaN where that is not known.
    power: float = math.nan
    identical: bool = False  # whether both gave the same everywhere

    def passes(self, require: str, alpha: float) -> bool:
        """Whether the evidence suffices."""
        if require == "better":
            return self.better <= alpha
        return self.identical or self.not_worse <= alpha


@dataclass(frozen=True, repr=False)
class GateResult(TableResult):
    """Whether a new detector may take the place of the base; prints as a sentence and a table.

    Attributes
    ----------
    passed : bool
        Whether it may.
    require : {"not-worse", "better"}
        What was asked.
    alpha : float
        Level of this look.
    look : int or None
        Which look of the ledger this is.
    evidence : tuple of GateEvidence
        One per quantity.
    """

    passed: bool
    require: str
    alpha: float
    look: int | None
    evidence: tuple[GateEvidence, ...]

    def sentence(self) -> str:
        """What was decided, and why."""
        words = self.require.replace("-", " ")
        stopped = "may be worse" if self.require == "not-worse" else "is not shown to be better"
        verdict = f"passed: the new one is {words}" if self.passed else f"stopped: the new one {stopped}"
        reasons = []
        for row in self.evidence:
            p_value = row.better if self.require == "better" else row.not_worse
            how = "the same everywhere" if row.identical else f"{row.difference:+.4f} on {row.units:,}, p {p_value:.3g}"
            reasons.append(f"{row.measure} {how}")
        level = f"{self.alpha:.3g}" + ("" if self.look is None else f", look {self.look} of its ledger")
        return f"{verdict} ({'; '.join(reasons)}, at {level})"

    def columns(self) -> dict[str, Any]:
        """Return a row per quantity."""
        return columns_of_records([vars(row) for row in self.evidence])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can carry."""
        decided = {name: getattr(self, name) for name in ("passed", "require", "alpha", "look")}
        return plain({**decided, "sentence": self.sentence(), "evidence": self.row_dicts()})

    def table(self) -> Rows:
        """Columns and rows for people."""
        columns = ["measure", "base", "new", "difference", "margin", "over", "p not worse", "p better", "power"]
        return columns, [
            [
                row.measure,
                *(f"{row.base:.4f}", f"{row.new:.4f}", f"{row.difference:+.4f}"),
                *(f"{row.margin:g}", f"{row.units:,}", f"{row.not_worse:.3g}", f"{row.better:.3g}"),
                "-" if math.isnan(row.power) else f"{row.power:.0%}",
            ]
            for row in self.evidence
        ]

    def remarks(self) -> list[str]:
        """The sentence."""
        return [self.sentence()]


def sign_flip_p_value(differences: FloatArray) -> float:
    """Exact one-sided test that paired differences are positive: the share of all sign patterns with as large a sum.

    Differences are rounded to a fine grid, the same for all patterns, so that patterns can be counted.
    """
    largest = float(np.abs(differences).max(initial=0))
    if not largest:
        return 1.0
    levels = 1 << max(6, (_GRID // differences.size).bit_length() - 1)
    steps = np.rint(differences / largest * levels).astype(np.int64)
    # Sum over the positive ones: each size is in it or not, half and half.
    share = np.ones(1)
    for size in np.abs(steps[steps != 0]).tolist():
        without, within = np.append(share, np.zeros(size)), np.append(np.zeros(size), share)
        share = (without + within) / 2
    return float(min(1.0, share[int(steps[steps > 0].sum()) :].sum()))


def paired_evidence(
    measure: str, base: FloatArray, new: FloatArray, *, margin: float, alpha: float, sign: int = 1
) -> GateEvidence:
    """Evidence of paired values, one per series or piece; ``sign`` is -1 where lower is better."""
    is_defined = ~(np.isnan(base) | np.isnan(new))
    base, new = base[is_defined], new[is_defined]
    if not base.size:
        raise ValueError(f"{measure} is defined for both detectors on no series or piece: there is nothing to compare")
    differences = sign * (new - base)
    return GateEvidence(
        measure,
        float(base.mean()),
        float(new.mean()),
        float(differences.mean()),
        margin,
        int(base.size),
        sign_flip_p_value(differences + margin),
        sign_flip_p_value(differences),
        _power(differences, margin, alpha),
        identical=bool((differences == 0).all()),
    )


def _power(differences: FloatArray, effect: float, alpha: float) -> float:
    """Power of the paired t-test, which the exact test follows, to see a shift by an effect."""
    size = differences.size
    if 0.5**size > alpha:
        return 0.0
    deviation = float(differences.std(ddof=1))
    if not deviation:
        return 1.0
    from scipy.stats import nct, t

    return float(nct.sf(t.isf(alpha, size - 1), size - 1, effect * math.sqrt(size) / deviation))


def alarm_evidence(
    base: AlarmJudgement, new: AlarmJudgement, *, margin_missed: float, margin_false: float
) -> list[GateEvidence]:
    """Evidence of two judgements on the same incidents and observed time: of incidents found, and of false alarms.

    The margins are shares of the incidents, and of the false alarms of the base. The tests are Tango's and McNemar's of
    paired shares, and the exact binomial test of the new one's share of all false alarms.
    """
    from scipy.stats import binom

    gained, lost = found_by_one_only(new, base)
    total, ratio = new.false + base.false, 1 + margin_false
    pairs = zip(base.parts, new.parts, strict=True)
    identical = all(np.array_equal(one.alarms, other.alarms) for one, other in pairs)
    return [
        GateEvidence(
            "incidents found",
            base.recall,
            new.recall,
            new.recall - base.recall,
            margin_missed,
            base.incidents,
            _paired_share_p_value(gained, lost, base.incidents, margin_missed),
            float(binom.sf(gained - 1, gained + lost, 0.5)),
            identical=identical,
        ),
        GateEvidence(
            f"false alarms per {base.clock.rate_words}",
            base.false_rate,
            new.false_rate,
            base.false_rate - new.false_rate,
            margin_false,
            total,
            float(binom.cdf(new.false, total, ratio / (1 + ratio))),
            float(binom.cdf(new.false, total, 0.5)),
            identical=identical,
        ),
    ]


def _paired_share_p_value(gained: int, lost: int, pairs: int, margin: float) -> float:
    """Tango's score test that a paired share is not lower by the margin (Statistics in Medicine 17, 1998).

    Examples
    --------
    >>> round(_paired_share_p_value(0, 0, 100, 0.05), 4), _paired_share_p_value(0, 0, 0, 0.05)
    (0.0109, 1.0)
    """
    if not pairs or (not margin and not gained + lost):
        return 1.0
    linear = -gained - lost - (2 * pairs - gained + lost) * margin
    constant = lost * margin * (margin + 1)
    share = (math.sqrt(linear**2 - 8 * pairs * constant) - linear) / (4 * pairs)
    variance = pairs * (2 * share - margin * (margin + 1))
    return float(NormalDist().cdf(-(gained - lost + pairs * margin) / math.sqrt(variance)))


def decide(evidence: Sequence[GateEvidence], require: str, alpha: float, ledger: Ledger | None = None) -> GateResult:
    """Decide on several quantities: all must be not worse; to be better, one of them must be better, too."""
    level = alpha if ledger is None else ledger.level(alpha)
    look = None if ledger is None else ledger.look
    if require == "better" and len(evidence) > 1:
        passed = all(quantity.passes("not-worse", level) for quantity in evidence)
        passed = passed and any(quantity.passes("better", level / len(evidence)) for quantity in evidence)
    else:
        passed = all(quantity.passes(require, level) for quantity in evidence)
    return GateResult(passed, require, level, look, tuple(evidence))


@dataclass(frozen=True)
class Ledger:
    """A file that keeps every look at a gate, so that a search of many variants does not pass by luck.

    The k-th look gets a share of 6 / (pi k)**2 of alpha, whatever the data: all looks together spend alpha.
    """

    path: Path
    looks: int

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Read a ledger; one that is not there yet has no looks."""
        file = Path(path)
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        for number, line in enumerate(lines, start=1):
            try:
                is_look = json.loads(line)["look"] == number
            except (ValueError, TypeError, KeyError):
                is_look = False
            if not is_look:
                raise ValueError(f"{file}: line {number} is not look {number} of a ledger; take another file")
        return cls(file, len(lines))

    @property
    def look(self) -> int:
        """Number of the look that comes next."""
        return self.looks + 1

    def level(self, alpha: float) -> float:
        """Level of the look that comes next."""
        return alpha * 6 / (math.pi * self.look) ** 2

    def write(self, result: GateResult, base: str, new: str) -> None:
        """Add a look: digests of both inputs, and the result."""
        entry = {"look": self.look, "base": base, "new": new, **result.to_dict()}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n")


def digest(path: str | os.PathLike[str]) -> str:
    """Digest of a file, or of all files of a folder."""
    place = Path(path)
    files = sorted(file for file in place.rglob("*") if file.is_file()) if place.is_dir() else [place]
    content = hashlib.sha256()
    for file in files:
        content.update(file.read_bytes())
    return content.hexdigest()


def metric_evidence(pairs: Sequence[MetricPair], *, margin: float, alpha: float) -> list[GateEvidence]:
    """Evidence of each metric from its values for both detectors."""
    return [
        paired_evidence(metric.id, base, new, margin=margin, alpha=alpha, sign=1 if metric.higher_is_better else -1)
        for metric, base, new in pairs
    ]


def score_pairs(recordings: Sequence[Recording], measures: Measures) -> list[MetricPair]:
    """Values of two detectors on the same steps, over series, or over pieces of one series around its events."""
    prepared = [with_predictions([recording])[0] for recording in leave_out_for_all(recordings)]
    limits = cut(prepared[0]) if prepared[0].starts.size == 1 else []
    values = []
    for recording in prepared:
        if limits:
            values.append(Pieces(recording, measures, limits).values())
        else:
            values.append([values_of(part, measures) for part in recording.parts()])
    pairs = []
    for metric in measures.metrics:
        base, new = (np.array([unit[metric.id].value for unit in units]) for units in values)
        pairs.append((metric, base, new))
    return pairs


def board_pairs(base: str, new: str, metric: str, detector: str | None) -> list[MetricPair]:
    """Values of a detector under a metric on the series that two saved leaderboards have in common."""
    (known,) = find_metrics([metric])
    values = [_board_values(folder, known.id, detector) for folder in (base, new)]
    series = [name for name in values[0] if name in values[1]]
    if not series:
        raise TableError(f"{base} and {new} have no series in common under {known.id}")
    of_base, of_new = (np.array([by_series[name] for name in series]) for by_series in values)
    return [(known, of_base, of_new)]


def _board_values(folder: str, metric: str, detector: str | None) -> dict[str, float]:
    """Values of one detector by series, from a saved board; the mean over runs where there are several."""
    board = Leaderboard.load(folder)
    if metric not in board.metrics:
        raise TableError(f"{folder}: the board has no values of {metric}; name another --metric")
    names = [name for name in board.detectors if detector in (None, name)]
    if len(names) != 1:
        known, many = listed(board.detectors, 12), f"holds {len(names)} detectors"
        what = f"has no detector {in_words(detector)}" if detector else many
        raise TableError(f"{folder}: the board {what}; name one with --detector: {known}")
    place = board.detectors.index(names[0])
    values, present = board.by_series(metric)[:, place].tolist(), board.present[place].tolist()
    return {name: value for name, value, is_there in zip(board.series, values, present, strict=True) if is_there}


def list_evidence(
    base: str, new: str, incidents: str, *, margin_missed: float, margin_false: float, **how: Any
) -> list[GateEvidence]:
    """Evidence for two files of alarms; how they are read and judged is as in `judge_alarm_files`."""
    sources = [_named(path, name) for path, name in ((base, "base"), (new, "new"))]
    table = judge_alarm_files(sources, incidents, **how)
    if len(table) != 2:
        raise TableError(f"{base} and {new} must hold one detector each; they hold {len(table)}")
    return alarm_evidence(*table.judgements, margin_missed=margin_missed, margin_false=margin_false)


def _named(path: str, name: str) -> Any:
    """The table of a file under another name, since both may have the same stem; an empty one stays a path."""
    try:
        return replace(read_table(path), name=name)
    except NoRowsError:
        return path


def file_pairs(
    base: str, new: str, reading: Reading, measures: Measures, tell: Callable[[Sequence[str]], None]
) -> list[MetricPair]:
    """Values for two files with the scores of one detector each on the same steps; ``tell`` gets notes of reading."""
    pair = []
    for path in (base, new):
        plan = make_plan([path], reading, needs_times=measures.needs_times)
        tell(plan.notes)
        runs = list(ScoredFiles.read(plan, measures).by_run().values())
        if len(runs) != 1:
            raise TableError(f"{path} holds {len(runs)} detectors; name one with --score")
        # A single series without a name is called by its file.
        pair.append(runs[0] if runs[0].starts.size > 1 else replace(runs[0], names=()))
    first, second = pair
    if first.names != second.names or not np.array_equal(first.starts, second.starts):
        raise TableError(f"{base} and {new} hold different series; both must be on the same steps")
    if not np.array_equal(first.labels, second.labels):
        raise TableError(f"{base} and {new} have different labels; both must be on the same steps")
    return score_pairs(pair, measures)
