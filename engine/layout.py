"""Where things lie in a lake, and what makes a folder one.

<lake>/lake.json                                   format version
<lake>/events/trace_id=<id>/lane=<lane>/*.parquet  every event
<lake>/tables/traces/                              the catalog: a trace is in the lake when its latest row here says so
<lake>/tables/settings/                            the user's settings of traces
<lake>/tables/<relation>/                          stored relations
<lake>/lookup/<table>.csv                          rows a user adds to or overrides in a lookup table
<lake>/aside/<trace_id>.json                       why the events of a trace cannot be read, a cache
<lake>/.lock                                       locked by whoever changes the lake, for that moment
<lake>/.staging/<random>/                          work under way
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .errors import InputError, UsageError
from .files import publish_bytes
from .paths import TRACE_ID, check_table_path, check_usable, is_plain_folder, plain_files
from .schema import LANES

#: Raised when the files below change their meaning. A lake of a newer version is refused.
FORMAT_VERSION = 2
#: What a lake has before its marker makes it one.
_BEGINNINGS = ("events", "tables", ".staging", ".lock", "lake.json")


@dataclass(frozen=True)
class Layout:
    """Paths of one lake."""

    root: Path

    @property
    def marker(self) -> Path:
        """The file that makes a folder a lake."""
        return self.root / "lake.json"

    @property
    def events(self) -> Path:
        """The event tables."""
        return self.root / "events"

    @property
    def tables(self) -> Path:
        """The Delta tables: catalog, settings, stored relations."""
        return self.root / "tables"

    @property
    def lookup(self) -> Path:
        """The user's own rows of lookup tables."""
        return self.root / "lookup"

    @property
    def former_lookup(self) -> Path:
        """Where these rows were before: they are still read there."""
        return self.root / "reference"

    @property
    def aside(self) -> Path:
        """What is known of damaged events."""
        return self.root / "aside"

    @property
    def read(self) -> tuple[Path, ...]:
        """The folders that questions read."""
        return self.events, self.tables, self.lookup, self.former_lookup

    @property
    def staging(self) -> Path:
        """Ingests under way."""
        return self.root / ".staging"

    @property
    def lock(self) -> Path:
        """The file that whoever changes the lake locks meanwhile."""
        return self.root / ".lock"

    def event_dir(self, trace_id: str) -> Path:
        """Return the folder of one trace's events."""
        return self.events / _named(trace_id)

    def event_files(self, trace_id: str) -> list[Path]:
        """Return the files of one trace's events, lane by lane."""
        folder = self.event_dir(trace_id)
        lanes = (folder / f"lane={lane}" for lane in LANES)
        # A linked folder leads out of the lake, wherever on the way down it is.
        return [file for lane in lanes if is_plain_folder(folder) for file in plain_files(lane, ".parquet")]

    def lookup_files(self) -> dict[str, Path]:
        """Return the user's own rows of lookup tables, by the table's name."""
        files = (*plain_files(self.former_lookup, ".csv"), *plain_files(self.lookup, ".csv"))
        return {path.stem: path for path in files}

    def verdict_file(self, trace_id: str) -> Path:
        """Return where it is stored that the events of a trace cannot be read, and why."""
        return self.aside / f"{_named(trace_id)}.json"


def _named(trace_id: str) -> str:
    """Return what a trace's files are called.

    Raises:
        InputError: the id is invalid, and would lead elsewhere.
    """
    if not TRACE_ID.fullmatch(trace_id):
        raise InputError(f"{trace_id!r}: not the id of a trace: 16 hexadecimal digits.")
    return f"trace_id={trace_id}"


def open_layout(root: Path, *, create: bool) -> Layout:
    """Return the layout of the lake at `root`, made first where `create` is set and nothing is there.

    Raises:
        UsageError: there is no lake and none may be made, or the folder holds other things.
        InputError: the lake has another format, or its marker cannot be read.
    """
    check_usable(root)
    check_table_path(root)
    layout = Layout(root)
    if layout.marker.is_file():
        _check_version(layout)
        _check_folders(layout)
        return layout
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root}: not a lake: it is a file. A lake is a folder; give another --lake.")
    if not create:
        raise UsageError(f"no lake in {root}. Make one with: tracelake --lake {root} ingest TRACE")
    # A user's own rows may be there before the first trace.
    if root.is_dir() and not all(_is_begun(path) or path == layout.lookup for path in root.iterdir()):
        raise UsageError(f"{root}: not a lake, and not empty. Give a new folder with --lake.")
    try:
        for folder in (layout.events, layout.tables, layout.staging):
            folder.mkdir(parents=True, exist_ok=True)
        marker = {"format": "tracelake", "version": FORMAT_VERSION}
        publish_bytes(layout.marker, (json.dumps(marker) + "\n").encode())
    except OSError as error:
        raise InputError(f"{root}: cannot make a lake there: {error.strerror or error}") from error
    return layout


def _check_version(layout: Layout) -> None:
    try:
        version = json.loads(layout.marker.read_bytes())["version"]
        newer = version > FORMAT_VERSION
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


def _is_begun(path: Path) -> bool:
    """Whether a path is what a lake begins with: another process is making it, or was killed while it did."""
    return path.name in _BEGINNINGS or path.name.startswith(".lake.json.")


def _check_folders(layout: Layout) -> None:
    """Check that what is written into, and removed from, is the lake's own.

    Raises:
        InputError: a folder of the lake, or its lock, is a link to elsewhere.
    """
    for path in (*layout.read, layout.aside, layout.staging, layout.lock, *layout.tables.glob("*")):
        if path.is_symlink():
            raise InputError(f"{path}: is a symbolic link; what is inside a lake lies inside it. Remove the link.")
