"""Lookup arrays for the ids of a plane: names of events, arguments from their descriptions, names of stats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..credentials import holds_literal
from .columns import steps
from .planes import Plane, json_members

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Maximum events decoded together, and maximum characters of their names and arguments.
EVENTS_AT_ONCE = 1 << 15
TEXT_AT_ONCE = 16 << 20
#: Argument with the name of the step, if a plane shows steps.
_STEP_NAME = "step_name"
#: On GPUs, a launch and what it launched share this number.
_CORRELATION = "correlation_id"


class Names:
    """The names of a plane as arrays, indexed by ids."""

    def __init__(self, plane: Plane) -> None:
        """Collect the meaning of a plane's ids."""
        import numpy as np
        import pyarrow as pa

        ids = sorted(plane.events)
        described = [plane.events[key] for key in ids]
        self.ids = np.array(ids, np.int64)
        self.names = pa.array([one.name for one in described] + [""], pa.large_string())
        members = [json_members(one.args) for one in described] + [""]
        #: The arguments of an event with only those of its description, and the beginning for one with more.
        self.alone = pa.array([f"{{{text}}}" if text else None for text in members], pa.large_string())
        self.begun = pa.array([f"{{{text}," if text else "{" for text in members], pa.large_string())
        self._described = described
        self.keys = sorted(plane.keys)
        self.key_ids = np.array(self.keys, np.int64)
        texts = [plane.keys[key] for key in self.keys]
        quoted = [json.dumps(text, ensure_ascii=False) for text in texts]
        #: The beginning of a JSON member for each key, up to its value's text, and each key as such a text.
        self.key_texts = pa.array([f'{text}:"' for text in quoted] + ['"?":"'], pa.large_string())
        self.values = pa.array([*[text[1:-1] for text in quoted], ""], pa.large_string())
        self.texts = texts
        numbers = {text: nth for nth, text in enumerate(texts)}
        #: Pairs of an event and an argument that it already has from its description.
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
        self.correlation = numbers.get(_CORRELATION, -1)
        #: Whether a description has it as an argument of all its events.
        self.correlates = any(_CORRELATION in one.args for one in described)
        shown = [one.name + text for one, text in zip(described, members, strict=False)] + [""]
        #: Which descriptions and which texts hold a credential's literal.
        self.suspect = np.array(list(map(holds_literal, shown)))
        self.suspect_texts = np.array([*map(holds_literal, texts), False])
        #: Characters of each description.
        self.sizes = np.array(list(map(len, shown)))

    def take(self, held: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Iterator[slice]:
        """Yield which events to decode together: not too many, and with not too much text."""
        import numpy as np

        # Nearly all begin with the number of their description.
        numbers = next(steps(held, starts, ends)).value if starts.size else starts
        sizes = self.sizes[place_of(self.ids, numbers.view(np.int64))] if numbers.size == starts.size else 0
        upto, at = np.cumsum(sizes + 2 * (ends - starts)), 0
        while at < starts.size:
            text = TEXT_AT_ONCE + (upto[at - 1] if at else 0)
            stop = max(at + 1, min(at + EVENTS_AT_ONCE, int(np.searchsorted(upto, text))))
            yield slice(at, stop)
            at = stop

    def args_of(self, nth: int) -> dict[str, str]:
        """Return the arguments that all events of a description have."""
        return self._described[nth].args if nth < len(self._described) else {}


def place_of(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of ids among sorted ones; the length if they are missing."""
    import numpy as np

    place = np.searchsorted(ids, wanted)
    found = np.zeros(wanted.size, np.bool_)
    inside = place < ids.size
    found[inside] = ids[place[inside]] == wanted[inside]
    return np.where(found, place, ids.size)
