"""Replaces credentials in data and messages by their kind: `[redacted:github_token]`.

The patterns are rows of the table `secret_patterns`. They match plain text and JSON. A search for the patterns'
literals comes first, so that most texts cost one scan and few are matched against a pattern. Ingest applies the same
patterns to columns, see `ingest/credentials.py`.
"""

from __future__ import annotations

import csv
import functools
import re
from dataclasses import dataclass

from .sql.modules import csv_file

#: How every replacement begins; counting it counts replacements.
MARK = "[redacted:"
#: Shorter text cannot hold a credential.
SHORTEST = 8


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
