"""Finds and replaces credentials in the texts and columns of events, by the patterns of `engine/secrets.py`.

`suspected`, `found`, `matches`, `clean` and `marks` return SQL over a column.
"""

from __future__ import annotations

import functools
import re

from ..engine.secrets import MARK, patterns, redacted
from ..engine.sql.modules import quoted

#: No match is shorter, except that of a password in a URL, which contains an @.
SHORTEST_MATCH = 11
#: Results for texts up to this many characters are cached.
_SHORT = 1024


def holds_any(text: str) -> bool:
    """Whether a text holds a credential; for short texts, such as names, the answer is cached."""
    return _short_holds_any(text) if len(text) <= _SHORT else redacted(text)[1] > 0


@functools.lru_cache(maxsize=1 << 12)
def _short_holds_any(text: str) -> bool:
    return redacted(text)[1] > 0


def holds_literal(text: str) -> bool:
    """Whether a text contains any pattern's literal; a text without one holds no credential, alone or joined."""
    return _any_literal().search(text) is not None


@functools.cache
def _any_literal() -> re.Pattern[str]:
    return re.compile(literals())


def holds_any_in_lower_case(text: str) -> bool:
    """Whether a text that was lower-cased holds a credential."""
    return any(
        re.search(pattern.pattern, text, re.ASCII | re.IGNORECASE)
        for pattern in patterns()
        if any(literal.lower() in text for literal in pattern.literals)
    )


@functools.cache
def literals() -> str:
    """Return the regular expression of all literals, in the syntax common to RE2 and Python."""
    return "|".join(dict.fromkeys(re.escape(literal) for pattern in patterns() for literal in pattern.literals))


def suspected(column: str, *, json: bool = False) -> str:
    """Return the SQL condition that a column contains a literal; false or NULL for NULL.

    Args:
        column: the column, or an expression.
        json: it holds a JSON object without white space between its members, usually without strings. Objects whose
            only strings are keys are searched only if they contain a _ or -.
    """
    literal = f"regexp_matches({column}, {quoted(literals())})"
    if not json:
        return literal
    # CASE, since DuckDB may evaluate the parts of a conjunction in any order, and these short texts are cheap to find.
    marks = " OR ".join(f"contains({column}, {quoted(text)})" for text in ("[", "_", "-", ':"'))
    return f"CASE WHEN {marks} THEN {literal} ELSE false END"


def found(column: str) -> str:
    """Return the SQL condition that a column holds a credential; false or NULL for NULL."""
    return f"CASE WHEN {suspected(column)} THEN {matches(column)} ELSE false END"


def matches(column: str, options: str = "") -> str:
    """Return the SQL condition that a column matches a pattern, without the literal search; NULL for NULL."""
    whole = "|".join(f"(?:{pattern.pattern})" for pattern in patterns())
    return f"regexp_matches({column}, {quoted(whole)}, '{options}')"


def clean(column: str, options: str = "g") -> str:
    """Return the SQL expression of a column with its credentials replaced."""
    for pattern in patterns():
        column = f"regexp_replace({column}, {quoted(pattern.pattern)}, {quoted(pattern.replacement)}, '{options}')"
    return column


def marks(column: str) -> str:
    """Return the SQL expression of the number of replacements in a column; 0 for NULL."""
    return f"coalesce((strlen({column}) - strlen(replace({column}, '{MARK}', ''))) // {len(MARK)}, 0)"
