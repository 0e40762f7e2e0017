"""Credentials in what files and messages say are replaced by what they were: `[redacted:github_token]`.

The patterns are rows of the table `secret_patterns`. They fit text and JSON text alike, and are applied in two ways:
`redacted` works on one text, `suspected`, `matches` and `clean` are SQL over a column. A search for the rows' literals
comes first, so that text without any costs a scan of it, and a pattern is tried on few texts.
"""

from __future__ import annotations

import csv
import functools
import re
from dataclasses import dataclass

from .sql.modules import csv_file, quoted

#: How every replacement begins; counting them counts what was replaced.
MARK = "[redacted:"
#: Shorter text is no credential.
SHORTEST = 8
#: No match is shorter, but for that of a password in a URL, which has an @.
SHORTEST_MATCH = 11
#: Characters of a text whose answer is cached.
_SHORT = 1024


@dataclass(frozen=True)
class Pattern:
    """One kind of credential.

    Attributes:
        secret: what it is.
        literals: texts, one of which every match contains.
        pattern: a regular expression in the syntax that RE2 and Python share; groups stay.
    """

    secret: str
    literals: tuple[str, ...]
    pattern: str

    @functools.cached_property
    def regex(self) -> re.Pattern[str]:
        """The pattern, compiled when a text first holds one of its literals: all of them take 8 ms."""
        return re.compile(self.pattern, re.ASCII)

    @functools.cached_property
    def beginning(self) -> re.Pattern[str]:
        """What matches the beginning of a credential at the end of a text."""
        cut = re.sub(r"\{[0-9]+,\}", "*", self.pattern).replace("={1,2}", "={0,2}").replace(r"\.", r"\.?")
        if self.secret == "url_password":
            # The number of a port is not a secret.
            cut = cut.replace(":)", r":)(?![0-9]{1,5}\Z)").replace("(@)", "()")
        return re.compile(rf"(?:{cut})\Z", re.ASCII)

    @property
    def replacement(self) -> str:
        """What takes the place of a match, the groups that stay among it."""
        before, after = (rf"\{nth}" if self.regex.groups >= nth else "" for nth in (1, 2))
        return f"{before}{MARK}{self.secret}]{after}"


@functools.cache
def patterns() -> tuple[Pattern, ...]:
    """Return the shipped patterns in the order they are applied."""
    with csv_file("secret_patterns").open(encoding="utf-8", newline="") as rows:
        ordered = sorted(csv.DictReader(rows), key=lambda row: int(row["priority"]))
    return tuple(Pattern(row["secret"], tuple(row["literals"].split()), row["pattern"]) for row in ordered)


def redacted(text: str, *, cut_off: bool = False) -> tuple[str, int]:
    """Return text, plain or JSON, with its credentials replaced, and how many were.

    Args:
        text: the text.
        cut_off: it may end inside a credential, of which the beginning is replaced.
    """
    count = 0
    if len(text) >= SHORTEST:
        for pattern in patterns():
            if any(literal in text for literal in pattern.literals):
                text, replaced = pattern.regex.subn(pattern.replacement, text)
                count += replaced
        if cut_off:
            for pattern in patterns():
                if pattern.secret == "url_password" or any(literal in text for literal in pattern.literals):
                    text, replaced = pattern.beginning.subn(pattern.replacement, text)
                    count += replaced
    return text, count


def redact(text: str) -> str:
    """Return text with its credentials replaced."""
    return redacted(text)[0]


def holds_any(text: str) -> bool:
    """Whether a text holds a credential; of a short one, as names are, the answer is cached."""
    return _short_holds_any(text) if len(text) <= _SHORT else redacted(text)[1] > 0


@functools.lru_cache(maxsize=1 << 12)
def _short_holds_any(text: str) -> bool:
    return redacted(text)[1] > 0


def holds_literal(text: str) -> bool:
    """Whether a text holds what every credential has some of; a text without holds none, by itself or among others."""
    return _any_literal().search(text) is not None


@functools.cache
def _any_literal() -> re.Pattern[str]:
    return re.compile(literals())


def holds_any_in_lower_case(text: str) -> bool:
    """Whether a text, whose letters were made small ones, held a credential."""
    return any(
        re.search(pattern.pattern, text, re.ASCII | re.IGNORECASE)
        for pattern in patterns()
        if any(literal.lower() in text for literal in pattern.literals)
    )


@functools.cache
def literals() -> str:
    """Return the regular expression of all literals, in the syntax that RE2 and Python share."""
    return "|".join(dict.fromkeys(re.escape(literal) for pattern in patterns() for literal in pattern.literals))


def suspected(column: str, *, json: bool = False) -> str:
    """Return the SQL condition that a column holds a literal; false or NULL for NULL.

    Args:
        column: the column, or an expression.
        json: it holds a JSON object without white space between its members, most often one without strings. Of an
            object that has none but its keys, only such with a _ or - in it are looked at.
    """
    literal = f"regexp_matches({column}, {quoted(literals())})"
    if not json:
        return literal
    # CASE, since the parts of a conjunction are tried in any order, and a short text is found fastest.
    marks = " OR ".join(f"contains({column}, {quoted(text)})" for text in ("[", "_", "-", ':"'))
    return f"CASE WHEN {marks} THEN {literal} ELSE false END"


def found(column: str) -> str:
    """Return the SQL condition that a column holds a credential; false or NULL for NULL."""
    return f"CASE WHEN {suspected(column)} THEN {matches(column)} ELSE false END"


def matches(column: str, options: str = "") -> str:
    """Return the SQL condition that a column matches a pattern, literals or not; NULL for NULL."""
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
