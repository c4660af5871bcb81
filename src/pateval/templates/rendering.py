"""Templates filled in; whatever is not marked as our own markup is escaped."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any


def asset(name: str, package: str = "pateval.templates") -> str:
    """Read a template, a style or a script of a package, from its folder ``assets``."""
    return resources.files(package).joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _environment() -> Any:
    from jinja2 import Environment, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def render_template(template: str, **values: Any) -> str:
    """Fill in a template, given as text.

    Examples
    --------
    >>> render_template("<p>{{ name }}</p>", name="<script>")
    '<p>&lt;script&gt;</p>'
    """
    return str(_environment().from_string(template).render(**values))
