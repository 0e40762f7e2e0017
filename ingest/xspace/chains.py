"""Finds where the events of a line begin, from many starting points at once.

An event's length shows where the next one begins, so a simple scan would visit one after the other. Instead each
stretch of bytes is followed from its own starting point that looks like an event. It need not be one, since a stat
within an event looks the same; but the chain followed from it nearly always converges with the real events. It has
done so if it meets the position at which the previous stretch ends: what it found from there on are events. If not,
the stretch is followed again from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .wire import BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Field number and wire type of an event in a line.
EVENT_KEY = 4 << 3 | BYTES
#: Bytes whose stretches are followed together, and bytes of a stretch.
_WINDOW, _STRETCH = 1 << 22, 1 << 11
#: Below this many bytes, events are visited one by one.
_FEW = 1 << 13
#: Starting points tried in a stretch, and number of events that should follow from there.
_TRIED, _FOLLOWING = 4, 3
#: How often stretches that did not converge are followed again, from where the previous one ends.
_ROUNDS = 4


def events_from(data: NDArray[np.uint8], at: int) -> tuple[NDArray[np.int64], int]:
    """Return where the consecutive events from a position begin, and where the last one ends.

    It stops at anything but a whole event of less than two megabytes.
    """
    import numpy as np

    found, window = [], _FEW
    while at < data.size - 2:
        # The window starts small, so that little is scanned in vain if other fields often come between events.
        stop, window = min(at + window, data.size), min(8 * window, _WINDOW)
        starts = _from_many(data, at, stop) if stop - at > _FEW else None
        if starts is None:
            starts = _one_by_one(data, at, stop)
        if not starts.size:
            break
        found.append(starts)
        at = int(_behind(data, starts[-1:])[0])
        if at < stop:
            break
    return np.concatenate(found) if found else np.zeros(0, np.int64), at


def bodies(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the fields of events begin, after their keys and lengths."""
    import numpy as np

    long = data[starts + 1] >> np.uint8(7)
    return starts + 2 + long + (long & (data[starts + 2] >> np.uint8(7)))


def _behind(data: NDArray[np.uint8], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position after the event at each position; -1 if there is no event."""
    import numpy as np

    near = np.minimum(at, data.size - 3)
    length = data[near + 1].astype(np.int64)
    end = near + 2 + length
    event = (data[near] == EVENT_KEY) & (near == at)
    long = np.flatnonzero(event & (length > 127))
    if long.size:
        third = np.minimum(near[long] + 3, data.size - 1)
        middle, high = data[near[long] + 2].astype(np.int64), data[third].astype(np.int64)
        longer = middle >> 7
        end[long] = near[long] + 3 + longer + (length[long] & 127) + ((middle & 127) << 7) + longer * (high << 14)
        event[long] &= longer * high < 128
    return np.where(event & (end <= data.size), end, -1)


def _one_by_one(data: NDArray[np.uint8], at: int, stop: int) -> NDArray[np.int64]:
    """Return where the consecutive events in [at, stop) begin."""
    import numpy as np

    size = data.size - at
    text, starts, begin = data[at : stop + 4].tobytes(), list[int](), 0
    while begin < min(stop - at, size - 2) and text[begin] == EVENT_KEY:
        length, end = text[begin + 1], begin + 2
        if length > 127:
            length, end = (length & 127) | (text[end] & 127) << 7, end + 1
            if text[end - 1] > 127:
                if end == size or text[end] > 127:
                    break
                length, end = length | text[end] << 14, end + 1
        if end + length > size:
            break
        starts.append(begin)
        begin = end + length
    return np.array(starts, np.int64) + at


def _from_many(data: NDArray[np.uint8], at: int, stop: int) -> NDArray[np.int64] | None:
    """Return the same as `_one_by_one`; None if some stretches did not converge."""
    import numpy as np

    bounds = np.arange(at, stop, _STRETCH)
    ends = np.append(bounds[1:], stop)
    again, begins = np.arange(bounds.size), _likely(data, bounds, stop)
    stretch = found = np.zeros(0, np.int64)
    reached = np.empty(bounds.size, np.int64)
    for _ in range(_ROUNDS):
        kept = ~np.isin(stretch, again)
        which, places, reached[again] = _followed(data, again, begins, ends[again])
        stretch, found = np.append(stretch[kept], which), np.append(found[kept], places)
        entries, last = _entries(reached.tolist(), ends.tolist(), at)
        met = entries >= ends
        met[stretch[found == entries[stretch]]] = True
        again = np.flatnonzero(~met[: last + 1])
        if not again.size:
            starts: NDArray[np.int64] = np.sort(found[(stretch <= last) & (found >= entries[stretch])])
            return starts
        begins = entries[again]
    return None


def _entries(reached: list[int], ends: list[int], at: int) -> tuple[NDArray[np.int64], int]:
    """Return the position at which each stretch is entered, and the last stretch, as far as known by now.

    An event may span whole stretches. The first stretch whose end is not reached is the last one.
    """
    import numpy as np

    entries = []
    for behind, end in zip(reached, ends, strict=True):
        entries.append(at)
        at = behind if at < end else at
        if at < 0:
            break
    missing = len(ends) - len(entries)
    return np.array(entries + [-1] * missing), len(entries) - 1


def _followed(
    data: NDArray[np.uint8], live: NDArray[np.int64], place: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Follow some stretches, each from a position.

    Returns:
        The stretch and the position of each event found, and for each stretch the first position after it; -1 if
        it is not reached.
    """
    import numpy as np

    exits, nth = np.full(live.size, -1), np.arange(live.size)
    which, places = [live[:0]], [place[:0]]
    while nth.size:
        inside = place < ends[nth]
        exits[nth[~inside]] = place[~inside]
        nth, place = nth[inside], place[inside]
        behind = _behind(data, place)
        event = behind >= 0
        nth = nth[event]
        which.append(live[nth])
        places.append(place[event])
        place = behind[event]
    return np.concatenate(which), np.concatenate(places), exits


def _likely(data: NDArray[np.uint8], bounds: NDArray[np.int64], stop: int) -> NDArray[np.int64]:
    """Return for each stretch the first position that most events seem to follow."""
    import numpy as np

    keys = np.append(np.flatnonzero(data[bounds[0] : stop] == EVENT_KEY) + bounds[0], stop)
    tried = keys[np.minimum(np.searchsorted(keys, bounds)[:, None] + np.arange(_TRIED), keys.size - 1)]
    then, following = tried.ravel(), np.zeros(tried.size, np.int64)
    for _ in range(_FOLLOWING):
        then = np.where(then < 0, -1, _behind(data, then))
        following += then >= 0
    best = following.reshape(tried.shape).argmax(axis=1)
    found: NDArray[np.int64] = tried[np.arange(bounds.size), best]
    return found
