"""Events of a line as columns: times in ns, and arguments as JSON text.

Times in the file are picoseconds from the line's own start. Start and end are each rounded to ns, halves as in a
Chrome trace of the same capture, so that both give the same times.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from ..credentials import holds_literal
from ..lanes import LARGEST_NS
from .columns import steps
from .names import Names, place_of
from .planes import (
    OPAQUE,
    STAT_BYTES,
    STAT_DOUBLE,
    STAT_ID,
    STAT_REFERENCE,
    STAT_SIGNED,
    STAT_TEXT,
    STAT_UNSIGNED,
    json_members,
)
from .wire import BYTES, EIGHT, VARINT

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_ID, _OFFSET, _DURATION, _STATS, _OCCURRENCES = 1, 2, 3, 4, 5
#: Why an event cannot be stored, the most important last.
_REASONS = (None, "its name is missing", "no time that a number can hold", "damaged")
#: Maximum distance of an event from its line's start in picoseconds, 107 days.
_LARGEST_PS = 1 << 62
#: Up to this many picoseconds, 17 minutes, a double of microseconds is accurate to a tenth of a picosecond.
_EXACT_PS = 10**15


@dataclass
class Line:
    """A line's facts for its events.

    Attributes:
        tid: its thread in a Chrome trace of the same profiler.
        name: such as `XLA Ops`.
        start_ns: the origin of its events' offsets.
    """

    tid: str = "0"
    name: str = ""
    start_ns: int = 0


def event_table(
    held: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], line: Line, names: Names
) -> tuple[pa.Table, bool]:
    """Return a row per event: name, start_ns, end_ns, correlation, args, reason.

    Args:
        held: bytes with the events' messages, followed by `PADDING`.
        starts: where each begins.
        ends: where each ends.
        line: their line.
        names: of its plane.

    Returns:
        The table; `reason` says why an event cannot be stored, NULL if it can. And whether it is plain: no text in
        it holds a credential's literal, and `correlation` is known without parsing the arguments.
    """
    import numpy as np
    import pyarrow as pa

    count = starts.size
    numbers = np.zeros((3, count), np.int64)
    has = np.zeros((3, count), np.bool_)
    damaged = np.zeros(count, np.bool_)
    occurrences = np.full(count, -1, np.int64)
    of_event, begins, stops = [], [], []
    for step in steps(held, starts, ends):
        for row, number in enumerate((_ID, _OFFSET, _DURATION)):
            here = step.where(number, VARINT)
            numbers[row, step.message[here]] = step.value[here].view(np.int64)
            has[row, step.message[here]] = True
        here = step.where(_OCCURRENCES, VARINT)
        occurrences[step.message[here]] = step.value[here].view(np.int64)
        here = step.where(_STATS, BYTES)
        of_event.append(step.message[here])
        begins.append(step.start[here])
        stops.append(step.end[here])
        damaged[step.message[step.wire == 7]] = True
    stats = _Stats(held, _joined(of_event), _joined(begins), _joined(stops), names)
    damaged[stats.damaged] = True
    start_ns, end_ns, beyond = _times(numbers[1], numbers[2], line.start_ns)
    described = place_of(names.ids, numbers[0])
    reason = np.zeros(count, np.int8)
    for number, wrong in enumerate((described == names.ids.size, beyond, damaged), 1):
        reason[wrong] = number
    shown, args, plain = stats.named_and_joined(count, described, occurrences)
    correlation, known = stats.correlation(count)
    table = pa.table(
        {
            "name": shown,
            "start_ns": pa.array(start_ns),
            "end_ns": pa.array(end_ns),
            "correlation": correlation,
            "args": args,
            "reason": pa.array(_REASONS, pa.string()).take(pa.array(reason)),
        }
    )
    return table, plain and known


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    import numpy as np

    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _times(
    offset: NDArray[np.int64], duration: NDArray[np.int64], start_ns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return starts and ends in ns, and which of them overflow."""
    import numpy as np

    beyond = (abs(offset) > _LARGEST_PS) | (duration > _LARGEST_PS) | (duration < 0)
    if abs(start_ns) > LARGEST_NS - (1 << 53):
        return np.zeros_like(offset), np.zeros_like(offset), np.ones_like(beyond)
    offset = np.where(beyond, 0, offset)
    # Chrome trace writers give one picosecond to events without duration.
    end = offset + np.where(beyond, 0, np.maximum(duration, 1))
    starts, ends = _rounded(offset, start_ns), _rounded(end, start_ns)
    for nth in np.flatnonzero((offset % 1000 == 500) | (end % 1000 == 500)):
        first = start_ns * 1000 + int(offset[nth])
        if abs(first) + int(end[nth] - offset[nth]) > _EXACT_PS:
            continue
        starts[nth], ends[nth] = _as_text(first), _as_text(first, int(end[nth] - offset[nth]))
    return starts, ends, beyond | (abs(starts) > LARGEST_NS) | (abs(ends) > LARGEST_NS)


