"""Where things lie in a lake, and what makes a folder one.

<lake>/lake.json                                   format version
<lake>/events/trace_id=<id>/lane=<lane>/*.parquet  every event
<lake>/traces/trace_id=<id>.parquet                the catalog: a trace is in the lake when its row is here
<lake>/settings/trace_id=<id>.json                 what the user said of a trace
<lake>/reference/<table>.csv                       rows a user adds to or overrides in a reference table
<lake>/marts/<relation>/trace_id=<id>.parquet      materialised relations, a cache
<lake>/.lock                                       locked by whoever changes the lake, for that moment
<lake>/.staging/<random>/                          an ingest under way
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .errors import InputError, UsageError
from .files import publish_bytes

#: Raised when the files below change their meaning. A lake of a newer version is refused.
FORMAT_VERSION = 1


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
        """What the user said of each trace."""
        return self.root / "settings"

    @property
    def reference(self) -> Path:
        """The user's own rows of reference tables."""
        return self.root / "reference"

    @property
    def marts(self) -> Path:
        """Materialised relations."""
        return self.root / "marts"

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
        return self.events / f"trace_id={trace_id}"

    def catalog_file(self, trace_id: str) -> Path:
        """Return the catalog row of one trace."""
        return self.traces / f"trace_id={trace_id}.parquet"

    def settings_file(self, trace_id: str) -> Path:
        """Return the settings of one trace."""
        return self.settings / f"trace_id={trace_id}.json"

    def stamp(self, trace_id: str) -> int:
        """Return when what is known of a trace last changed, in ns: its settings, or its catalog row."""
        settings = self.settings_file(trace_id)
        return (settings if settings.exists() else self.catalog_file(trace_id)).stat().st_mtime_ns

    def mart_file(self, relation: str, trace_id: str) -> Path:
        """Return the materialised rows of one relation and trace."""
        return self.marts / relation / f"trace_id={trace_id}.parquet"

    def trace_ids(self) -> list[str]:
        """Return the ids of the traces in the lake, sorted."""
        if not self.traces.is_dir():
            return []
        names = (path.stem for path in self.traces.glob("trace_id=*.parquet"))
        return sorted(name.removeprefix("trace_id=") for name in names)


def open_layout(root: Path, *, create: bool) -> Layout:
    """Return the layout of the lake at `root`, made first where `create` is set and nothing is there.

    Raises:
        UsageError: there is no lake and none may be made, or the folder holds other things.
        InputError: the lake was written by a newer version, or its marker cannot be read.
    """
    layout = Layout(root)
    if layout.marker.is_file():
        _check_version(layout)
        return layout
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root}: not a lake: it is a file. A lake is a folder; give another --lake.")
    if not create:
        raise UsageError(f"{root}: no lake there. Make one with: tracelake --lake {root} ingest TRACE")
    if root.is_dir() and any(root.iterdir()):
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
