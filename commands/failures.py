"""How a failed command ends: a one-line message and the exit code."""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
from pathlib import Path

import click

from ..engine.errors import InputError, TracelakeError, why
from ..engine.secrets import redact
from ..engine.storage.objects import StoreError, store_reason
from .common import say

#: Exit code for unusable input, lake, disk or memory.
_UNUSABLE = InputError.exit_code


class _Closed(io.TextIOBase):
    """Replaces a closed stdout: writing to it is an error, as on a full disk."""

    def write(self, text: str) -> int:  # noqa: ARG002
        raise OSError(errno.EBADF, "it is closed")

    @property
    def buffer(self) -> _Closed:
        """The same for bytes."""
        return self


class _Handler(logging.Handler):
    """Prints the engine's warnings as commands print messages."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def prepare() -> None:
    """Send warnings to stderr, and escape characters that a stream cannot encode."""
    if sys.stderr is None:
        # Its number is free: a file that is opened next would have it, and take what others print there.
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    log = logging.getLogger("tracelake")
    if not log.handlers:
        log.addHandler(_Handler())
        log.propagate = False
    if sys.stdout is None:
        sys.stdout = _Closed()
    for stream in (sys.stdout, sys.stderr):
        # File names may be invalid UTF-8, and a terminal's encoding may lack characters.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def exit_code(error: BaseException) -> int:
    """Print the error, and return the exit code.

    Raises:
        Exception: the error itself, if TRACELAKE_DEBUG is set.
    """
    if isinstance(error, click.Abort) and isinstance(error.__cause__, EOFError):
        # Click takes it for the end of what a user types; here it is that of a file, such as one of Python's own.
        error = error.__cause__
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return 130
    if isinstance(error, click.ClickException):
        shown = io.StringIO()
        error.show(shown)
        click.echo(redact(shown.getvalue()), err=True, nl=False)
        return error.exit_code
    if isinstance(error, TracelakeError):
        say(str(error))
        return error.exit_code
    if os.environ.get("TRACELAKE_DEBUG"):
        raise error
    message, code = _described(error)
    say(message)
    return code


def is_of_a_query(error: Exception) -> bool:
    """Return whether an error is DuckDB's, raised by a query."""
    duckdb = sys.modules.get("duckdb")  # not imported by commands without a query
    return duckdb is not None and isinstance(error, duckdb.Error)


def _described(error: BaseException) -> tuple[str, int]:
    if isinstance(error, OSError):
        return _of_storage(error), _UNUSABLE
    if isinstance(error, UnicodeError):
        return "a query must be UTF-8 text.", 2
    if isinstance(error, MemoryError):
        return "there is not enough memory. TRACELAKE_THREADS=1 needs less.", _UNUSABLE
    duckdb = sys.modules.get("duckdb")  # not imported by commands without a query
    if duckdb is not None and isinstance(error, duckdb.Error):
        if isinstance(error, duckdb.InterruptException):
            return "interrupted.", 130
        if isinstance(error, duckdb.OutOfMemoryException):
            return f"{_first(error)}\n  There is not enough memory. TRACELAKE_THREADS=1 needs less.", _UNUSABLE
        if isinstance(error, duckdb.DataError):
            return f"{error}\n  A number is too large to compute with, or a value is not of its type.", 2
        if reason := store_reason(error):
            return f"{reason}.", _UNUSABLE
        if isinstance(error, duckdb.IOException):
            return f"cannot be read or written: {why(error)}", _UNUSABLE
        if isinstance(error, duckdb.InvalidInputException):
            # Not the lake's fault: its files were checked, and a trace whose own rows fail is excluded.
            return f"{_first(error)}\n  A value in the query is not one that can be computed with, or is missing.", 2
    return f"{type(error).__name__}: {error}\n  This should not happen. TRACELAKE_DEBUG=1 shows where it did.", 1


def _of_storage(error: OSError) -> str:
    if isinstance(error, StoreError):
        return str(error)
    place = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    reason = error.strerror or str(error)
    what = "cannot be read" if error.errno == errno.ENOENT else "cannot be used"
    return f"{place}: {what}: {reason}." if place else f"a file {what}: {reason}."


def _first(error: BaseException) -> str:
    """Return the first line of the database's message: the others quote the query."""
    return str(error).partition("\n")[0]
