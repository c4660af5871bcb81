"""HTML from templates: what notebooks show of a result, and the look it shares with the report.

Every rule of ``look.css`` is about elements within ``.pateval``, so that fragments stand safely beside other styles. A
fragment takes ink and paper from the page around it, light or dark.
"""

from pateval.templates.fragments import FragmentTable, fragment
from pateval.templates.pictures import category_strip, curve_picture
from pateval.templates.rendering import asset, render_template

__all__ = ["FragmentTable", "asset", "category_strip", "curve_picture", "fragment", "render_template"]
