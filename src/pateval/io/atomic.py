"""Files put in place whole or not at all.

A file is written under a hidden name beside its target and then renamed over it, so that a reader, a crash or a full
disk never meets half a file.
"""

from __future__ import annotations

import errno
import os
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a draft beside ``path`` to write to, and put it in place when the block ends without an error.

    What was there before stays until the new content is complete.

    Raises
    ------
    OSError
        If the draft cannot be written or renamed; the message names ``path``, also where the disk is full.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "result.txt"
    >>> with replacing(target) as draft:
    ...     written = draft.write_text("whole")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('whole', 1)
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        # A device or a pipe takes what is written as it comes, and must not be replaced by a file.
        yield from _written_directly(target)
        return
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield draft
        os.replace(draft, target)
    except OSError as error:
        # The error of a write names no file, and that of a rename the draft, which the user has never heard of.
        raise _refused(error, target) from error
    finally:
        draft.unlink(missing_ok=True)


def _written_directly(target: Path) -> Iterator[Path]:
    try:
        yield target
    except OSError as error:
        raise _refused(error, target) from error


def reason_of(error: OSError) -> str:
    """Say why the system refused to write, without numbers and paths.

    Examples
    --------
    >>> reason_of(OSError(28, "No space left on device", "/data/x"))
    'No space left on device'
    """
    # Arrow wraps the system's words in its own.
    return os.strerror(error.errno) if error.errno else error.strerror or str(error)


def remedy_of(error: OSError) -> str:
    """Say what helps where a file could not be written.

    Examples
    --------
    >>> remedy_of(OSError(errno.ENOSPC, "No space left on device"))
    'make room there, or write to another place'
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "make room there, or write to another place"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "ask for the right to write there, or write to another place"
    return "write to another place"


def _refused(error: OSError, target: Path) -> OSError:
    message = f"the file could not be written ({reason_of(error)}); {remedy_of(error)}"
    return type(error)(error.errno, message, str(target))


def write_text(content: str, path: str | os.PathLike[str]) -> None:
    """Write text in UTF-8, whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(content, encoding="utf-8")
