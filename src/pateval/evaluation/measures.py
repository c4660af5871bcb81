"""What to compute: metrics with their options, lengths, threshold, how series are joined, chance; checked here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from pateval.catalog import GROUPS, MetricLike, canonical_id, find_metrics
from pateval.catalog.metric import BEST, ORACLE, Metric
from pateval.catalog.signatures import parse_signature, signature
from pateval.catalog.table import all_metrics
from pateval.evaluation.threshold_rules import ALARMS, ThresholdRule, check_threshold, threshold_rule
from pateval.thresholds import read_alarm_rate
from pateval.time.clocks import Duration, canonical_lengths, duration_text, gap_length, is_duration, require_one_measure
from pateval.validation.arrays import (
    MISSING,
    Buffers,
    FloatArray,
    choice,
    count,
    flag,
    non_negative_integer,
    window_length,
)
from pateval.validation.wording import in_words, listed

CHANCE_DRAWS = 5
CANDIDATES = 1000
"""How many thresholds are tried for the best of a metric that cannot be swept."""

Metrics = Iterable[MetricLike] | MetricLike | None
Threshold = float | str | Mapping[str | None, float | str]


@dataclass(frozen=True)
class Measures:
    """What is computed of every recording, the same for all of them."""

    metrics: tuple[Metric, ...]  # in the order of tables
    early: Any = (0, 100)  # lengths in steps or durations, which reach the metrics that take them
    delay: Any = (0, 100)
    window: Any = 100
    threshold: float | str = ORACLE  # how scores become predictions, for metrics that do not say it themselves
    max_gap: str | None = None  # longer holes in time part events and zones of PATE
    missing: str = "error"
    pooled: bool = False  # whether several series are one sample; else values are means over the series
    chance: int = CHANCE_DRAWS  # over how many vectors of random scores what chance reaches is averaged
    seed: int = 0
    not_pooled: tuple[str, ...] = ()  # those of the default metrics that are left out because they cannot be pooled
    thresholds: tuple[tuple[str, float | str], ...] = ()  # detectors with a threshold of their own, and that

    @classmethod
    def of(
        cls,
        *,
        metrics: Metrics = None,
        early: Buffers = (0, 100),
        delay: Buffers = (0, 100),
        window: int | Duration = 100,
        threshold: Threshold = ORACLE,
        max_gap: Duration | None = None,
        missing: str = "error",
        pooled: bool = False,
        chance: int = CHANCE_DRAWS,
        seed: int = 0,
        channels: bool = False,
    ) -> Measures:
        """Check what a caller asks for, as `evaluate` describes it; ``channels`` for labels of steps by channels."""
        by_detector = dict(threshold) if isinstance(threshold, Mapping) else {None: threshold}
        lengths: dict[str, Any] = {
            "early": canonical_lengths(early, "early"),
            "delay": canonical_lengths(delay, "delay"),
            "window": duration_text(window) if is_duration(window) else window_length(window, "window"),
            "threshold": check_threshold(by_detector.pop(None, ORACLE)),
        }
        wanted = find_metrics(metrics, global_values=lengths, channels=channels)
        for metric in wanted:
            if metric.threshold is not None:
                check_threshold(metric.threshold)
        if max_gap is not None:
            gap_length(max_gap)
        alone = _alone(wanted, metrics) if flag(pooled, "pooled") else ()
        measures = cls(
            tuple(metric for metric in wanted if metric.id not in alone),
            **lengths,
            max_gap=None if max_gap is None else duration_text(max_gap, "max_gap"),
            missing=choice(missing, "missing", MISSING),
            pooled=pooled,
            chance=count(chance, "chance"),
            seed=non_negative_integer(seed, "seed"),
            not_pooled=alone,
            thresholds=tuple((str(name), check_threshold(own)) for name, own in by_detector.items()),
        )
        for bound in measures.bound.values():
            if bound.metric.on_timeline is not None:
                require_one_measure(bound.options["early"], bound.options["delay"])
        return measures

    @classmethod
    def of_keywords(cls, keywords: Mapping[str, Any], **others: Any) -> Measures:
        """Take from all that a caller was given, its ``locals()``, what `of` takes; the others stand beside it."""
        return cls.of(**{name: keywords[name] for name in _PARAMETERS if name in keywords} | others)

    def record(self) -> dict[str, Any]:
        """Plain data that `from_record` reads."""
        return self.__getstate__() | {"metrics": list(self.ids)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Measures:
        """Make measures of plain data, as JSON carries it."""
        measures = cls.of_keywords(record, threshold={None: record["threshold"], **dict(record["thresholds"])})
        return replace(measures, not_pooled=tuple(record["not_pooled"]))

    def of_detector(self, name: str) -> Measures:
        """What is computed of one detector, which may have a threshold of its own."""
        own = dict(self.thresholds)
        return replace(self, threshold=own[name], thresholds=()) if name in own else self

    def require_detectors(self, names: Iterable[str]) -> None:
        """Refuse a threshold of a detector that is not there."""
        known = list(names)
        for name, _ in self.thresholds:
            if name not in known:
                raise ValueError(f"threshold names {in_words(name)}; the detectors are {listed(known, 12)}")

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Metric ids, in the order of tables."""
        return tuple(metric.id for metric in self.metrics)

    @cached_property
    def options(self) -> dict[str, Any]:
        """The options that reach every metric that takes them."""
        return {"early": self.early, "delay": self.delay, "window": self.window}

    def find(self, metrics: Metrics) -> list[Metric]:
        """Look up metrics to which the same options and the same threshold are given."""
        return find_metrics(metrics, global_values={**self.options, "threshold": self.threshold})

    @cached_property
    def by_id(self) -> dict[str, Metric]:
        """The metrics by their ids."""
        return {metric.id: metric for metric in self.metrics}

    def only(self, ids: Iterable[str]) -> Measures:
        """The same of some of the metrics."""
        return replace(self, metrics=tuple(self.by_id[name] for name in ids))

    def id_of(self, spelling: str) -> str:
        """The id that a spelling means, of the metrics here; what means none is returned as it is."""
        if spelling in self.by_id or not isinstance(spelling, str):
            return spelling
        try:
            return canonical_id(spelling, self.metrics, global_values={**self.options, "threshold": self.threshold})
        except (ValueError, TypeError):
            return spelling

    @cached_property
    def bound(self) -> dict[str, Bound]:
        """The metrics with all that decides what they compute, by their ids."""
        return {metric.id: self.bind(metric) for metric in self.metrics}

    def bind(self, metric: Metric) -> Bound:
        """A metric with the options, lengths and threshold that reach it here."""
        return _bound(metric, self.early, self.delay, self.window, self.threshold)

    def rule(self, metric: Metric) -> ThresholdRule:
        """How scores become predictions for a metric."""
        return threshold_rule(self.threshold if metric.threshold is None else metric.threshold)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without what is cached

    @cached_property
    def by_own_chance(self) -> list[tuple[Measures, Measures]]:
        """Metrics of which a detector's predictions decide what chance reaches, and the others.

        First for predictions that are made from scores, then for those that are given.
        """
        given = [metric.id for metric in self.metrics if metric.needs_threshold]
        made = [name for name in given if self.rule(self.by_id[name]).is_foreign]
        return [(self.only(own), self.only(name for name in self.ids if name not in own)) for own in (made, given)]

    @cached_property
    def signs(self) -> FloatArray:
        """For each metric 1 where higher is better, else -1."""
        return np.array([1.0 if metric.higher_is_better else -1.0 for metric in self.metrics])

    @cached_property
    def needs_predictions(self) -> bool:
        """Whether a metric takes predictions."""
        return any(metric.needs_threshold for metric in self.metrics)

    @cached_property
    def labels(self) -> dict[str, str]:
        """Names for tables: "(oracle)" and "(best)" where labels choose the threshold."""
        labels = {}
        for metric in self.metrics:
            uses_labels = metric.needs_threshold and self.rule(metric).uses_labels
            labels[metric.id] = f"{metric.plain_id} ({self.rule(metric).mark})" if uses_labels else metric.id
        return labels

    def signature(self, metric: Metric, *, series: int = 1, given: bool = False, **fields_of_steps: Any) -> str:
        """Everything that decides a metric's value, in one line.

        ``series`` is the number of series the value goes over, ``given`` says that predictions were given or scores are
        0 and 1, and the rest are the fields ``clock``, ``ignored`` and ``missing`` where they apply, and what options
        are that the clock decided.
        """
        decided = {name: fields_of_steps.pop(name) for name in self.bind(metric).by_clock if name in fields_of_steps}
        metric = replace(metric, options={**metric.options, **decided}) if decided else metric
        how = self.rule(metric)
        predictions: Any = "given" if given else how.signature
        candidates = None
        if how.kind == BEST and not given and metric.needs_threshold:
            candidates = "all" if searched(metric).sweep is not None else CANDIDATES
        return signature(
            metric,
            self.options,
            predictions=predictions,
            candidates=candidates,
            over=None if series == 1 else f"{'pooled' if self.pooled else 'mean'}:{series}",
            **fields_of_steps,
        )

    def unit(self, name: str, signature_text: str) -> str:
        """The unit of a rate whose id does not show it, such as " /1d" or " /step"; empty for all other metrics."""
        for option in self.bound[name].by_clock if signature_text else ():
            found = parse_signature(signature_text).get(option)
            lengths = found if isinstance(found, tuple) else (found,)
            return f" /{' or '.join(length if isinstance(length, str) else _steps(length) for length in lengths)}"
        return ""

    @cached_property
    def follows_clock(self) -> bool:
        """Whether a value is another one where the unit of times is known."""
        return bool(self.needs_times) or any(bound.by_clock for bound in self.bound.values())

    @cached_property
    def needs_times(self) -> str:
        """The first thing that is given as a duration, in words; empty where nothing is."""
        if self.max_gap is not None:
            return f"max_gap={self.max_gap!r}"
        rules = [self.threshold, *(metric.threshold for metric in self.metrics)] if self.needs_predictions else []
        for threshold in rules:
            if isinstance(threshold, str) and threshold.startswith(f"{ALARMS}:"):
                _, per = read_alarm_rate(threshold.partition(":")[2], threshold)
                if not isinstance(per, int):
                    return f"threshold={threshold!r}"
        for bound in self.bound.values():
            for name, value in {**bound.in_time, **bound.units}.items():
                return f"{name}={list(value) if isinstance(value, tuple) else value!r} of {bound.metric.id}"
        return ""


