"""One HTML page from templates, style and script, and blocks of data that a browser takes for nothing but data."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from pateval.output.html import asset, render_template
from pateval.report.scripts import PACKAGE, join_modules


def style() -> str:
    """The look that fragments in notebooks have too, and the style of the page."""
    return asset("look.css") + asset("style.css", PACKAGE)


def as_json(content: Any) -> str:
    r"""Write JSON that can neither end a script element nor a line of a script, whatever names it holds.

    Examples
    --------
    >>> print(as_json({"series": "</script><script>alert(1)</script>"}))
    {"series":"\u003c/script\u003e\u003cscript\u003ealert(1)\u003c/script\u003e"}
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def embedded(name: str, content: str) -> str:
    """A block of JSON within the page; a browser runs no script of this type."""
    return f'<script type="application/json" id="{name}">{content}</script>'


def loaded(name: str, content: str) -> str:
    """A block of JSON as a script of its own, which a page opened from a disk may load where it may not fetch."""
    return f'patevalBlock("{name}", {content});\n'


def page(title: str, board: str, blocks: list[str], *, folder: bool = False) -> str:
    """Put a page together.

    Parameters
    ----------
    title : str
        Shown as the name of the window.
    board : str
        The block that every view needs, as JSON.
    blocks : list of str
        Further blocks, as `embedded` makes them.
    folder : bool
        Whether more blocks lie beside the page, so that scripts from there may be loaded.
    """
    from markupsafe import Markup

    code, look = f"{join_modules()};", style()
    sources = f"'sha256-{_hash(code)}'" + (" 'self' file:" if folder else "")
    policy = (
        f"default-src 'none'; script-src {sources}; style-src 'sha256-{_hash(look)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return render_template(
        asset("page.html", PACKAGE),
        title=title,
        policy=policy,
        # Ours, word for word; what comes from users is in the blocks, which `as_json` has made harmless.
        style=Markup(look),  # noqa: S704
        script=Markup(code),  # noqa: S704
        blocks=Markup("\n".join([embedded("board", board), *blocks])),  # noqa: S704
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
