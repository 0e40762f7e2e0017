"""The names that relations use, and their synonyms in other tools or earlier versions: `sql/glossary.toml`."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path

_FILE = Path(__file__).resolve().parents[2] / "sql" / "glossary.toml"
#: DuckDB's messages for a missing column.
_MISSING = re.compile(r'(?:Referenced column|does not have a column named) "([^"]+)"')


@functools.cache
def glossary() -> Mapping[str, frozenset[str]]:
    """Return the column names, each with the synonyms that no public relation uses."""
    import tomllib

    return {name: frozenset(others) for name, others in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()}


def ours(word: str) -> str | None:
    """Return our name for a synonym, None if it is unknown."""
    return next((name for name, others in glossary().items() if word.lower() in others), None)


def explained(message: str) -> str:
    """Return DuckDB's message about a missing column, with our name for it appended if it is a synonym."""
    missing = _MISSING.search(message)
    name = ours(missing[1]) if missing else None
    return message if name is None or missing is None else f"{message}\n{missing[1]} is called {name} here."
