"""Escaping: names come from files, and no terminal, browser or spreadsheet must interpret them.

Each output has its rule here and only here: `printable` for anything people read, `markdown` and `markdown_prose`,
`json_text`, `cell` for CSV. HTML is escaped by the templates, after `printable`.
"""

from __future__ import annotations

import re

#: Ranges of characters that act instead of being displayed: control characters, bidirectional and zero-width marks
#: (one name can look like another), line separators, and surrogates (not UTF-8).
_ACTING = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200F),
    (0x2028, 0x202E), (0x2060, 0x206F), (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F),
)  # fmt: skip
_ACTS = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _ACTING) + "]")
#: How a formula begins; numbers that begin so are left alone.
#: The last four are the full-width forms, which spreadsheets treat alike.
_FORMULA = "=+-@\t\r\uff1d\uff0b\uff0d\uff20"
#: Characters with a meaning in Markdown, within a line. `<` begins a tag only before these.
_MARKDOWN = re.compile(r"[\\`*~]|<(?=[A-Za-z/!?])|(?<=\])[(\[:]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])|\|")
_MARKDOWN_PROSE = re.compile(r"(\\*)(<(?=[A-Za-z/!?])|(?<=\])[(\[])")


def printable(text: str) -> str:
    """Return text with control and invisible characters spelled out; newlines and tabs are kept."""
    return text if text.isprintable() else _ACTS.sub(lambda found: _spelled(ord(found[0])), text)


def _spelled(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_text(text: str) -> str:
    r"""Return JSON with the same characters written as `\u001b`; its value is unchanged."""
    return text if text.isprintable() else _ACTS.sub(lambda found: _units(ord(found[0])), text)


def _units(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code - 0x10000 & 0x3FF):04x}"


def markdown(name: str) -> str:
    """Escape a name for a line or table cell of Markdown: no tag, link, image, code, emphasis or column."""
    line = printable(name).replace("\n", " ").replace("\t", " ")
    return _MARKDOWN.sub(lambda found: "\\" + found[0], line)


def markdown_prose(prose: str) -> str:
    """Escape names in our own prose, which may have code and emphasis: no tag, link or image."""
    return _MARKDOWN_PROSE.sub(r"\1\1\\\2", printable(prose))


def cell(text: str, *, spreadsheet: bool) -> str:
    """Return text for CSV; for a spreadsheet, a leading ' disarms what it would run as a formula."""
    shown = printable(text)
    if spreadsheet and text[:1] and text[0] in _FORMULA and not _is_number(text):
        return "'" + shown
    return shown


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def unsafe_in_csv(column: str) -> str:
    """Return the SQL condition that `cell` would change the text of a column."""
    ranges = "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in _ACTING if not 0xD800 <= first <= 0xDFFF)
    formula = "".join(f"\\x{{{ord(char):x}}}" for char in _FORMULA)
    return f"regexp_matches({column}, '[{ranges}]|^[{formula}]')"
