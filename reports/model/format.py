"""Number formats of a model report: each number with its unit and decimal prefixes.

Four significant digits, but in sentences two decimals for intensities, one for percentages, and counts are whole.
"""

from __future__ import annotations

import math
from typing import Any

_FACTORS = {"giga": 1e-9, "tera": 1e-12, "per_cent": 100.0}
_BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
#: The text for no value, in a cell and in a sentence.
NOTHING = "none"
#: Units of counts: a batch of 80.73 sequences is shown as 81.
_COUNTED = ("sequences", "tokens", "ranks", "chips", "replicas", "stages", "layers", "experts", "points")


def figures(value: float) -> str:
    """Return a number with four significant digits and commas between thousands."""
    size = abs(float(f"{value:.3e}"))
    if size == 0:
        return "0"
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 1e-3:
        return f"{value:.{3 - math.floor(math.log10(size))}f}"
    return f"{value:.3e}"


def written(value: float | None, unit: str | None) -> str:
    """Return a number for a sentence, with its unit."""
    if value is None:
        return NOTHING
    if unit == "bytes":
        for size, prefix in _BYTES:
            if abs(value) >= size:
                return f"{figures(value / size)} {prefix}"
        return f"{figures(value)} bytes"
    if unit == "%":
        return f"{value:,.1f} %"
    if unit == "parameters" and value >= 1e6:
        return f"{many(value)} {unit}"
    if unit == "FLOP/byte":
        return f"{value:,.2f} {unit}"
    # Below ten, a half matters.
    counted = round(value) if unit in _COUNTED and value >= 10 else value
    text = figures(float(counted)) if counted != int(counted) else f"{int(counted):,}"
    if not unit:
        return text
    return f"{text} {unit[:-1] if text == '1' and unit.endswith('s') and unit != 'ms' else unit}"


def many(count: float) -> str:
    """Return a large number in words: 37.6 billion."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if count >= size:
            return f"{figures(count / size)} {word}"
    return figures(count)


def cell(value: Any, format: str) -> str:
    """Return a value for a table; the heading has the unit.

    Args:
        value: the value from the relation.
        format: a format of report_columns.
    """
    if value is None:
        return "\N{EN DASH}"
    if format == "flag":
        return "yes" if value else "**no**"
    if format == "yes_no":
        return "yes" if value else "no"
    if format == "words":
        return str(value)
    number = float(value) * _FACTORS.get(format, 1.0)
    if format in ("per_cent", "points"):
        return f"{number:,.1f}"
    if format == "count" and number == int(number):
        return f"{int(number):,}"
    if format == "factor":
        return f"{number:.4g}"
    return figures(number)
