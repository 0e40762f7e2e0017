"""How the command line ends when it cannot answer: a line for people, and the exit code."""

from __future__ import annotations

import errno
import io
import logging
import os
import sys

import click

from ..engine.errors import InputError, TracelakeError
from .common import say

#: What cannot be used: the input, the lake, the disk, memory.
_UNUSABLE = InputError.exit_code
_FULL = "No space left on device"


class _Closed(io.TextIOBase):
    """Stands for a stdout that is closed: what is written to it is an error, as on a full disk."""

    def write(self, text: str) -> int:  # noqa: ARG002
        raise OSError(errno.EBADF, "it is closed")

    @property
    def buffer(self) -> _Closed:
        """Bytes fare no better."""
        return self


class _Said(logging.Handler):
    """Tells what the engine has to say beside an answer, as commands do."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def prepare() -> None:
    """Have warnings told on stderr, and text of any kind shown wherever it goes."""
    log = logging.getLogger("tracelake")
    if not log.handlers:
        log.addHandler(_Said())
        log.propagate = False
    if sys.stdout is None:
        sys.stdout = _Closed()
    for stream in (sys.stdout, sys.stderr):
        # File names may be no UTF-8, and a terminal may know less than it.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def exit_code(error: BaseException) -> int:
    """Say what is wrong, and return the code to end with.

    Raises:
        Exception: that very error, where TRACELAKE_DEBUG asks for it.
    """
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return 130
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, TracelakeError):
        say(str(error))
        return error.exit_code
    if os.environ.get("TRACELAKE_DEBUG"):
        raise error
    told, code = _told(error)
    say(told)
    return code


def _told(error: BaseException) -> tuple[str, int]:
    if isinstance(error, OSError):
        return _of_storage(error), _UNUSABLE
    if isinstance(error, UnicodeError):
        return "text that is not UTF-8 cannot be asked for.", 2
    if isinstance(error, MemoryError):
        return "there is not enough memory. TRACELAKE_THREADS=1 needs less.", _UNUSABLE
    duckdb = sys.modules.get("duckdb")  # not imported for commands that ask nothing
    if duckdb is not None and isinstance(error, duckdb.Error):
        if isinstance(error, duckdb.InterruptException):
            return "interrupted.", 130
        if isinstance(error, duckdb.OutOfMemoryException):
            return f"{_first(error)}\n  There is not enough memory. TRACELAKE_THREADS=1 needs less.", _UNUSABLE
        if isinstance(error, duckdb.DataError):
            return f"{error}\n  A number is too large to compute with, or a value is not of its type.", 2
        if isinstance(error, duckdb.IOException):
            full = "\n  The disk is full." if _FULL in str(error) else ""
            return f"cannot be read or written: {_first(error)}{full}", _UNUSABLE
        if isinstance(error, duckdb.InvalidInputException):
            return (
                f"{_first(error)}\n  A trace in the lake holds what cannot be read. "
                "`tracelake doctor` names traces that are set aside; `tracelake remove` takes one away."
            ), _UNUSABLE
    return f"{type(error).__name__}: {error}\n  This should not happen. TRACELAKE_DEBUG=1 shows where it did.", 1


def _of_storage(error: OSError) -> str:
    place = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    reason = error.strerror or str(error)
    what = "cannot be read" if error.errno == errno.ENOENT else "cannot be used"
    return f"{place}: {what}: {reason}." if place else f"a file {what}: {reason}."


def _first(error: BaseException) -> str:
    """Return the first line of what the database says: the others quote the question."""
    return str(error).partition("\n")[0]
