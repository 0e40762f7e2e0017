"""What relations call a thing, and the names that it has elsewhere or had before: `sql/glossary.toml`."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path

_FILE = Path(__file__).resolve().parents[2] / "sql" / "glossary.toml"
#: How DuckDB speaks of a column that is not there.
_MISSING = re.compile(r'(?:Referenced column|does not have a column named) "([^"]+)"')


@functools.cache
def glossary() -> Mapping[str, frozenset[str]]:
    """Return the names of columns, each with those that no public relation has for the same thing."""
    import tomllib

    return {name: frozenset(others) for name, others in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()}


def ours(word: str) -> str | None:
    """Return our name for what somebody calls by another, None where we know none."""
    return next((name for name, others in glossary().items() if word.lower() in others), None)


def explained(message: str) -> str:
    """Return DuckDB's message of a column that is not there, with the name that relations have for it."""
    missing = _MISSING.search(message)
    name = ours(missing[1]) if missing else None
    return message if name is None or missing is None else f"{message}\n{missing[1]} is called {name} here."
