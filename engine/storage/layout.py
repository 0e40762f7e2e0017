"""The layout of a lake on disk, and what makes a folder a lake.

<lake>/lake.json                                   format version
<lake>/events/trace_id=<id>/lane=<lane>/*.parquet  every event
<lake>/tables/traces/                              the catalog: a trace is in the lake when its latest row here says so
<lake>/tables/settings/                            the user's settings of traces
<lake>/tables/<relation>/                          stored relations
<lake>/lookup/<table>.csv                          rows a user adds to or overrides in a lookup table
<lake>/.lock                                       locked by a process while it changes the lake
<lake>/.staging/<random>/                          work in progress

In an object store the catalog lists the event files of each trace; any others were left by a writer that was killed.
There is no lock: see `publish`. Work in progress is in a local folder of the machine that does it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError, UsageError, unpermitted
from ..schema import LANES
from .files import publish_bytes, remove_folder, temporary
from .objects import ObjectPath, StoreError, remove
from .paths import TRACE_ID, Place, check_table_path, check_usable, is_plain_folder, place_of, plain_files

#: Incremented when the files above change their meaning. A lake of a newer version is refused.
FORMAT_VERSION = 2
#: What a lake may contain before its marker is written.
_BEGINNINGS = ("events", "tables", ".staging", ".lock", "lake.json")
#: A marker file is smaller than this.
_MARKER_BYTES = 1000
_LISTED = re.compile(r"lane=[a-z]+/[\w-]+\.parquet")


@dataclass(frozen=True)
class Layout:
    """Paths of one lake."""

    root: Place

    @property
    def marker(self) -> Place:
        """The file that makes a folder a lake."""
        return self.root / "lake.json"

    @property
    def events(self) -> Place:
        """The event tables."""
        return self.root / "events"

    @property
    def tables(self) -> Place:
        """The Delta tables: catalog, settings, stored relations."""
        return self.root / "tables"

    @property
    def lookup(self) -> Place:
        """The user's own rows of lookup tables."""
        return self.root / "lookup"

    @property
    def former_lookup(self) -> Place:
        """The former location of these rows, which is still read."""
        return self.root / "reference"

    @property
    def read(self) -> tuple[Place, ...]:
        """The folders that queries read."""
        return self.events, self.tables, self.lookup, self.former_lookup

    @property
    def is_remote(self) -> bool:
        """Whether the lake is in an object store."""
        return isinstance(self.root, ObjectPath)

    @property
    def staging(self) -> Path:
        """The folder for work in progress."""
        if isinstance(self.root, ObjectPath):
            return temporary()
        return self.root / ".staging"

    @property
    def lock(self) -> Place:
        """The lock file, held while the lake is changed."""
        return self.root / ".lock"

    def event_dir(self, trace_id: str) -> Place:
        """Return the folder of one trace's events.

        Raises:
            InputError: the id is invalid; its path could lead elsewhere.
        """
        if not TRACE_ID.fullmatch(trace_id):
            raise InputError(f"{trace_id!r}: not the id of a trace: 16 hexadecimal digits.")
        return self.events / f"trace_id={trace_id}"

    def event_files(self, trace_id: str, listed: str | None = None) -> Sequence[Place]:
        """Return the files of one trace's events, lane by lane.

        Args:
            trace_id: the trace.
            listed: the files listed in its catalog entry; used in an object store only.

        Raises:
            InputError: this user may not read a folder.
        """
        folder = self.event_dir(trace_id)
        if isinstance(folder, ObjectPath):
            return [ObjectPath.lasting(f"{folder}/{name}", size) for name, size in _listed(listed or "[]")]
        lanes = (folder / f"lane={lane}" for lane in LANES)
        try:
            # A linked folder would lead out of the lake, at any level.
            return [file for lane in lanes if is_plain_folder(folder) for file in plain_files(lane, ".parquet")]
        except PermissionError as error:
            raise unpermitted(error.filename) from error

    def remove_events(self, trace_id: str, listed: str | None) -> None:
        """Remove a trace's events; in an object store only those listed, since another writer may be adding others."""
        if self.is_remote:
            remove(file for file in self.event_files(trace_id, listed) if isinstance(file, ObjectPath))
        else:
            remove_folder(self.event_dir(trace_id))

    def lookup_files(self) -> dict[str, Place]:
        """Return the user's own rows of lookup tables, by the table's name."""
        if isinstance(self.root, ObjectPath):
            return {path.stem: path for path in (self.root / "lookup").recent() if path.name.endswith(".csv")}
        files = (*plain_files(self.former_lookup, ".csv"), *plain_files(self.lookup, ".csv"))
        return {path.stem: path for path in files}