_PARAMETERS = tuple(inspect.signature(Measures.of).parameters)


@dataclass(frozen=True, slots=True)
class Bound:
    """A metric with all that decides what it computes."""

    metric: Metric
    options: dict[str, Any]  # the value of every option, lengths as they were given
    in_time: dict[str, Any]  # those that are durations
    units: dict[str, Any]  # those that are units of time
    durations: dict[str, Any]  # durations that must become steps: all, unless the metric measures on a clock itself
    by_clock: dict[str, str]  # what options that are not given are where the unit of times is known
    work_options: dict[str, Any]  # those that the work depends on
    key: tuple[Any, ...]  # equal where two metrics read the same result
    compute: Callable[..., Any]  # the work on checked arrays; a user's function gets the same arrays
    data_taken: frozenset[str]  # what it is told beside them, such as ``series``
    rule: ThresholdRule
    predictions_key: object  # equal where two metrics are judged on the same predictions


@lru_cache(maxsize=4096)
def _bound(metric: Metric, early: Any, delay: Any, window: Any, threshold: float | str) -> Bound:
    lengths = {"early": early, "delay": delay, "window": window}
    options = metric.effective_options(lengths)
    work_options, in_time, kinds = metric.compute_options(options), metric.durations(options), metric.kinds.items()
    units = {name: options[name] for name, kind in kinds if kind.is_unit and options[name] is not None}
    by_clock = {name: kind.on_clock for name, kind in kinds if kind.on_clock is not None and options[name] is None}
    rule = threshold_rule(threshold if metric.threshold is None else metric.threshold)
    predictions_key: object = rule.signature
    if rule.kind == BEST and metric.needs_threshold:
        best = searched(metric)
        predictions_key = (BEST, best.function, best.field, repr(best.effective_options(lengths)))
    return Bound(
        metric,
        options,
        in_time,
        units,
        {} if metric.on_clock else in_time,
        by_clock,
        work_options,
        (metric.computation, repr(work_options)),
        getattr(metric.computation, "unchecked", metric.computation),
        metric.data_taken,
        rule,
        predictions_key,
    )


def searched(metric: Metric) -> Metric:
    """The metric whose best threshold is looked for: the F1 for a precision or a recall, else the metric itself."""
    if metric.field not in ("precision", "recall"):
        return metric
    listed = all_metrics().get(f"{metric.name.removesuffix(metric.field)}f1")
    if metric.in_package and listed is not None:
        return replace(listed, options=metric.options)
    return metric.with_field("f1")


def _steps(number: int) -> str:
    return "step" if number == 1 else f"{number} steps"


def _alone(wanted: list[Metric], metrics: Metrics) -> tuple[str, ...]:
    """Metrics that cannot be pooled: refused where they are named, else left out."""
    alone = tuple(metric.id for metric in wanted if not metric.pools)
    is_named = metrics is not None and not (isinstance(metrics, str) and metrics in GROUPS)
    if alone and (is_named or len(alone) == len(wanted)):
        raise ValueError(
            f"{alone[0]} cannot be computed over several series taken together: leave it out, or leave out pooled"
        )
    return alone