def _as_text(*picoseconds: int) -> int:
    """Return a sum in ns as from the text of a Chrome trace, which has microseconds as doubles.

    In this text, 3.7598289999999999 for 3759829 ps, a half is sometimes a little less or more.
    """
    total = sum((Decimal(f"{one / 1e6:.17g}") for one in picoseconds), Decimal(0))
    return int((total * 1000).to_integral_value(ROUND_HALF_UP))


def _rounded(offset: NDArray[np.int64], start_ns: int) -> NDArray[np.int64]:
    """Return times in ns from offsets in ps: rounded to nearest, halves away from zero."""
    import numpy as np

    whole, rest = np.divmod(offset, 1000)
    whole = whole + start_ns
    return whole + np.where(whole < 0, rest > 500, rest >= 500)


class _Stats:
    """The stats of some events, decoded."""

    def __init__(
        self,
        held: NDArray[np.uint8],
        event: NDArray[np.int64],
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        names: Names,
    ) -> None:
        import numpy as np

        order = np.argsort(start, kind="stable")
        self._event, start, end = event[order], start[order], end[order]
        self._names, self._held, self._suspect = names, held, False
        count = self._event.size
        key = np.zeros(count, np.int64)
        self._kind = np.zeros(count, np.uint8)
        self._value = np.zeros(count, np.uint64)
        self._start, self._end = np.zeros(count, np.int64), np.zeros(count, np.int64)
        bad = np.zeros(count, np.bool_)
        for step in steps(held, start, end):
            here = step.where(STAT_ID, VARINT)
            key[step.message[here]] = step.value[here].view(np.int64)
            # The wire type of each kind of value; fields of another type are ignored.
            wires = np.full(256, 255, np.uint8)
            wires[[STAT_DOUBLE, STAT_UNSIGNED, STAT_SIGNED, STAT_REFERENCE]] = EIGHT, VARINT, VARINT, VARINT
            wires[[STAT_TEXT, STAT_BYTES]] = BYTES
            here = wires[np.minimum(step.number, 255).astype(np.uint8)] == step.wire
            which = step.message[here]
            self._kind[which] = step.number[here]
            self._value[which] = step.value[here]
            self._start[which], self._end[which] = step.start[here], step.end[here]
            bad[step.message[step.wire == 7]] = True
        self.damaged = np.unique(self._event[bad])
        self._key = place_of(names.key_ids, key)
        self._raw_key = key
        some = (self._kind > 0) & ~bad
        if not some.all():
            for name in ("_event", "_key", "_raw_key", "_kind", "_value", "_start", "_end"):
                setattr(self, name, getattr(self, name)[some])

    def named_and_joined(
        self, count: int, described: NDArray[np.int64], occurrences: NDArray[np.int64]
    ) -> tuple[pa.Array, pa.Array, bool]:
        """Return the names of events and their arguments as JSON text, NULL if none, and whether all is plain."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        values = self._values()
        names = self._names.names.take(pa.array(described))
        named = self._key == self._names.step_name
        if named.any():
            shown = np.array(names.to_pylist(), object)
            shown[self._event[named]] = [json.loads(f'"{text}"') for text in values.filter(pa.array(named)).to_pylist()]
            names = pa.array(shown, pa.large_string())
        keys = self._names.key_texts.take(pa.array(self._key))
        nothing, closing, comma, end = (pa.scalar(text, pa.large_string()) for text in ("", '"', ",", "}"))
        members = pc.binary_join_element_wise(keys, values, closing, nothing)
        having = np.bincount(self._event, minlength=count)
        some = np.flatnonzero(having)
        offsets = pa.array(np.append(0, np.cumsum(having[some])), pa.int64())
        own = pc.binary_join(pa.LargeListArray.from_arrays(offsets, members), comma)
        own = pc.binary_join_element_wise(self._names.begun.take(pa.array(described[some])), own, end, nothing)
        if some.size == count:
            args = own
        else:
            args = self._names.alone.take(pa.array(described))
            args = pc.replace_with_mask(args, pa.array(having > 0), own) if some.size else args
        again = self._twice(described) | set(np.flatnonzero(occurrences >= 0).tolist())
        if again:
            texts = args.to_pylist()
            for nth in again:
                texts[nth] = self._merged(nth, int(described[nth]), keys, values, int(occurrences[nth]))
            args = pa.array(texts, pa.large_string())
        suspect = self._suspect or self._names.suspect[described].any() or self._names.suspect_texts[self._key].any()
        return names, args, not suspect and not (again and self._names.correlation >= 0)

    def correlation(self, count: int) -> tuple[pa.Array, bool]:
        """Return the correlation of events, and whether those are all."""
        import numpy as np
        import pyarrow as pa

        here = self._key == self._names.correlation
        values, kinds = self._value[here].view(np.int64), self._kind[here]
        found, missing = np.zeros(count, np.int64), np.ones(count, np.bool_)
        found[self._event[here]], missing[self._event[here]] = values, False
        whole = ((kinds == STAT_SIGNED) | ((kinds == STAT_UNSIGNED) & (values >= 0))).all()
        return pa.array(found, mask=missing), bool(whole) and not self._names.correlates

    def _values(self) -> pa.Array:
        """Return the values as texts within JSON strings: all are strings, as in Chrome traces."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        kinds: dict[int, Callable[[NDArray[np.int64]], pa.Array]] = {
            STAT_UNSIGNED: lambda here: pc.cast(pa.array(self._value[here]), pa.large_string()),
            STAT_SIGNED: lambda here: pc.cast(pa.array(self._value[here].view(np.int64)), pa.large_string()),
            STAT_DOUBLE: lambda here: pc.cast(pa.array(self._value[here].view(np.float64)), pa.large_string()),
            STAT_REFERENCE: self._referred,
            STAT_TEXT: self._texts,
            STAT_BYTES: lambda here: pa.array([OPAQUE] * here.size, pa.large_string()),
        }
        parts, places = [], []
        for kind, texts in kinds.items():
            here = np.flatnonzero(self._kind == kind)
            if here.size:
                parts.append(texts(here))
                places.append(here)
        if not parts:
            return pa.array([], pa.large_string())
        if len(parts) == 1:
            return parts[0]
        order = np.empty(self._kind.size, np.int64)
        order[np.concatenate(places)] = np.arange(order.size)
        return pa.concat_arrays(parts).take(pa.array(order))

    def _referred(self, here: NDArray[np.int64]) -> pa.Array:
        """Return the names that stats refer to."""
        import numpy as np
        import pyarrow as pa

        place = place_of(self._names.key_ids, self._value[here].view(np.int64))
        self._suspect |= bool(self._names.suspect_texts[place].any())
        return self._names.values.take(pa.array(place))

    def _texts(self, here: NDArray[np.int64]) -> pa.Array:
        """Return the texts of stats."""
        import pyarrow as pa

        lie = zip(self._start[here].tolist(), self._end[here].tolist(), strict=True)
        texts = [self._held[start:end].tobytes().decode("utf-8", "replace") for start, end in lie]
        self._suspect |= any(map(holds_literal, texts))
        return pa.array([json.dumps(text, ensure_ascii=False)[1:-1] for text in texts], pa.large_string())

    def _twice(self, described: NDArray[np.int64]) -> set[int]:
        """Return events with a duplicate or nameless argument."""
        import numpy as np

        unknown = set(self._event[self._key == self._names.key_ids.size].tolist())
        pair = self._event * (len(self._names.keys) + 1) + self._key
        unique, counts = np.unique(pair, return_counts=True)
        twice = unique[counts > 1] // (len(self._names.keys) + 1)
        general = described[self._event] * (len(self._names.keys) + 1) + self._key
        held = np.isin(general, self._names.given)
        return unknown | set(twice.tolist()) | set(self._event[held].tolist())

    def _merged(self, nth: int, described: int, keys: pa.Array, values: pa.Array, occurrences: int) -> str:
        """Return the arguments of one event; of two with the same name, the later."""
        import numpy as np

        merged: dict[str, Any] = dict(self._names.args_of(described))
        first, last = np.searchsorted(self._event, [nth, nth + 1])
        for place in range(first, last):
            known = int(self._key[place]) < len(self._names.keys)
            key = json.loads(keys[place].as_py()[:-2]) if known else f"stat {self._raw_key[place]}"
            merged[key] = json.loads(f'"{values[place].as_py()}"')
        if occurrences >= 0:
            merged["num_occurrences"] = str(occurrences)
        return "{" + json_members(merged) + "}"
