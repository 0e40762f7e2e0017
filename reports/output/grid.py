"""Tables as text: in full for files and pipes, fitted to the width of a terminal.

On a terminal numbers and ids are never broken, long names are cut in the middle, sentences are wrapped. Columns that
are empty, or the same in all rows, are named below the table instead, as are those without room. If not even the
most important columns fit, rows are shown as cards.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO

from ...engine.text import printable
from .screen import Look, Screen, painted

#: The gap between two columns.
_BETWEEN = "   "
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_MEASURE = re.compile(r"_(us|ms|pct|gbps|tflops)$|^(MFU|MBU|FLOP known %|roofline)$")
#: Minimum characters of a name, and of a line of a sentence, before columns are left out for others.
_LEAST_NAME, _LEAST_PROSE = 24, 34
#: Characters of a bar, and the priority from which on columns are left out for it.
_BAR = 8
_BAR_PRIORITY = 3
#: With up to this many rows, the main measures are shown even if they are all the same.
_FEW = 3
#: Maximum characters of a value that is named below the table.
_LONGEST_NOTE = 40


@dataclass(frozen=True)
class Field:
    """A column: its cells as text, and how wide it is."""

    name: str
    right: bool
    cells: tuple[str, ...]
    look: Look
    width: int = 0
    bar: bool = False
    header: tuple[str, ...] = ()

    @property
    def natural(self) -> int:
        """Length of the longest cell."""
        return max((_cells(line) for cell in self.cells for line in cell.split("\n")), default=0)

    @property
    def least(self) -> int:
        """Minimum width of the column."""
        if self.right or self.look.kind in ("id", "state"):
            return self.natural
        return min(self.natural, _LEAST_PROSE if self.look.kind == "prose" else _LEAST_NAME)


def write_grid(
    columns: Sequence[str], numeric: Sequence[bool], rows: Sequence[Sequence[str]], out: IO[str], screen: Screen
) -> None:
    """Write rows as a table.

    Args:
        columns: names.
        numeric: which columns are numbers.
        rows: cells.
        out: the file or terminal.
        screen: the terminal; without a width the table is written in full.
    """
    fields = fields_of(columns, numeric, rows, screen)
    out.write("\n")
    if screen.width is None:
        shown = [replace(field, header=(field.name,), width=max(field.natural, _cells(field.name))) for field in fields]
        out.writelines(_grid(shown, screen))
    else:
        _write_fitted(fields, len(rows), screen.width, out, screen)
    out.write("\n")


def _write_fitted(fields: list[Field], rows: int, width: int, out: IO[str], screen: Screen) -> None:
    fit = fitted(fields, rows, width)
    if fit.shown is None:
        out.writelines(_cards(fit.fields, rows, screen))
    else:
        out.writelines(_grid(fit.shown, screen))
    left_out = [f"No room for: {', '.join(fit.left_out)}. --wide shows them."] if fit.left_out else []
    for note in [*fit.notes, *left_out]:
        out.writelines(painted(line, "dim", screen) + "\n" for line in textwrap.wrap(note, width - 1))


@dataclass(frozen=True)
class Fit:
    """The part of a table that fits a width.

    Attributes:
        shown: the columns that fit, with their widths; None if not even the most important ones do.
        fields: the informative columns.
        left_out: the names of those without room.
        notes: sentences on the uninformative ones.
    """

    shown: list[Field] | None
    fields: list[Field]
    left_out: list[str]
    notes: list[str]


def fitted(fields: list[Field], rows: int, width: int) -> Fit:
    """Return what is shown of columns with this many rows, in a width."""
    telling, notes = _telling(fields, rows)
    telling = [_aligned(field) for field in telling]
    shown, left_out = _fitted(telling, width)
    return Fit(shown, telling, left_out, notes)


def fields_of(
    columns: Sequence[str], numeric: Sequence[bool], rows: Sequence[Sequence[str]], screen: Screen
) -> list[Field]:
    """Return the columns of a table; see `write_grid`."""
    transposed = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return [
        Field(printable(name), right, tuple(map(printable, cells)), screen.look(name))
        for name, right, cells in zip(columns, numeric, transposed, strict=True)
    ]


def _telling(fields: list[Field], rows: int) -> tuple[list[Field], list[str]]:
    """Return the informative columns, and sentences with the constant value of each other one."""
    if not rows:
        return fields, []
    empty = [field for field in fields if not any(field.cells)]
    same = [
        field for field in fields
        if rows > 1 and field not in empty and len(set(field.cells)) == 1 and field.look.kind != "prose"
        if rows > _FEW or field.look.priority > 2 or not _MEASURE.search(field.name)
    ]  # fmt: skip
    told = [field for field in fields if field not in empty and field not in same]
    twins = {
        field.name: one.name for place, field in enumerate(told) for one in told[:place]
        if rows > 1 and not field.right and field.cells == one.cells
    }  # fmt: skip
    telling = [field for field in told if field.name not in twins]
    if not telling:
        return fields, []
    notes = []
    if same:
        values = (f"{field.name} {cut_middle(field.cells[0].replace(chr(10), ' '), _LONGEST_NOTE)}" for field in same)
        notes.append(f"Same in all rows: {', '.join(values)}.")
    notes += [f"As {one}: {name}." for name, one in twins.items()]
    if empty:
        notes.append(f"Empty: {', '.join(field.name for field in empty)}.")
    return telling, notes


def _aligned(field: Field) -> Field:
    """Return a column whose numbers all have the same number of decimals."""
    if not field.right or field.look.kind == "mixed":
        return field
    return replace(field, cells=aligned(field.cells))


def aligned(cells: tuple[str, ...], space: str = " ") -> tuple[str, ...]:
    """Pad the cells of a column to the same number of decimals, if all are numbers or empty.

    Zeros fill up to the third decimal, spaces the rest: numbers of 0.1 or more are rounded to three, smaller ones
    have as many decimals as they need.
    """
    places = max((len(cell.partition(".")[2]) for cell in cells), default=0)
    if not places or not all(cell == "" or _NUMBER.fullmatch(cell) for cell in cells):
        return cells

    def padded(cell: str) -> str:
        whole, _, decimals = cell.partition(".")
        filled = f"{decimals:0<{min(places, 3)}}"
        return f"{whole}.{filled}" + space * (places - len(filled)) if cell else ""

    return tuple(map(padded, cells))


def _fitted(fields: list[Field], width: int) -> tuple[list[Field] | None, list[str]]:
    """Return the columns that fit with their widths, and the names of those left out; None if cards are better."""
    shown, left_out = list(fields), []
    bars = with_bar(fields)
    while (sized := _in_width(shown, bars, width)) is None:
        # Of equal ones the rightmost is dropped; the first columns of an answer are its keys.
        last = max(range(len(shown)), key=lambda place: (shown[place].look.priority, place))
        if bars is not None and shown[last].look.priority <= _BAR_PRIORITY:
            bars = None
        elif shown[last].look.priority <= 1 or len(shown) == 1 or len(fields[0].cells) == 1:
            return None, []
        else:
            left_out.append(shown.pop(last))
    # A wide column dropped last may have left room for narrow ones dropped before it.
    for field in reversed(left_out[:-1]):
        more = [one for one in fields if one is field or one in shown]
        if wider := _in_width(more, bars, width):
            shown, sized = more, wider
    return _filled(_unfolded(sized, width), width), [field.name for field in fields if field not in shown]


def _in_width(fields: list[Field], bars: Field | None, width: int) -> list[Field] | None:
    """Return columns with their widths, headers in two lines if that leaves more room for names; None: too wide."""
    for folded in (False, True):
        sized = [_sized(field, folded, bar=field is bars) for field in fields]
        if _total(sized) <= width and (folded or _total([_whole(field) for field in sized]) <= width):
            return sized
    return None


def with_bar(fields: list[Field]) -> Field | None:
    """Return the column that gets a bar: one to compare rows by, if they differ."""
    kinds = ("share", "size")
    found = (field for kind in kinds for field in fields if field.look.kind == kind and len(field.cells) > 1)
    return next(found, None)


def _sized(field: Field, folded: bool, bar: bool) -> Field:
    header = _folded(field.name, max(field.least, 6)) if folded else (field.name,)
    cells = field.least + (1 + _BAR if bar else 0)
    return replace(field, header=header, bar=bar, width=max(cells, *map(_cells, header)))


def _whole(field: Field) -> Field:
    """Return a column as wide as its longest cell; sentences are wrapped nevertheless."""
    return field if field.look.kind == "prose" else replace(field, width=max(field.width, field.natural))


def _folded(name: str, width: int) -> tuple[str, ...]:
    """Return a header in two lines, broken after an underscore, if that makes it narrower."""
    if _cells(name) <= width or "_" not in name:
        return (name,)
    places = [place + 1 for place, letter in enumerate(name[:-1]) if letter == "_"]
    best = min(places, key=lambda place: max(place, len(name) - place))
    return (name[:best], name[best:])


def _unfolded(fields: list[Field], width: int) -> list[Field]:
    """Return the columns with as many headers in one line as fit, from the left."""
    shown = list(fields)
    for place, field in enumerate(fields):
        shown[place] = replace(field, header=(field.name,), width=max(field.width, _cells(field.name)))
        if _total([_whole(one) for one in shown]) > width:
            shown[place] = field
    return shown


def _total(fields: Sequence[Field]) -> int:
    return 1 + sum(field.width + len(_BETWEEN) for field in fields) - len(_BETWEEN)


def _filled(fields: list[Field], width: int) -> list[Field]:
    """Return the columns with the rest of the width distributed: names first, then sentences."""
    left = width - _total(fields)
    filled = list(fields)
    for prose in (False, True):
        for place, field in enumerate(fields):
            if not field.right and (field.look.kind == "prose") == prose:
                more = max(0, min(left, field.natural - field.width))
                filled[place] = replace(field, width=field.width + more)
                left -= more
    return filled


def _grid(fields: list[Field], screen: Screen) -> Iterator[str]:
    total = _total(fields)
    for line in range(height := max((len(field.header) for field in fields), default=1)):
        # A short header is on the last line.
        texts = [(("",) * (height - len(field.header)) + field.header)[line] for field in fields]
        padded = (_pad(text, field.width, field.right) for text, field in zip(texts, fields, strict=True))
        yield painted((" " + _BETWEEN.join(padded)).rstrip(), "bold", screen) + "\n"
    yield " " + "─" * (total - 1) + "\n"
    shown = [_shown(field, screen) for field in fields]
    for row in range(len(fields[0].cells) if fields else 0):
        cells = [lines[row] for lines in shown]
        for line in range(max(map(len, cells))):
            texts = [cell[line] if line < len(cell) else "" for cell in cells]
            padded = (
                painted(_pad(text, field.width, field.right), _mood(field, row), screen)
                for text, field in zip(texts, fields, strict=True)
            )
            yield (" " + _BETWEEN.join(padded)).rstrip() + "\n"


def _shown(field: Field, screen: Screen) -> list[list[str]]:
    """Return each cell as lines no wider than its column."""
    if screen.width is None:
        return [text.split("\n") for text in field.cells]
    if field.bar:
        figures = [_pad(text, field.width - _BAR - 1, right=True) for text in field.cells]
        bars = [_pad(bar(share_of(field, text), _BAR), _BAR, right=False) for text in field.cells]
        return [[f"{figure} {drawn}"] for figure, drawn in zip(figures, bars, strict=True)]
    if field.look.kind == "prose":
        return [textwrap.wrap(text, max(field.width, 1)) or [""] for text in field.cells]
    cells = [text.split("\n") for text in field.cells]
    short = _cut_apart({line for lines in cells for line in lines}, field.width)
    return [[short[line] for line in lines] for lines in cells]


def _cut_apart(texts: Iterable[str], width: int) -> dict[str, str]:
    """Return texts shortened to a width; those that would be the same keep the part where they begin to differ."""
    short = {text: cut_middle(text, width) for text in texts}
    alike: dict[str, list[str]] = {}
    for text, shown in short.items():
        alike.setdefault(shown, []).append(text)
    for group in alike.values():
        if len(group) > 1:
            places = enumerate(zip(*group, strict=False))
            same = next((place for place, letters in places if len(set(letters)) > 1), min(map(len, group)))
            begin = group[0][: min(same, width * 2 // 5)]
            head = next(place for place in range(len(begin), -1, -1) if _cells(begin[:place]) <= width * 2 // 5)
            for text in group:
                rest = cut_middle(text[same:], width - 1 - _cells(text[:head]))
                short[text] = f"{text[:head]}…{rest}"
    return short


def share_of(field: Field, cell: str) -> float:
    """Return the length of a cell's bar, from 0 to 1."""
    numbers = [float(text) for text in field.cells if _NUMBER.fullmatch(text.rstrip())]
    whole = 100.0 if field.look.kind == "share" and max(numbers, default=0) <= 100 else max(numbers, default=0)
    return float(cell) / whole if whole > 0 and _NUMBER.fullmatch(cell.rstrip()) else 0.0


