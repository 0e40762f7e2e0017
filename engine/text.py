"""Names are text: what stands in a file is shown, never obeyed, by a terminal, a browser, a spreadsheet.

Each output has its rule here, and nowhere else: `printable` for whatever people read, `markdown` and `markdown_prose`,
`json_text`, `cell` for CSV. HTML is escaped by the templates, after `printable`.
"""

from __future__ import annotations

import re

#: Ranges of characters that act instead of being seen: controls (a terminal obeys them), marks that turn the direction
#: of text or have no width (a name looks like another), separators of lines, and halves of characters (not UTF-8).
_ACTING = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200F),
    (0x2028, 0x202E), (0x2060, 0x206F), (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F),
)  # fmt: skip
_ACTS = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _ACTING) + "]")
#: How a formula begins; what begins so and is a number is a number.
#: The last four are those of East Asian width, which spreadsheets read likewise.
_FORMULA = "=+-@\t\r\uff1d\uff0b\uff0d\uff20"
#: What Markdown would take for more than text, within a line. `<` begins a tag only before these.
_MARKDOWN = re.compile(r"[\\`*~]|<(?=[A-Za-z/!?])|(?<=\])[(\[:]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])|\|")
_MARKDOWN_PROSE = re.compile(r"(\\*)(<(?=[A-Za-z/!?])|(?<=\])[(\[])")


def printable(text: str) -> str:
    """Return text with what a terminal would obey, or nobody could see, spelled out; lines and tabs stay."""
    return text if text.isprintable() else _ACTS.sub(lambda found: _spelled(ord(found[0])), text)


def _spelled(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_text(text: str) -> str:
    r"""Return JSON with the same characters written as `\u001b`: to a reader of JSON nothing has changed."""
    return text if text.isprintable() else _ACTS.sub(lambda found: _units(ord(found[0])), text)


def _units(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code - 0x10000 & 0x3FF):04x}"


def markdown(name: str) -> str:
    """Return a name for a line, or the cell of a table, of Markdown: no tag, link, picture, code, stress or column."""
    line = printable(name).replace("\n", " ").replace("\t", " ")
    return _MARKDOWN.sub(lambda found: "\\" + found[0], line)


def markdown_prose(prose: str) -> str:
    """Return words of ours, which may have code and stress, and names in them: no tag, link or picture."""
    return _MARKDOWN_PROSE.sub(r"\1\1\\\2", printable(prose))


def cell(text: str, *, spreadsheet: bool) -> str:
    """Return text for CSV; for a spreadsheet with a ' before what it would run as a formula."""
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
    """Return the SQL condition that text of a column is not for CSV as it is; `cell` says how it is."""
    ranges = "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in _ACTING if not 0xD800 <= first <= 0xDFFF)
    formula = "".join(f"\\x{{{ord(char):x}}}" for char in _FORMULA)
    return f"regexp_matches({column}, '[{ranges}]|^[{formula}]')"
