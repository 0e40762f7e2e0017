"""Events of a line as columns: times in ns, and arguments as JSON text.

Times in the file are picoseconds from the line's own start. Start and end are rounded to ns each, halves as a Chrome
trace of the same capture has them, so that both give the same times.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from ..lanes import LARGEST_NS
from .columns import PADDING, steps
from .planes import (
    OPAQUE,
    STAT_BYTES,
    STAT_DOUBLE,
    STAT_ID,
    STAT_REFERENCE,
    STAT_SIGNED,
    STAT_TEXT,
    STAT_UNSIGNED,
    Plane,
    json_members,
)
from .wire import BYTES, EIGHT, VARINT

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_ID, _OFFSET, _DURATION, _STATS, _OCCURRENCES = 1, 2, 3, 4, 5
#: Names the step, where a plane shows steps.
_STEP_NAME = "step_name"
#: Picoseconds, 107 days, beyond which no event lies from its line's start.
_LARGEST_PS = 1 << 62
#: Picoseconds, 17 minutes, up to which a double of microseconds is right to a tenth of a picosecond.
_EXACT_PS = 10**15


@dataclass
class Line:
    """What a line says of its events.

    Attributes:
        tid: its thread in a Chrome trace of the same profiler.
        name: such as `XLA Ops`.
        start_ns: where its events' offsets count from.
    """

    tid: str = "0"
    name: str = ""
    start_ns: int = 0


class Names:
    """The names of a plane as arrays, to be taken by ids."""

    def __init__(self, plane: Plane) -> None:
        """Gather what a plane's ids stand for."""
        import numpy as np
        import pyarrow as pa

        ids = sorted(plane.events)
        described = [plane.events[key] for key in ids]
        self.ids = np.array(ids, np.int64)
        self.names = pa.array([one.name for one in described] + [""], pa.large_string())
        self.members = pa.array([json_members(one.args) for one in described] + [""], pa.large_string())
        self._described = described
        self.keys = sorted(plane.keys)
        self.key_ids = np.array(self.keys, np.int64)
        texts = [plane.keys[key] for key in self.keys]
        quoted = [json.dumps(text, ensure_ascii=False) for text in texts]
        self.key_texts = pa.array([f"{text}:" for text in quoted] + ['"?":'], pa.large_string())
        self.values = pa.array([*quoted, '""'], pa.large_string())
        self.texts = texts
        numbers = {text: nth for nth, text in enumerate(texts)}
        #: Pairs of an event and an argument that it has by its description already.
        self.given = np.array(
            sorted(
                nth * (len(texts) + 1) + numbers[key]
                for nth, one in enumerate(described)
                for key in one.args
                if key in numbers
            ),
            np.int64,
        )
        self.step_name = numbers.get(_STEP_NAME, -1)

    def args_of(self, nth: int) -> dict[str, str]:
        """Return the arguments that all events of a description have."""
        return self._described[nth].args if nth < len(self._described) else {}


