"""A Sphinx extension that writes formulas as MathML: browsers draw them without a script, a font or the network."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer; ``html_math_renderer = "mathml"`` chooses it."""
    app.add_html_math_renderer("mathml", inline_renderers=(write_inline, None), block_renderers=(write_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def write_display(translator: Any, node: nodes.math_block) -> None:
    """Write a formula in a box of its own, which scrolls where the page is narrower than the formula."""
    translator.body.append(f'<div class="math">{mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def mathml(node: nodes.Element, display: str) -> str:
    """Return the formula of a node; one that cannot be read is a warning, and so fails the build."""
    formula = node.astext().strip()
    try:
        return convert(formula, display=display)
    except Exception as error:  # the converter has many kinds of them, without a common base
        logger.warning("the formula %r cannot be written as MathML: %r", formula, error, location=node)
        return escape(formula)
