"""What every reader of a format promises to `ingest_one`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass
class Reading:
    """What a reader learnt of a file besides its events.

    Attributes:
        keys: keys of the file's own object around the events; only an allow-list of them is kept.
        bare: the file has no such object.
        device_pids: processes that stand for devices.
        metadata: what the reader says of the file, kept as it is.
        facts: columns of the catalog entry that the reader knows.
        arrays: arrays of events in the file.
    """

    keys: dict[str, Any] = field(default_factory=dict)
    bare: bool = True
    device_pids: set[str] = field(default_factory=set)
    metadata: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    arrays: int = 0


class Reader(Protocol):
    """Reads one file's events into lanes.

    A reader is made with the source, the lanes' writers, the notes, a callback that gets the number of events so far,
    and the number of events of the trace that other files gave before.
    """

    #: Events of the trace after reading, those of other files before this one among them.
    events: int

    def read(self) -> Reading:
        """Read the file to its end and store its events.

        Raises:
            InputError: the file is not of this format, or holds nothing of it.
        """
