"""Writing answers to files: what cannot be written is said in one way, and before anything is computed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ..engine.errors import InputError


@contextlib.contextmanager
def writing(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Turn an error of writing into a line for people; a reader that goes away, as `head` does, is none.

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
        place = error.filename or ("stdout" if path is None else os.fspath(path))
        raise InputError(f"{place}: cannot be written: {error.strerror}.") from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text to a file, in UTF-8 and with the line ends that it has.

    Raises:
        InputError: the file cannot be written.
    """
    with writing(path):
        Path(path).write_text(text, encoding="utf-8", newline="")


def check_target(path: str | os.PathLike[str]) -> None:
    """Check that a file can be where it is to be written: its folder is there.

    Raises:
        InputError: it is not.
    """
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise InputError(f"{os.fspath(path)}: cannot be written: there is no folder {folder}.")
