"""The protocol that every format's reader implements for `ingest_one`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass
class Reading:
    """What a reader learnt about a file besides its events.

    Attributes:
        keys: keys of the file's own object around the events; only an allow-list of them is stored.
        bare: the file has no such object.
        device_pids: processes that represent devices.
        metadata: the reader's facts about the file, stored unchanged.
        facts: columns of the catalog entry that the reader knows.
        arrays: number of event arrays in the file.
    """

    keys: dict[str, Any] = field(default_factory=dict)
    bare: bool = True
    device_pids: set[str] = field(default_factory=set)
    metadata: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    arrays: int = 0


class Reader(Protocol):
    """Reads one file's events into lanes.

    A reader is created with the source, the lanes' writers, the notes, a callback for the number of events so far,
    and the number of events of the trace from earlier files.
    """

    #: Events of the trace after reading, including those of earlier files.
    events: int

    def read(self) -> Reading:
        """Read the file to its end and store its events.

        Raises:
            InputError: the file is not of this format, or is empty.
        """
