"""One HTML page: template, style, scripts joined into one, and blocks of data that a browser takes for nothing else.

Each script of ``assets`` is a module in the usual sense: it imports by name from other files, and exports functions,
classes and constants. Here every module becomes a function with a scope of its own, so that two files may use one name
for two things, and each stands after those it imports from. Nothing but this form is understood; the rest is refused:

    import { make, svg } from "./elements.js";
    export function figure(value) { ... }
    export const board = ...;
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from pateval.output.html import asset, render_page

PACKAGE = "pateval.report"
_IMPORT = re.compile(r'^import \{([^}]*)\}\s+from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_NOT_UNDERSTOOD = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def embedded(name: str, content: str) -> str:
    """A block of JSON within the page; a browser runs no script of this type."""
    return f'<script type="application/json" id="{name}">{content}</script>'


def loaded(name: str, content: str) -> str:
    """A block of JSON as a script of its own, which a page opened from a disk may load where it may not fetch."""
    return f'patevalBlock("{name}", {content});\n'


def page(title: str, board: str, blocks: list[str], *, folder: bool = False) -> str:
    """Put a page together from the block that every view needs and further ones; in a folder more lie beside it."""
    return render_page(
        asset("page.html", PACKAGE),
        look=asset("look.css") + asset("style.css", PACKAGE),
        code=f"{join_modules()};",
        blocks="\n".join([embedded("board", board), *blocks]),
        scripts_from=" 'self' file:" if folder else "",
        title=title,
    )


def read_module(name: str) -> str:
    """Read a module of the page."""
    return asset(f"{name}.js", PACKAGE)


def join_modules(entry: str = "start", read: Callable[[str], str] = read_module) -> str:
    r"""Join a module and all it imports from, directly or not, into one expression, whose value is what it exports.

    Examples
    --------
    >>> modules = {"start": 'import { one } from "./numbers.js";\nshow(one);\n', "numbers": "export const one = 1;\n"}
    >>> print(join_modules("start", modules.__getitem__))
    (() => {
    "use strict";
    const numbers_module = (() => {
    const one = 1;
    return { one };
    })();
    const start_module = (() => {
    const { one } = numbers_module;
    show(one);
    return {};
    })();
    return start_module;
    })()
    """
    modules: dict[str, _Module] = {}
    _collect(entry, read, modules, ())
    body = "\n".join(module.text for module in modules.values())
    return f'(() => {{\n"use strict";\n{body}\nreturn {entry}_module;\n}})()'


class _Module(NamedTuple):
    exported: tuple[str, ...]
    text: str


def _collect(name: str, read: Callable[[str], str], modules: dict[str, _Module], importing: tuple[str, ...]) -> None:
    """Add a module after those it imports from."""
    if name in modules:
        return
    if name in importing:
        raise ValueError(f"modules import from each other in a circle: {' -> '.join((*importing, name))}")
    text = read(name)
    for names, source in _IMPORT.findall(text):
        _collect(source, read, modules, (*importing, name))
        unknown = sorted(set(_names(names)) - set(modules[source].exported))
        if unknown:
            raise ValueError(f"{name}.js imports {', '.join(unknown)} from {source}.js, which does not export that")
    exported = tuple(_EXPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub(lambda found: f"const {{{found[1]}}} = {found[2]}_module;", text)).strip()
    left = _NOT_UNDERSTOOD.search(body)
    if left:
        raise ValueError(f"{name}.js has a line that is not understood here: {left[0]}")
    result = f"{{ {', '.join(exported)} }}" if exported else "{}"
    modules[name] = _Module(exported, f"const {name}_module = (() => {{\n{body}\nreturn {result};\n}})();")


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]
