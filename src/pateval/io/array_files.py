"""NumPy files in: NPZ archives of named arrays, and single arrays whose columns are numbered or named."""

from __future__ import annotations

import io
import tokenize
import zipfile
import zlib
from typing import TYPE_CHECKING

import numpy as np

from pateval.io.source import Column, TableError, damaged, require_equal_lengths

if TYPE_CHECKING:
    from pateval.io.content import Content

# What NumPy raises for files that are not what they should be, down to a header that is no Python literal.
_BROKEN = (
    OSError, ValueError, EOFError, KeyError, TypeError, SyntaxError, MemoryError, OverflowError, NotImplementedError,
    RuntimeError, zipfile.BadZipFile, zlib.error, tokenize.TokenError,
)  # fmt: skip


def read_npz(content: Content) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Read an archive of one-dimensional arrays, one value per time step each."""
    where = content.where
    columns: dict[str, Column] = {}
    name = ""
    try:
        # Object arrays would need pickle, which can run code: they are refused.
        arrays = np.load(io.BytesIO(content.data), allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise TableError(f"{where}: not an NPZ archive but a single array; give the file the suffix .npy")
        for name in arrays.files:
            columns[name] = arrays[name]
    except TableError:
        raise
    except _BROKEN as error:
        if "allow_pickle" in str(error) and name:
            raise TableError(
                f"{where}: array {name!r} holds Python objects, which are never unpickled; save numbers instead"
            ) from error
        raise damaged(where, "NPZ", error) from error
    if not columns:
        raise TableError(
            f"{where}: the archive holds no arrays; save them by name, with numpy.savez(path, label=..., score=...)"
        )
    named: dict[str, Column] = {}
    for name, array in columns.items():
        if array.ndim not in (1, 2):
            raise TableError(f"{where}: array {name!r} has shape {array.shape}; one value per time step is needed")
        if array.ndim == 1:
            named[name] = array
        else:
            named |= {f"{name}_{channel}": array[:, channel] for channel in range(array.shape[1])}
    matrices = [name for name, array in columns.items() if array.ndim == 2]
    notes = [f"{where}: the columns of array {name!r} are called {name}_0, {name}_1 and so on" for name in matrices]
    require_equal_lengths(named, where, "arrays")
    return named, tuple(notes)


def read_npy(content: Content) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Read one array: a record array by its names, a matrix of steps by columns with numbers for names."""
    where = content.where
    try:
        array = np.load(io.BytesIO(content.data), allow_pickle=False)
    except _BROKEN as error:
        if "allow_pickle" in str(error):
            raise TableError(
                f"{where}: the array holds Python objects, which are never unpickled; save numbers instead"
            ) from error
        raise damaged(where, "NumPy", error) from error
    if not isinstance(array, np.ndarray):
        raise TableError(f"{where}: not a single array but an NPZ archive; give the file the suffix .npz")
    if array.dtype.names:
        return {name: np.ascontiguousarray(array[name]).ravel() for name in array.dtype.names}, ()
    if array.ndim not in (1, 2):
        raise TableError(f"{where}: the array has shape {array.shape}; steps, or steps by columns, are needed")
    matrix = array[:, np.newaxis] if array.ndim == 1 else array
    names = [str(number) for number in range(matrix.shape[1])]
    notes = (f"{where}: the columns of the array are called by their numbers, from '0'",)
    return {name: matrix[:, place] for place, name in enumerate(names)}, notes
