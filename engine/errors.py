"""Errors a user can meet. Each carries the exit code the command line ends with."""

from __future__ import annotations

import os
import re

#: What DuckDB says of a full disk, in a JSON object if it wrote in the background.
_FULL = re.compile(r'(?:Could not write file \\?"[^"]*": )?No space left on device')


class TracelakeError(Exception):
    """An error whose message says what was expected, what was found and what to do; credentials are redacted."""

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        """Make an error with a message."""
        from .secrets import redact

        super().__init__(redact(message))

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows: one line, as on the command line, instead of a traceback."""
        from .text import printable

        return [printable(f"tracelake: {self}")]


class UsageError(TracelakeError):
    """The command or query is invalid: an unknown trace, relation, setting or value."""

    exit_code = 2


class InputError(TracelakeError):
    """The input is unusable: not a trace, unreadable, or of an unsupported lake version."""

    exit_code = 3


def unpermitted(path: str | os.PathLike[str]) -> InputError:
    """Return the error of a file or folder of a lake that this user may not read: what is in it is not damaged."""
    return InputError(
        f"{os.fspath(path)}: cannot be read: Permission denied.\n"
        "  Nothing is known to be damaged, and nothing need be removed: change its permissions, or ask its owner to."
    )


def why(error: BaseException) -> str:
    """Return in a line why a file cannot be written; Delta's reason is the last line, after an arrow in colour."""
    text = getattr(error, "strerror", None) or str(error)
    if full := _FULL.search(text):
        return full[0].replace('\\"', '"')
    return re.sub(r"\x1b\[\d+m", "", text.rpartition("\u21b3")[2]).strip()
