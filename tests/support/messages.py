"""Messages that are asserted whole: an error is one sentence, and a user reads all of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pateval.io import TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def raises_exactly(kind: type[BaseException] | tuple[type[BaseException], ...], message: str) -> Iterator[None]:
    """Expect an error of this kind that says this and nothing else."""
    with pytest.raises(kind) as caught:
        yield
    assert str(caught.value) == message


def message_of(call: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """Return what a call says of a table that it refuses: one line."""
    with pytest.raises(TableError) as caught:
        call(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message
