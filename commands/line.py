"""Interprets the command line before click: options that may appear anywhere, a trace in place of a command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine.naming import a_folder
from ..engine.sql.near import guess

if TYPE_CHECKING:
    from ..engine.storage.paths import Place

#: Options of the command line that a user may write after the command, and of commands that may appear before it.
_OF_THE_LINE = ("--lake", "--color")
_OF_THE_COMMAND = ("--format",)
_JSON = "--json"


def arranged(words: Sequence[str]) -> list[str]:
    """Return the words with the options of the command line first and those of the command last.

    `--json` is short for `--format json`. Words after `--` are unchanged.
    """
    before = list(words[: words.index("--")]) if "--" in words else list(words)
    after = list(words[len(before) :])
    first: list[str] = []
    middle: list[str] = []
    last: list[str] = []
    rest = iter(before)
    for word in rest:
        name, equals, _ = word.partition("=")
        place = first if name in _OF_THE_LINE else last if name in _OF_THE_COMMAND else None
        value = next(rest, None) if place is not None and not equals else None
        if word == "--lake" and (value is None or value.startswith("-")) and "report" in before:
            # All traces of the lake: `report --lake`.
            middle += [word, *([] if value is None else [value])]
        elif word == _JSON:
            last += ["--format", "json"]
        elif place is None:
            middle.append(word)
        else:
            place += [word, *([] if value is None else [value])]
    return [*first, *middle, *last, *after]


def is_trace(lake: Place | None, word: str) -> bool:
    """Return whether a word in the place of a command names a trace: a file, or a trace of the lake."""
    from ..engine.errors import TracelakeError
    from ..ingest.inputs import names_input
    from .common import open_default

    if names_input(word):
        return True
    try:
        open_default(lake).resolve(word)
    except TracelakeError:
        return False
    return True


def unknown(word: str, commands: Sequence[str]) -> click.UsageError:
    """Return the error for a word that is neither a command nor a trace."""
    if Path(word).is_dir():
        return click.UsageError(f"{word}: no such command; {a_folder(word)}{guess(word, commands)}")
    return click.UsageError(
        f"{word}: no such command, file or trace.{guess(word, commands)} `tracelake --help` lists the commands."
    )
