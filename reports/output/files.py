"""Writes answers to files: one message for write errors, and checks before anything is computed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...engine.errors import InputError, UsageError


@contextlib.contextmanager
def writing(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Turn a write error into a one-line message; not if a reader closes the pipe, as `head` does.

    Args:
        path: the file, or the folder of several; None: stdout.

    Raises:
        InputError: it cannot be written.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # Where a file is copied, the second is what is written.
        place = error.filename2 or error.filename or ("stdout" if path is None else os.fspath(path))
        raise InputError(f"{place}: cannot be written: {error.strerror}.") from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text to a file, in UTF-8 and with its line endings unchanged.

    Raises:
        InputError: the file cannot be written.
    """
    with writing(path):
        Path(path).write_text(text, encoding="utf-8", newline="")


def check_target(path: str | os.PathLike[str]) -> None:
    """Check that a file can be created: its folder exists.

    Raises:
        InputError: it does not.
    """
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise InputError(f"{os.fspath(path)}: cannot be written: no such folder: {folder}.")


def checked_suffix(output: str | os.PathLike[str] | None, what: str, formats: Mapping[str, str]) -> str:
    """Return the format that a file's name implies: .md if there is no file.

    Args:
        output: the file.
        what: what is written to it.
        formats: the supported suffixes, and the format's name for people.

    Raises:
        UsageError: the suffix is not supported.
    """
    suffix = ".md" if output is None else Path(output).suffix.lower()
    if suffix not in formats:
        known = " or ".join(f"{name} ({ending})" for ending, name in formats.items())
        raise UsageError(f"{output}: {what} is {known}.")
    return suffix
