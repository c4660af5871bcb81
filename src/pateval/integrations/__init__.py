"""Our metrics inside other libraries: thin, and each library is imported only when its module is.

They are reached as ``pateval.sklearn`` and ``pateval.torchmetrics``. Recipes for libraries that need no code of ours
are in the documentation.
"""