def bar(share: float, width: int) -> str:
    """Return a bar of a share from 0 to 1; anything above zero is visible."""
    eighths = round(max(0.0, min(share, 1.0)) * width * 8) or int(share > 0)
    return "█" * (eighths // 8) + ("▏▎▍▌▋▊▉"[eighths % 8 - 1] if eighths % 8 else "")


def bar_of_parts(parts: Sequence[tuple[float, str]], width: int) -> list[str]:
    """Return the pieces of a stacked bar, each a percentage with its fill; anything above zero is visible."""
    pcts = [pct for pct, _ in parts]
    ends = [round(sum(pcts[: place + 1]) * width / 100) for place in range(len(pcts))]
    widths = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    for place, pct in enumerate(pcts):
        if pct >= 0.05 and not widths[place]:
            widths[widths.index(max(widths))] -= 1
            widths[place] = 1
    return [fill * cells for (_, fill), cells in zip(parts, widths, strict=True)]


def _mood(field: Field, row: int) -> str:
    return field.cells[row] if field.look.kind == "state" else "bar" if field.bar else ""


def _cards(fields: list[Field], rows: int, screen: Screen) -> Iterator[str]:
    """Return rows below each other: a single one as a list of values, several with their main columns as a headline."""
    width = screen.width or 80
    if rows == 1:
        names = max(_cells(field.name) for field in fields)
        for field in fields:
            lines = textwrap.wrap(field.cells[0], max(width - names - 3, 20)) or [""]
            for place, line in enumerate(lines):
                label = painted(_pad("" if place else field.name, names, right=False), "bold", screen)
                yield f" {label}  {painted(line, _mood(field, 0), screen)}\n"
        return
    heads = [field for field in fields if field.look.priority <= 1 and field.look.kind != "prose"] or fields[:1]
    proses = [field for field in fields if field.look.kind == "prose"]
    others = [field for field in fields if field not in heads and field not in proses]
    for row in range(rows):
        if row:
            yield "\n"
        moods = [field.cells[row] for field in heads if field.look.kind == "state"]
        title = cut_middle(
            "  ".join(field.cells[row].replace("\n", " ") for field in heads if field.cells[row]), width - 1
        )
        yield " " + painted(title, moods[0] if moods else "bold", screen) + "\n"
        for field in proses:
            yield from (f"   {line}\n" for line in textwrap.wrap(field.cells[row], width - 4))
        rest = " · ".join(f"{field.name} {field.cells[row]}" for field in others if field.cells[row])
        yield from (painted(f"   {line}", "dim", screen) + "\n" for line in textwrap.wrap(rest, width - 4))


def _cells(text: str) -> int:
    """Return the terminal columns that a text takes: East Asian letters take two."""
    from rich.cells import cell_len

    return len(text) if text.isascii() else cell_len(text)


def _pad(text: str, width: int, right: bool) -> str:
    spaces = " " * (width - _cells(text))
    return spaces + text if right else text + spaces


def cut_middle(text: str, width: int) -> str:
    """Shorten a text to a width, with an ellipsis in the middle."""
    if _cells(text) <= width:
        return text
    if width < 2:
        return "…"[:width]
    # More of the beginning than of the end, since it shows a kernel's purpose.
    tail = (width - 1) * 2 // 5
    head = width - 1 - tail
    start = next(place for place in range(len(text), -1, -1) if _cells(text[:place]) <= head)
    end = next(place for place in range(len(text) + 1) if _cells(text[place:]) <= tail)
    return f"{text[:start]}…{text[end:]}"
