"""Sphinx settings of the documentation: `make docs` builds it, and every warning is an error."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pateval

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs")]
os.environ.setdefault("MPLBACKEND", "Agg")

project = "pateval"
author = "The pateval developers"
project_copyright = "the pateval developers"
version = release = pateval.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "mathml",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "**/README.rst", "gallery/GALLERY_HEADER.rst"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
nitpicky = False

autodoc_typehints = "none"
autosummary_generate = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_admonition_for_notes = True
python_use_unqualified_type_names = True
add_module_names = False

# The pages are read where there is no network too: formulas are part of them, and no script comes from elsewhere.
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_title = "pateval"
html_static_path = ["_static"]
# Two reports that `make docs` writes; the folder may be missing where pages alone are built.
html_extra_path = ["_extra"] if (ROOT / "docs" / "_extra").exists() else []
html_css_files = ["pateval.css"]
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"start": [], "choose": [], "how-pate-works": []}  # they have no pages below them to list
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "figures")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "capture_repr": (),  # figures say enough; the name of an object below them says nothing
    "matplotlib_animations": False,
    "image_srcset": ["2x"],  # figures are as wide as a telephone, and sharp on it
}
# numpydoc lists references that the text need not number.
suppress_warnings = ["config.cache", "ref.footnote"]


def keep_initials(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Escape the point after an initial that begins a reference: it would be read as the first item of a list."""
    lines[:] = [re.sub(r"^(\s*\.\. \[\d+\] [A-Z])\. ", r"\1\\. ", line) for line in lines]


def setup(app: Any) -> None:
    """Connect what is mended in docstrings."""
    app.connect("autodoc-process-docstring", keep_initials)
