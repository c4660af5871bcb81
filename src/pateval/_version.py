"""The version of the package, where every part of it can read it."""

__version__ = "0.2.0"
