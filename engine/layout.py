"""Where things lie in a lake, and what makes a folder one.

<lake>/lake.json                                   format version
<lake>/events/trace_id=<id>/lane=<lane>/*.parquet  every event
<lake>/traces/trace_id=<id>.parquet                the catalog: a trace is in the lake when its row is here
<lake>/settings/trace_id=<id>.json                 the user's settings of a trace
<lake>/lookup/<table>.csv                          rows a user adds to or overrides in a lookup table
<lake>/marts/<relation>/trace_id=<id>.parquet      materialised relations, a cache
<lake>/aside/<relation>.trace_id=<id>.json         why a relation cannot be computed of a trace, a cache
<lake>/.lock                                       locked by whoever changes the lake, for that moment
<lake>/.staging/<random>/                          an ingest under way
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import InputError, UsageError
from .files import publish_bytes
from .paths import TRACE_ID, check_usable, is_plain_file, is_plain_folder, plain_files, plain_folders
from .schema import LANES

#: Raised when the files below change their meaning. A lake of a newer version is refused.
FORMAT_VERSION = 1
#: What a lake has before its marker makes it one.
_BEGINNINGS = ("events", "traces", "settings", ".staging", ".lock", "lake.json")
_OF_TRACE = re.compile(f"trace_id=({TRACE_ID.pattern})")


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
    def traces(self) -> Path:
        """The catalog."""
        return self.root / "traces"

    @property
    def settings(self) -> Path:
        """The user's settings of each trace."""
        return self.root / "settings"

    @property
    def lookup(self) -> Path:
        """The user's own rows of lookup tables."""
        return self.root / "lookup"

    @property
    def former_lookup(self) -> Path:
        """Where these rows were before: they are still read there."""
        return self.root / "reference"

    @property
    def marts(self) -> Path:
        """Materialised relations."""
        return self.root / "marts"

    @property
    def aside(self) -> Path:
        """What cannot be computed, and why."""
        return self.root / "aside"

    @property
    def tables(self) -> tuple[Path, ...]:
        """The folders that questions read."""
        return self.events, self.traces, self.lookup, self.former_lookup, self.marts

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

    def catalog_file(self, trace_id: str) -> Path:
        """Return the catalog row of one trace."""
        return self.traces / f"{_named(trace_id)}.parquet"

    def settings_file(self, trace_id: str) -> Path:
        """Return the settings of one trace."""
        return self.settings / f"{_named(trace_id)}.json"

    def settings_files(self) -> dict[str, Path]:
        """Return the settings of every trace that has any, by the trace's id."""
        return _by_trace(plain_files(self.settings, ".json"))

    def lookup_files(self) -> dict[str, Path]:
        """Return the user's own rows of lookup tables, by the table's name."""
        files = (*plain_files(self.former_lookup, ".csv"), *plain_files(self.lookup, ".csv"))
        return {path.stem: path for path in files}

    def stamp(self, trace_id: str) -> int:
        """Return when what is known of a trace last changed, in ns: its settings, or its catalog row."""
        settings = self.settings_file(trace_id)
        return (settings if is_plain_file(settings) else self.catalog_file(trace_id)).stat().st_mtime_ns

    def mart_file(self, relation: str, trace_id: str) -> Path:
        """Return the materialised rows of one relation and trace."""
        return self.marts / relation / f"{_named(trace_id)}.parquet"

    def verdict_file(self, relation: str, trace_id: str) -> Path:
        """Return where it is stored that a relation cannot be computed of a trace, and why."""
        return self.aside / f"{relation}.{_named(trace_id)}.json"

    def verdicts(self, trace_id: str) -> list[str]:
        """Return the relations of which it is stored that they cannot be computed of a trace."""
        ending = f".{_named(trace_id)}.json"
        return [path.name.removesuffix(ending) for path in plain_files(self.aside, ending)]

    def mart_files(self, trace_id: str) -> list[Path]:
        """Return all materialised rows of one trace that are there."""
        named = f"{_named(trace_id)}.parquet"
        return [path / named for path in plain_folders(self.marts) if is_plain_file(path / named)]

    def trace_ids(self) -> list[str]:
        """Return the ids of the traces in the lake, sorted: the names of their catalog rows, whatever those say."""
        return list(_by_trace(plain_files(self.traces, ".parquet")))


def _named(trace_id: str) -> str:
    """Return what a trace's files are called.

    Raises:
        InputError: the id is invalid, and would lead elsewhere.
    """
    if not TRACE_ID.fullmatch(trace_id):
        raise InputError(f"{trace_id!r}: not the id of a trace: 16 hexadecimal digits.")
    return f"trace_id={trace_id}"


def _by_trace(files: list[Path]) -> dict[str, Path]:
    """Return files by the trace in their names; others are not ours."""
    return {named[1]: path for path in files if (named := _OF_TRACE.fullmatch(path.stem))}


def open_layout(root: Path, *, create: bool) -> Layout:
    """Return the layout of the lake at `root`, made first where `create` is set and nothing is there.

    Raises:
        UsageError: there is no lake and none may be made, or the folder holds other things.
        InputError: the lake was written by a newer version, or its marker cannot be read.
    """
    check_usable(root)
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
        for folder in (layout.events, layout.traces, layout.settings, layout.staging):
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
    inside = (*layout.tables, layout.settings, layout.aside)
    for path in (*inside, layout.staging, layout.lock, *layout.marts.glob("*")):
        if path.is_symlink():
            raise InputError(f"{path}: is a symbolic link; what is inside a lake lies inside it. Remove the link.")