def place_of(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where ids stand among sorted ones; behind all where they are missing."""
    import numpy as np

    place = np.searchsorted(ids, wanted)
    found = np.zeros(wanted.size, np.bool_)
    inside = place < ids.size
    found[inside] = ids[place[inside]] == wanted[inside]
    return np.where(found, place, ids.size)


def event_table(data: bytes, starts: list[int], ends: list[int], line: Line, names: Names) -> pa.Table:
    """Return a row per event: nth, name, start_ns, end_ns, args, reason.

    Args:
        data: bytes with the events' messages.
        starts: where each begins.
        ends: where each ends.
        line: their line.
        names: of its plane.

    Returns:
        `reason` says why an event cannot be stored, NULL where it can.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    held = np.frombuffer(data + PADDING, np.uint8)
    count = len(starts)
    numbers = np.zeros((3, count), np.int64)
    has = np.zeros((3, count), np.bool_)
    damaged = np.zeros(count, np.bool_)
    occurrences = np.full(count, -1, np.int64)
    of_event, begins, stops = [], [], []
    for step in steps(held, np.array(starts, np.int64), np.array(ends, np.int64)):
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
    stats = _Stats(held, data, _joined(of_event), _joined(begins), _joined(stops), names)
    damaged[stats.damaged] = True
    start_ns, end_ns, beyond = _times(numbers[1], numbers[2], line.start_ns)
    described = place_of(names.ids, numbers[0])
    reason = np.full(count, "", object)
    reason[described == names.ids.size] = "its name is missing"
    reason[beyond] = "no time that a number can hold"
    reason[damaged] = "damaged"
    shown, args = stats.named_and_joined(count, described, occurrences)
    return pa.table(
        {
            "nth": pa.array(np.arange(count)),
            "name": shown,
            "start_ns": pa.array(start_ns),
            "end_ns": pa.array(end_ns),
            "args": args,
            "reason": pc.if_else(pc.equal(reasons := pa.array(reason, pa.string()), ""), None, reasons),
        }
    )


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    import numpy as np

    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _times(
    offset: NDArray[np.int64], duration: NDArray[np.int64], start_ns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return starts and ends in ns, and which of them no number holds."""
    import numpy as np

    beyond = (abs(offset) > _LARGEST_PS) | (duration > _LARGEST_PS) | (duration < 0)
    if abs(start_ns) > LARGEST_NS - (1 << 53):
        return np.zeros_like(offset), np.zeros_like(offset), np.ones_like(beyond)
    offset = np.where(beyond, 0, offset)
    # Writers of Chrome traces give one picosecond to what has no duration.
    end = offset + np.where(beyond, 0, np.maximum(duration, 1))
    starts, ends = _rounded(offset, start_ns), _rounded(end, start_ns)
    for nth in np.flatnonzero((offset % 1000 == 500) | (end % 1000 == 500)):
        first = start_ns * 1000 + int(offset[nth])
        if abs(first) + int(end[nth] - offset[nth]) > _EXACT_PS:
            continue
        starts[nth], ends[nth] = _as_text(first), _as_text(first, int(end[nth] - offset[nth]))
    return starts, ends, beyond


def _as_text(*picoseconds: int) -> int:
    """Return a sum in ns as of the text of a Chrome trace, which has microseconds of doubles.

    By this text, 3.7598289999999999 for 3759829 ps, a half is at times a little less or more.
    """
    total = sum((Decimal(f"{one / 1e6:.17g}") for one in picoseconds), Decimal(0))
    return int((total * 1000).to_integral_value(ROUND_HALF_UP))


def _rounded(offset: NDArray[np.int64], start_ns: int) -> NDArray[np.int64]:
    """Return times in ns from offsets in ps: the nearest, halves away from zero."""
    import numpy as np

    whole, rest = np.divmod(offset, 1000)
    whole = whole + start_ns
    return whole + np.where(whole < 0, rest > 500, rest >= 500)


def _quoted(numbers: NDArray[Any]) -> pa.Array:
    """Return numbers as JSON strings."""
    import pyarrow as pa
    import pyarrow.compute as pc

    mark, nothing = pa.scalar('"', pa.large_string()), pa.scalar("", pa.large_string())
    return pc.binary_join_element_wise(mark, pc.cast(pa.array(numbers), pa.large_string()), mark, nothing)


class _Stats:
    """The stats of some events, decoded."""

    def __init__(
        self,
        held: NDArray[np.uint8],
        data: bytes,
        event: NDArray[np.int64],
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        names: Names,
    ) -> None:
        import numpy as np

        order = np.argsort(start, kind="stable")
        self._event, start, end = event[order], start[order], end[order]
        self._names, self._data = names, data
        count = self._event.size
        key = np.zeros(count, np.int64)
        self._kind = np.zeros(count, np.uint8)
        self._value = np.zeros(count, np.uint64)
        self._start, self._end = np.zeros(count, np.int64), np.zeros(count, np.int64)
        bad = np.zeros(count, np.bool_)
        for step in steps(held, start, end):
            here = step.where(STAT_ID, VARINT)
            key[step.message[here]] = step.value[here].view(np.int64)
            # The wire type of each kind of value; a field of another type is none.
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
    ) -> tuple[pa.Array, pa.Array]:
        """Return the names of events and their arguments as JSON text, NULL for none."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        values = self._values()
        names = self._names.names.take(pa.array(described))
        named = self._key == self._names.step_name
        if named.any():
            shown = np.array(names.to_pylist(), object)
            shown[self._event[named]] = [json.loads(text) for text in values.filter(pa.array(named)).to_pylist()]
            names = pa.array(shown, pa.large_string())
        keys = self._names.key_texts.take(pa.array(self._key))
        nothing, comma, opening, closing = (pa.scalar(text, pa.large_string()) for text in ("", ",", "{", "}"))
        members = pc.binary_join_element_wise(keys, values, nothing)
        offsets = np.searchsorted(self._event, np.arange(count + 1))
        own = pc.binary_join(pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), members), comma)
        general = self._names.members.take(pa.array(described))
        both = pc.and_(pc.not_equal(own, nothing), pc.not_equal(general, nothing))
        inner = pc.binary_join_element_wise(general, pc.if_else(both, comma, nothing), own, nothing)
        whole = pc.binary_join_element_wise(opening, inner, closing, nothing)
        args = pc.if_else(pc.equal(inner, nothing), None, whole)
        again = self._twice(described) | set(np.flatnonzero(occurrences >= 0).tolist())
        if again:
            texts = args.to_pylist()
            for nth in again:
                texts[nth] = self._merged(nth, int(described[nth]), keys, values, int(occurrences[nth]))
            args = pa.array(texts, pa.large_string())
        return names, args

    def _values(self) -> pa.Array:
        """Return the values as JSON texts, all of them strings, as in Chrome traces."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = self._kind
        if kind.size and (kind == kind[0]).all() and kind[0] in (STAT_UNSIGNED, STAT_SIGNED):
            return _quoted(self._value if kind[0] == STAT_UNSIGNED else self._value.view(np.int64))
        texts = pa.array(np.full(kind.size, f'"{OPAQUE}"'), pa.large_string())
        for of_kind, numbers in (
            (STAT_UNSIGNED, self._value),
            (STAT_SIGNED, self._value.view(np.int64)),
            (STAT_DOUBLE, self._value.view(np.float64)),
        ):
            here = kind == of_kind
            if here.any():
                texts = pc.replace_with_mask(texts, pa.array(here), _quoted(numbers[here]))
        here = kind == STAT_REFERENCE
        if here.any():
            refers = place_of(self._names.key_ids, self._value[here].view(np.int64))
            texts = pc.replace_with_mask(texts, pa.array(here), self._names.values.take(pa.array(refers)))
        here = kind == STAT_TEXT
        if here.any():
            given = zip(self._start[here].tolist(), self._end[here].tolist(), strict=True)
            said = [json.dumps(self._data[a:b].decode("utf-8", "replace"), ensure_ascii=False) for a, b in given]
            texts = pc.replace_with_mask(texts, pa.array(here), pa.array(said, pa.large_string()))
        return texts

    def _twice(self, described: NDArray[np.int64]) -> set[int]:
        """Return events with an argument that is there twice, or has no name."""
        import numpy as np

        unknown = set(self._event[self._key == self._names.key_ids.size].tolist())
        pair = self._event * (len(self._names.keys) + 1) + self._key
        unique, counts = np.unique(pair, return_counts=True)
        twice = unique[counts > 1] // (len(self._names.keys) + 1)
        general = described[self._event] * (len(self._names.keys) + 1) + self._key
        held = np.isin(general, self._names.given)
        return unknown | set(twice.tolist()) | set(self._event[held].tolist())

    def _merged(self, nth: int, described: int, keys: pa.Array, values: pa.Array, occurrences: int) -> str:
        """Return the arguments of one event, the later of two of the same name."""
        import numpy as np

        merged: dict[str, Any] = dict(self._names.args_of(described))
        first, last = np.searchsorted(self._event, [nth, nth + 1])
        for place in range(first, last):
            known = int(self._key[place]) < len(self._names.keys)
            key = json.loads(keys[place].as_py()[:-1]) if known else f"stat {self._raw_key[place]}"
            merged[key] = json.loads(values[place].as_py())
        if occurrences >= 0:
            merged["num_occurrences"] = str(occurrences)
        return "{" + json_members(merged) + "}"
