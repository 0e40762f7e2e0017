"""Which relations must have rows for a query to have any: a query known to be empty need not be planned.

An inner join has rows only if both sides have, a union only if one of its parts has, a query with groups only if
its source has. For most traces half of the relations are empty, and planning takes as long without rows.

The text is parsed only as far as needed: clauses, sources and joins, not expressions. If a query cannot be analysed,
the result is that rows may come from anywhere, which is always safe.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

#: Alternatives: a query can have rows only if all relations of one of these have rows.
Sources = tuple[frozenset[str], ...]
#: The query may have rows regardless of its sources.
ANYWHERE: Sources = (frozenset(),)
#: Maximum number of alternatives of a query.
_MOST = 64

_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_*][A-Za-z0-9_]*)*|\w+|[^\s\w]")
_NAME = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)*$")
_COLUMN = re.compile(r"(?:[a-z_][a-z0-9_]*\.)*(?:[a-z_][a-z0-9_]*|\*)$")
_CLAUSES = frozenset("SELECT FROM WHERE GROUP HAVING WINDOW QUALIFY ORDER LIMIT OFFSET".split())
_SETS = frozenset({"UNION", "EXCEPT"})
_JOIN_WORDS = frozenset("NATURAL ASOF INNER CROSS LEFT RIGHT FULL OUTER SEMI ANTI POSITIONAL".split())
#: Keywords that can make a row from no rows, or rows without a FROM.
_STRANGE = frozenset("GROUPING ROLLUP CUBE PIVOT UNPIVOT VALUES INTERSECT".split())

Tokens = Sequence[str]


def row_sources(code: str) -> Sources:
    """Return the relations that the rows of a query come from.

    Args:
        code: the query without comments and literals, with keywords in upper case and names in lower case.
    """
    return _query(_TOKEN.findall(code), {})


def _query(tokens: Tokens, known: Mapping[str, Sources]) -> Sources:
    known = dict(known)
    if tokens and tokens[0] == "WITH":
        tokens = _common_tables(tokens, known)
    if any(word for word, _ in _split(tokens, _STRANGE)):
        return ANYWHERE
    parts = [_part(part, known) for word, part in _split(tokens, _SETS) if word != "EXCEPT"]
    return _simpler(tuple(itertools.chain(*parts)))


def _common_tables(tokens: Tokens, known: dict[str, Sources]) -> Tokens:
    """Parse `WITH name AS (...), ...` and return what follows."""
    recursive = tokens[1] == "RECURSIVE"
    at = 2 if recursive else 1
    while True:
        name = tokens[at]
        at = tokens.index("AS", at) + 1
        while tokens[at] != "(":
            at += 1
        end = _closing(tokens, at)
        inner = tokens[at + 1 : end]
        if recursive and name in inner:
            # A recursive CTE is empty if its anchor part is.
            inner = next(_split(inner, _SETS))[1]
        known[name] = _query(inner, known)
        at = end + 1
        if at >= len(tokens) or tokens[at] != ",":
            return tokens[at:]
        at += 1


def _part(tokens: Tokens, known: Mapping[str, Sources]) -> Sources:
    """Return the sources of one SELECT, or of a query in parentheses."""
    while tokens and tokens[0] in {"ALL", "DISTINCT", "BY", "NAME"}:
        tokens = tokens[1:]
    if not tokens:
        return ANYWHERE
    if tokens[0] == "(" and _closing(tokens, 0) == len(tokens) - 1:
        return _query(tokens[1:-1], known)
    clauses = dict(_split(_without_is_from(tokens), _CLAUSES))
    if "FROM" not in clauses or not _keeps_none(clauses.get("SELECT", ["*"]), clauses.get("GROUP", ())):
        return ANYWHERE
    return _from(clauses["FROM"], known)


def _keeps_none(shown: Tokens, group: Tokens) -> bool:
    """Return whether a SELECT over no rows returns none: an aggregate without groups returns one."""
    if group[:1] == ["BY"] and group[:2] != ["BY", "ALL"]:
        return True
    # An aggregate beside a plain column has groups; an alias of another expression is not a plain column.
    parts = [part for _, part in _split(shown, {",", "DISTINCT"}) if part]
    named = {part[-1] for part in parts if len(part) > 1 and part[-2] == "AS"}
    plain = (part[0] for part in parts if len(part) == 1 or part[1] in {"AS", "EXCLUDE", "REPLACE"})
    return any(_COLUMN.match(name) and name not in named for name in plain)


def _from(tokens: Tokens, known: Mapping[str, Sources]) -> Sources:
    found: Sources | None = None
    for kind, source in _joined(tokens):
        rows = _source(source, known)
        if found is None or kind == "RIGHT":
            found = rows
        elif kind == "FULL":
            found = _simpler((*found, *rows))
        elif kind == "INNER":
            found = _both(found, rows)
    return found or ANYWHERE


def _joined(tokens: Tokens) -> Iterator[tuple[str, Tokens]]:
    """Yield the sources of a FROM, each with the kind of its join: INNER, RIGHT, FULL or LEFT."""
    kind = "INNER"
    for word, part in _split(tokens, {"JOIN", ","}):
        if word == ",":
            kind = "INNER"
        end = len(part)
        while end and part[end - 1] in _JOIN_WORDS:
            end -= 1
        yield kind, part[:end]
        words = set(part[end:])
        # Unmatched rows of the first side are kept, or are the only ones kept.
        kept = words & {"RIGHT", "FULL", "LEFT", "ANTI", "POSITIONAL"}
        kind = "FULL" if "POSITIONAL" in kept else "LEFT" if "ANTI" in kept else next(iter(kept), "INNER")


def _source(tokens: Tokens, known: Mapping[str, Sources]) -> Sources:
    if tokens and tokens[0] == "LATERAL":
        tokens = tokens[1:]
    if not tokens:
        return ANYWHERE
    if tokens[0] == "(":
        return _query(tokens[1 : _closing(tokens, 0)], known)
    if not _NAME.match(tokens[0]) or (len(tokens) > 1 and tokens[1] == "("):
        return ANYWHERE
    return known.get(tokens[0], (frozenset([tokens[0]]),))


def _both(one: Sources, other: Sources) -> Sources:
    return _simpler(tuple(a | b for a, b in itertools.product(one, other)))


def _simpler(found: Sources) -> Sources:
    """Return the minimal alternatives; if there are too many, ANYWHERE."""
    least = tuple(one for one in dict.fromkeys(found) if not any(other < one for other in found))
    return least if len(least) <= _MOST else ANYWHERE


def _split(tokens: Tokens, words: set[str] | frozenset[str]) -> Iterator[tuple[str, Tokens]]:
    """Yield the parts between some words outside parentheses, each with the preceding word, at first empty."""
    word, start, depth = "", 0, 0
    for at, token in enumerate(tokens):
        depth += (token == "(") - (token == ")")
        if depth == 0 and token in words:
            if at > start or word:
                yield word, tokens[start:at]
            word, start = token, at + 1
    yield word, tokens[start:]


def _closing(tokens: Tokens, at: int) -> int:
    """Return the position of the matching closing parenthesis."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place] == "(") - (tokens[place] == ")")
        if depth == 0:
            return place
    raise ValueError("a parenthesis is left open")


def _without_is_from(tokens: Tokens) -> Tokens:
    """Return tokens without the FROM of `IS DISTINCT FROM`."""
    return [
        token for before, token in zip(("", *tokens), tokens, strict=False) if (before, token) != ("DISTINCT", "FROM")
    ]
