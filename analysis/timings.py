"""Times of a layer's kernels as given by a user: read, checked, and stored for SQL."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from ..engine.errors import InputError, UsageError

if TYPE_CHECKING:
    import duckdb

Form = Literal["kernel_ms", "kernel_detail", "kernel_flow"]

_METADATA = ("layer_id", "compress_ratio", "num_layers", "total_dur_us", "wall_us")
_LARGEST = 256 << 20


@dataclass
class Kernel:
    """One kernel of a layer; its time in µs."""

    name: str
    dur_us: float
    category: str | None = None
    half: str | None = None
    short_name: str | None = None
    input_dims: str | None = None
    output_dims: str | None = None
    input_types: str | None = None


@dataclass
class Times:
    """Times of a layer's kernels.

    Attributes:
        form: the option that gave them.
        metadata: given along with them: layer_id, compress_ratio, num_layers, total_dur_us, wall_us.
        categories: time in µs and number of kernels of each category.
        kernels: the kernels, in the order given.
    """

    form: Form
    metadata: dict[str, float | int] = field(default_factory=dict)
    categories: dict[str, tuple[float, int | None]] = field(default_factory=dict)
    kernels: list[Kernel] = field(default_factory=list)


def read_times(form: Form, text: str | Mapping[str, Any]) -> Times:
    """Return times given as JSON: an object, its text, or @ followed by a file name.

    Raises:
        UsageError: the JSON or a time is invalid.
        InputError: the file cannot be read.
    """
    option = "--" + form.replace("_", "-")
    if isinstance(text, str) and text.startswith("@"):
        path = Path(text[1:])
        try:
            if path.stat().st_size > _LARGEST:
                raise InputError(f"{path}: {path.stat().st_size} bytes are too many for the times of a layer.")
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"{option}: {path}: cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise InputError(f"{option}: {path}: not UTF-8 text.") from error
    found = _Checked(option).object(_parsed(option, text) if isinstance(text, str) else text, "the value")
    return _milliseconds(option, found) if form == "kernel_ms" else _listed(form, option, found)


def insert_times(connection: duckdb.DuckDBPyConnection, request: str, times: Times | None, **measured: Any) -> None:
    """Insert times into the tables that relations read: measured_ms and per_layer_ms, and those of kernels."""
    for table in ("timing_metadata", "category_timings", "kernel_timings"):
        connection.execute(f"DELETE FROM {table} WHERE request = $1", [request])
    row: dict[str, Any] = {"request": request, **measured}
    if times is not None:
        row |= {"form": times.form, **times.metadata}
    _insert(connection, "timing_metadata", row)
    if times is None:
        return
    for nth, (category, (us, count)) in enumerate(times.categories.items()):
        row = {"request": request, "position": nth, "category": category, "dur_us": us, "kernel_count": count}
        _insert(connection, "category_timings", row)
    for nth, kernel in enumerate(times.kernels):
        _insert(connection, "kernel_timings", {"request": request, "position": nth, **vars(kernel)})


def checked_time(option: str, value: float | None) -> float | None:
    """Return a time, or None.

    Raises:
        UsageError: it is negative, zero or not a number.
    """
    if value is None:
        return None
    if not math.isfinite(value) or value <= 0:
        raise UsageError(f"{option} {value}: expected a time above 0.")
    return value


def _insert(connection: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, Any]) -> None:
    names = ", ".join(row)
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))


def _parsed(option: str, text: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise UsageError(f"{option}: {constant} is not a time.")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise UsageError(f"{option}: {key!r} is given twice.")
            found[key] = value
        return found

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{option}: not JSON: {error.msg} at line {error.lineno}, column {error.colno}. "
            "Give an object, or @ and the name of a file."
        ) from error
    except RecursionError as error:
        raise UsageError(f"{option}: JSON nested too deep.") from error


@dataclass
class _Checked:
    """Values checked for their types."""

    option: str

    def wrong(self, what: str, expected: str, value: Any) -> NoReturn:
        shown = json.dumps(value, default=str)
        raise UsageError(f"{self.option}: {what}: expected {expected}, found {shown[:60]}.")

    def object(self, value: Any, what: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self.wrong(what, "an object", value)
        return value

    def time(self, value: Any, what: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong(what, "a number", value)
        try:
            found = float(value)
        except OverflowError:
            self.wrong(what, "a smaller number", value)
        if not math.isfinite(found) or found < 0:
            self.wrong(what, "a time of 0 or more", value)
        return found

    def whole(self, value: Any, what: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 1 << 62:
            self.wrong(what, "a whole number", value)
        return value

    def text(self, value: Any, what: str) -> str:
        if not isinstance(value, str):
            self.wrong(what, "text", value)
        return value


def _milliseconds(option: str, found: Mapping[str, Any]) -> Times:
    checked = _Checked(option)
    if not found:
        raise UsageError(f"{option}: no category is given.")
    times = {name: 1000 * checked.time(value, f"milliseconds of {name}") for name, value in found.items()}
    return Times("kernel_ms", categories={name: (us, None) for name, us in times.items()})


def _listed(form: Form, option: str, found: Mapping[str, Any]) -> Times:
    checked = _Checked(option)
    metadata = checked.object(found.get("metadata") or {}, "metadata")
    times = Times(form, metadata=dict(_metadata(checked, metadata)))
    for name, sums in checked.object(found.get("category_summary") or {}, "category_summary").items():
        summary = checked.object(sums, f"category {name}")
        us = checked.time(summary.get("dur_us", summary.get("dur")), f"dur_us of category {name}")
        count = summary.get("count")
        times.categories[name] = (us, None if count is None else checked.whole(count, f"count of category {name}"))
    kernels = found.get("kernels") or []
    if not isinstance(kernels, list):
        checked.wrong("kernels", "a list", kernels)
    times.kernels = [_kernel(checked, nth, row) for nth, row in enumerate(kernels)]
    if not times.kernels and not times.categories:
        raise UsageError(f"{option}: neither kernels nor a category_summary is given.")
    return times


def _metadata(checked: _Checked, found: Mapping[str, Any]) -> Iterator[tuple[str, float | int]]:
    for key in _METADATA:
        value = found.get(key)
        if value is not None:
            what = f"metadata.{key}"
            yield key, checked.time(value, what) if key.endswith("_us") else checked.whole(value, what)


def _kernel(checked: _Checked, nth: int, row: Any) -> Kernel:
    what = f"kernel {nth}"
    found = checked.object(row, what)
    words = {
        key: checked.text(found[key], f"{key} of {what}")
        for key in ("category", "half", "name", "simplified_name")
        if found.get(key) is not None
    }
    return Kernel(
        name=words.get("name") or words.get("simplified_name") or words.get("category") or "",
        dur_us=checked.time(found.get("dur_us"), f"dur_us of {what}"),
        category=words.get("category"),
        half=words.get("half"),
        short_name=words.get("simplified_name"),
        **{key: _as_text(found.get(key)) for key in ("input_dims", "output_dims", "input_types")},
    )


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
