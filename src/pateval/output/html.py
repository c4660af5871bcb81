"""HTML from templates: what notebooks show of a result, and the look it shares with the report.

Whatever is not marked as our own markup is escaped. Every rule of ``look.css`` is about elements within ``.pateval``,
so that fragments stand safely beside other styles. A fragment takes ink and paper from the page around it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.output.text_table import cell_text


def asset(name: str, package: str = "pateval.output") -> str:
    """Read a template, a style or a script of a package, from its folder ``assets``."""
    return resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _environment() -> Any:
    from jinja2 import Environment, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def render_template(template: str, **values: Any) -> str:
    """Fill in a template, given as text."""
    return str(_environment().from_string(template).render(**values))


def safe_json(content: Any) -> str:
    """Write JSON that can neither end a script element nor a line of a script, whatever names it holds."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def render_page(template: str, *, look: str, code: str, blocks: str, scripts_from: str = "", **values: Any) -> str:
    """Fill in a whole page that runs our script and no other; all that comes from users is in its blocks of JSON."""
    from markupsafe import Markup

    code_hash, look_hash = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (code, look))
    policy = (
        f"default-src 'none'; script-src 'sha256-{code_hash}'{scripts_from}; style-src 'sha256-{look_hash}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    # Ours, word for word; `safe_json` has made the blocks harmless.
    ours = {name: Markup(text) for name, text in (("style", look), ("script", code), ("blocks", blocks))}  # noqa: S704
    return render_template(template, policy=policy, **ours, **values)


class FragmentTable(NamedTuple):
    """A table: column names, rows of text or numbers, and which columns stand to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    to_the_right: Sequence[bool]


def fragment(
    headline: str = "",
    *,
    pictures: Sequence[str] = (),
    tables: Sequence[FragmentTable] = (),
    lines: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> str:
    """Put a piece of HTML together, for ``_repr_html_``.

    ``pictures`` are markup of our own, as `category_strip` and `curve_picture` make it; everything else is escaped.
    """
    from markupsafe import Markup

    return render_template(
        asset("fragment.html"),
        style=Markup(asset("look.css")),  # noqa: S704  # ours
        headline=headline,
        pictures=[Markup(picture) for picture in pictures],  # noqa: S704  # ours
        tables=tables,
        cell_text=cell_text,
        lines=lines,
        warnings=warnings,
    )


_POINTS = 400  # of a curve; more than it has pixels
_SIZE = 240


def category_strip(shown: npt.NDArray[np.integer], codes: npt.NDArray[np.integer], categories: Sequence[str]) -> str:
    """Draw categories in one line, one a column, and count those of all steps; the first, quiet, is not drawn."""
    changes = np.flatnonzero(np.diff(shown, prepend=-1, append=-1))
    bars = [
        (start, stop - start, categories[shown[start]].replace(" ", "-"))
        for start, stop in pairwise(changes.tolist())
        if shown[start]
    ]
    counts = [
        (name, name.replace(" ", "-"), int(np.count_nonzero(codes == code))) for code, name in enumerate(categories)
    ]
    return render_template(asset("strip.html"), width=shown.size, bars=bars, counts=counts[1:])


def curve_picture(recall: npt.NDArray[np.float64], precision: npt.NDArray[np.float64]) -> str:
    """Draw a precision-recall curve."""
    chosen = np.unique(np.linspace(0, recall.size - 1, min(_POINTS, recall.size)).astype(int))
    x, y = 34 + recall[chosen] * (_SIZE - 44), _SIZE - 30 - precision[chosen] * (_SIZE - 40)
    points = " ".join(f"{one:.1f},{other:.1f}" for one, other in zip(x.tolist(), y.tolist(), strict=True))
    return render_template(asset("curve.html"), size=_SIZE, points=points)
