"""Check a built site: links and anchors lead somewhere, nothing comes from the network, pictures have words.

    python docs/check_site.py [FOLDER]

`make docs` runs it at its end. It prints a line for each fault, and exits with 1 where there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

BUILT = Path(__file__).resolve().parent / "_build" / "html"
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}


class Page(HTMLParser):
    """What a page refers to, and what in it can be referred to."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.without_words: list[str] = []
        self.titles = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what an element is or refers to."""
        values = {name: value or "" for name, value in attributes}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        self.titles += tag == "h1"
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in FETCHED and FETCHED[tag] in values:
            self.fetched.append(values[FETCHED[tag]])
        is_thumbnail = values.get("src", "").endswith("_thumb.png")  # the gallery writes the title beside it
        if tag == "img" and not values.get("alt", "").strip() and not is_thumbnail:
            self.without_words.append(values.get("src", ""))


def faults(folder: Path) -> Iterator[str]:
    """Yield a sentence for each fault of the pages in a folder."""
    pages = {path: read(path) for path in pages_of(folder)}
    if not pages:
        yield f"{folder} holds no page: run 'make docs' first"
    for path, page in pages.items():
        name = path.relative_to(folder).as_posix()
        if page.titles != 1 and not name.endswith("-report.html"):  # reports write theirs by script
            yield f"{name} has {page.titles} headings of the first level; a page has one"
        yield from (
            f"{name} shows {source} without a text for those who do not see it" for source in page.without_words
        )
        for address in page.fetched:
            if urlsplit(address).scheme in ("http", "https") or address.startswith("//"):
                yield f"{name} needs the network for {address}"
            elif not is_data(address) and not (path.parent / unquote(urlsplit(address).path)).exists():
                yield f"{name} needs {address}, which is not there"
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if not target.exists():
                yield f"{name} links to {address}, which is not there"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{name} links to {address}, and there is no such place on that page"


def pages_of(folder: Path) -> list[Path]:
    """Return the pages of a site; what the theme keeps among its own files is none."""
    return [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.relative_to(folder).parts]


def read(path: Path) -> Page:
    """Return what is in a page."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def is_data(address: str) -> bool:
    """Tell whether an address holds what it refers to."""
    return address.startswith("data:")


def main(arguments: list[str]) -> int:
    """Print the faults of a site; return 1 where there is one."""
    folder = Path(arguments[0]).resolve() if arguments else BUILT
    found = list(dict.fromkeys(faults(folder)))
    for fault in found:
        print(fault, file=sys.stderr)
    print(f"{len(pages_of(folder))} pages checked: {len(found) or 'no'} fault{'s' * (len(found) != 1)}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
