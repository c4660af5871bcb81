"""Commands of pateval in tests, run in this process: as click runs them, and as the console script does."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result

from pateval.cli import main, pateval


class Printed(NamedTuple):
    """What a command wrote to standard output and to standard error."""

    out: str
    err: str


def invoke(*arguments: object, status: int | None = 0) -> Result:
    """Run a command; it must end with this status, or with any where that is None. Exceptions are not caught."""
    done = CliRunner().invoke(pateval, [str(argument) for argument in arguments], catch_exceptions=False)
    assert status is None or done.exit_code == status, done.output
    return done


def console(*arguments: object, status: int = 0) -> Printed:
    """Run the console script, which turns expected errors into one line; it must end with this status."""
    code, printed = console_status(*arguments)
    assert code == status, printed.err
    return printed


def console_status(*arguments: object) -> tuple[int, Printed]:
    """Run the console script; return its exit status and what it wrote."""
    with (
        redirect_stdout(io.StringIO()) as output,
        redirect_stderr(io.StringIO()) as errors,
        pytest.raises(SystemExit) as ended,
    ):
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0), Printed(output.getvalue(), errors.getvalue())
