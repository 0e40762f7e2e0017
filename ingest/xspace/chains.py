"""Where the events of a line lie, found from many places at once.

The length of an event says where the next one begins, so that one after the other would be looked at. Instead each
stretch of bytes is followed from a place of its own that looks like an event. It need not be one, since a stat within
an event looks the same; but what is followed from it comes upon the events nearly always. It has done so where it meets
the place at which the stretch before ends: what it found from there on are events. Where it has not, the stretch is
followed again from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .wire import BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Number and wire type of an event in a line.
EVENT_KEY = 4 << 3 | BYTES
#: Bytes of which the stretches are followed together, and bytes of a stretch.
_WINDOW, _STRETCH = 1 << 22, 1 << 11
#: Bytes below which one event after the other is looked at.
_FEW = 1 << 13
#: Places in a stretch that are tried, and events that should follow from there.
_TRIED, _FOLLOWING = 4, 3
#: How often stretches that did not come upon the events are followed again, from where the one before ends.
_ROUNDS = 4


def events_from(data: NDArray[np.uint8], at: int) -> tuple[NDArray[np.int64], int]:
    """Return where the events that follow each other from a place begin, and where the last one ends.

    It stops at what is no event of less than two megabytes, or is not whole.
    """
    import numpy as np

    found, window = [], _FEW
    while at < data.size - 2:
        # Where something else lies between events again and again, little is looked at in vain.
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
    """Return where the fields of events begin, behind their keys and lengths."""
    import numpy as np

    long = data[starts + 1] >> np.uint8(7)
    return starts + 2 + long + (long & (data[starts + 2] >> np.uint8(7)))


def _behind(data: NDArray[np.uint8], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place behind the event at each place; -1 where none is."""
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
    """Return where the events begin that follow each other in [at, stop)."""
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
    """Return the same as `_one_by_one`; None where some stretches did not come upon the events."""
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
    """Return the place at which each stretch is entered, and the last stretch, as far as they are followed by now.

    An event may reach over whole stretches. The first that does not reach its end is the last one.
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
    """Follow some stretches from a place of each.

    Returns:
        Which stretch each event found is of, where it begins, and for each stretch the first place behind it; -1 where
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
    """Return for each stretch the first place that most events seem to follow."""
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