def listing(files: Iterable[tuple[ObjectPath, int]]) -> str:
    """Return the files of a trace's events, with their sizes, in the format of its catalog entry."""
    return json.dumps([[f"{file.parent.name}/{file.name}", size] for file, size in files])


def _listed(text: str) -> list[tuple[str, int]]:
    """Return the files that an entry lists. The lake may be untrusted: only paths inside it are accepted."""
    try:
        return [(name, int(size)) for name, size in json.loads(text) if _LISTED.fullmatch(name)]
    except (ValueError, TypeError, RecursionError):
        return []


def is_lake(folder: Path) -> bool:
    """Whether a folder is a lake, of any format."""
    marker = Layout(folder).marker
    try:
        found = json.loads(marker.read_bytes()) if marker.is_file() and marker.stat().st_size < _MARKER_BYTES else None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("format") == "tracelake"


def open_layout(place: str | os.PathLike[str] | ObjectPath, *, create: bool) -> Layout:
    """Return the layout of the lake at a place, creating the lake if `create` is set and there is none.

    Raises:
        UsageError: there is no lake and `create` is false, or the folder holds other things.
        InputError: the lake has another format, or its marker cannot be read.
    """
    root = place_of(place)
    layout = Layout(root)
    if isinstance(root, Path):
        check_usable(root)
        check_table_path(root)
        if root.exists() and not root.is_dir():
            raise UsageError(f"{root}: not a lake: it is a file. A lake is a folder; give another --lake.")
    try:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            _check_version(layout)
            if isinstance(root, Path):
                _check_folders(layout, root / "tables")
            return layout
        if not create:
            raise UsageError(f"no lake in {root}. Make one with: tracelake --lake {root} ingest TRACE")
        # The user's lookup rows may exist before the first trace.
        there = root.iterdir() if isinstance(root, ObjectPath) or root.is_dir() else ()
        if not all(_is_begun(path) or path == layout.lookup for path in there):
            raise UsageError(f"{root}: not a lake, and not empty. Give a new place with --lake.")
        for folder in (layout.events, layout.tables, layout.staging):
            folder.mkdir(parents=True, exist_ok=True)
        mark(layout)
    except OSError as error:
        elsewhere = "\n  Give another place with --lake or TRACELAKE_LAKE." if isinstance(root, Path) else ""
        raise InputError(f"{root}: cannot be opened, or made a lake: {error.strerror or error}.{elsewhere}") from error
    return layout


def mark(layout: Layout) -> None:
    """Write the marker that makes a place a lake of this format.

    Raises:
        InputError: the object store would let two writers overwrite each other's entries.
    """
    marker = (json.dumps({"format": "tracelake", "version": FORMAT_VERSION}) + "\n").encode()
    if not isinstance(layout.marker, ObjectPath):
        publish_bytes(layout.marker, marker)
    elif layout.marker.create(marker) and layout.marker.create(marker):
        layout.marker.unlink()
        raise InputError(
            f"{layout.root}: cannot make a lake there: the object store has no conditional puts (If-None-Match), and "
            "writers would overwrite each other's entries."
        )


def _check_version(layout: Layout) -> None:
    try:
        version = json.loads(layout.marker.read_bytes())["version"]
        newer = version > FORMAT_VERSION
    except (StoreError, FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{layout.marker}: cannot be read as a lake's marker: {error}") from error
    if version == 1:
        raise InputError(
            f"{layout.root}: this lake has format 1, this tracelake reads format {FORMAT_VERSION}. "
            f"Migrate it with: tracelake --lake {layout.root} migrate"
        )
    if newer:
        raise InputError(
            f"{layout.root}: this lake has format {version}, this tracelake reads up to {FORMAT_VERSION}. "
            "Upgrade tracelake to open it."
        )


def _is_begun(path: Place) -> bool:
    """Whether a path belongs to a lake being created: by another process, or by one that was killed."""
    return path.name in _BEGINNINGS or path.name.startswith(".lake.json.")


def _check_folders(layout: Layout, tables: Path) -> None:
    """Check that the folders that are written to and cleaned up are the lake's own.

    Raises:
        InputError: a folder of the lake, or its lock, is a link to elsewhere.
    """
    for path in (*layout.read, layout.staging, layout.lock, *tables.glob("*")):
        if path.is_symlink():
            raise InputError(f"{path}: is a symbolic link; what is inside a lake lies inside it. Remove the link.")
