"""Signatures: one line of text that holds everything that decided a number.

``pate|early:0,100|delay:0,100|area:trapezoid|thresholds:all|definition:1|pateval:0.2.0``. First the metric's name,
then fields ``key:value``, in this order: the options that global options reach, facts that have no option, the other
options, all at the values that were in effect; ``predictions``, how they were made from scores, or ``given``;
``candidates``, how many thresholds were tried for the best of the metric;
``clock``, ``ignored`` and ``missing``, how steps were measured and which were left out, where that applies;
``over``, how several series were joined and how many; ``module``, for a metric not of the package; ``definition``;
``pateval``, the version. docs/signatures.md says what may change from version to version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pateval._version import __version__
from pateval.catalog.metric import Metric
from pateval.catalog.option_text import bare_text, read_value, value_text
from pateval.validation.checked import ANYTHING
from pateval.validation.wording import in_words

_FIELDS = ("predictions", "candidates", "clock", "ignored", "missing", "over", "module")
_KEPT_AS_TEXT = ("pateval", "module")


def signature(metric: Metric, global_values: Mapping[str, Any] | None = None, **fields: Any) -> str:
    """Write the signature of a metric; nothing needs to be evaluated.

    The values of ``early``, ``delay`` and ``window`` that are not at their defaults are ``global_values``; the other
    fields, of which any may be None, are those that the module lists, ``predictions`` as `ThresholdRule.signature`.
    """
    options = metric.effective_options(global_values)
    reached = {name: value for name, value in options.items() if name in metric.global_options}
    of_metric: dict[str, Any] = {**reached, **metric.facts, **options}
    written = [f"{key}:{_field_text(key, value, metric)}" for key, value in of_metric.items()]
    if not metric.needs_threshold:
        fields["predictions"] = None
    fields["module"] = None if metric.in_package else metric.function.__module__
    for key in _FIELDS:
        value = fields.get(key)
        if value is not None:
            written.append(f"{key}:{value if key in _KEPT_AS_TEXT else bare_text(value)}")
    return "|".join([metric.name, *written, f"definition:{metric.definition}", f"pateval:{__version__}"])


def parse_signature(text: str) -> dict[str, Any]:
    """Read a signature.

    Parameters
    ----------
    text : str
        As `Evaluation.signature` gives it, and tables and files show it.

    Returns
    -------
    dict
        ``"metric"``, the metric's name, and every field under its key: numbers, words, None, truth values, and tuples
        for sets; the version is text.

    Raises
    ------
    ValueError
        If the text is no signature.

    Examples
    --------
    >>> parse_signature("pate|early:0,100|delay:20|area:trapezoid|thresholds:all|definition:1|pateval:0.2.0")["early"]
    (0, 100)
    """
    if not isinstance(text, str):
        raise TypeError(f"a signature is a text; got {in_words(text)}")
    name, *fields = text.strip().split("|")
    if not name or not fields:
        raise ValueError(
            f"{in_words(text)} is no signature; one looks like 'pate|early:0,100|...|definition:1|pateval:0.2.0'"
        )
    parsed: dict[str, Any] = {"metric": name}
    for field in fields:
        key, colon, value = field.partition(":")
        if not colon or not key:
            raise ValueError(f"the field {in_words(field)} of the signature {in_words(text)} must be written key:value")
        if key in parsed:
            raise ValueError(f"the signature {in_words(text)} has the field {in_words(key)} twice")
        try:
            parsed[key] = value if key in _KEPT_AS_TEXT else read_value(value)
        except ValueError as error:
            raise ValueError(
                f"the field {in_words(key)} of the signature {in_words(text)} cannot be read: {error}"
            ) from None
    if not {"definition", "pateval"} <= parsed.keys():
        raise ValueError(f"the signature {in_words(text)} lacks its definition or the version of pateval")
    return parsed


def _field_text(key: str, value: Any, metric: Metric) -> str:
    if value is None:
        return metric.kinds.get(key, ANYTHING).none_means
    if key in metric.global_options and isinstance(value, tuple) and len(value) == 1:
        value = value[0]  # one buffer is a set of one
    try:
        return bare_text(value)
    except TypeError:  # the default of a user's function may be anything
        return value_text(getattr(value, "__qualname__", None) or repr(value))
