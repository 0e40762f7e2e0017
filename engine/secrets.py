"""Replaces credentials in data and messages by their kind: `[redacted:github_token]`.

The patterns are rows of the table `secret_patterns`. They match plain text and JSON, and are applied in two ways:
`redacted` works on one text; `suspected`, `matches` and `clean` return SQL over a column. A search for the patterns'
literals comes first, so that most texts cost one scan and few are matched against a pattern.
"""

from __future__ import annotations

import csv
import functools
import re
from dataclasses import dataclass

from .sql.modules import csv_file, quoted

#: How every replacement begins; counting it counts replacements.
MARK = "[redacted:"
#: Shorter text cannot hold a credential.
SHORTEST = 8
#: No match is shorter, except that of a password in a URL, which contains an @.
SHORTEST_MATCH = 11
#: Results for texts up to this many characters are cached.
_SHORT = 1024


@dataclass(frozen=True)
class Pattern:
    """One kind of credential.

    Attributes:
        secret: the kind.
        literals: texts; every match contains one of them.
        pattern: a regular expression in the syntax common to RE2 and Python; groups are kept.
    """

    secret: str
    literals: tuple[str, ...]
    pattern: str

    @functools.cached_property
    def regex(self) -> re.Pattern[str]:
        """The pattern, compiled when a text first contains one of its literals: compiling all takes 8 ms."""
        return re.compile(self.pattern, re.ASCII)

    @functools.cached_property
    def beginning(self) -> re.Pattern[str]:
        """A pattern for a truncated credential at the end of a text."""
        cut = re.sub(r"\{[0-9]+,\}", "*", self.pattern).replace("={1,2}", "={0,2}").replace(r"\.", r"\.?")
        if self.secret == "url_password":
            # A port number is not a secret.
            cut = cut.replace(":)", r":)(?![0-9]{1,5}\Z)").replace("(@)", "()")
        return re.compile(rf"(?:{cut})\Z", re.ASCII)

    @property
    def replacement(self) -> str:
        """The replacement of a match, including the groups that are kept."""
        before, after = (rf"\{nth}" if self.regex.groups >= nth else "" for nth in (1, 2))
        return f"{before}{MARK}{self.secret}]{after}"


@functools.cache
def patterns() -> tuple[Pattern, ...]:
    """Return the shipped patterns in the order they are applied."""
    with csv_file("secret_patterns").open(encoding="utf-8", newline="") as rows:
        ordered = sorted(csv.DictReader(rows), key=lambda row: int(row["priority"]))
    return tuple(Pattern(row["secret"], tuple(row["literals"].split()), row["pattern"]) for row in ordered)


def redacted(text: str, *, cut_off: bool = False) -> tuple[str, int]:
    """Return text, plain or JSON, with its credentials replaced, and their number.

    Args:
        text: the text.
        cut_off: the text may end inside a credential, whose beginning is then replaced.
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
