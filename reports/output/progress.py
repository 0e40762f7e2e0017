"""Progress bars on a terminal; no output elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


class FileProgress:
    """A bar per file: bytes read, events so far. Used as the `progress` of `Lake.ingest`."""

    def __init__(self) -> None:
        """Initialise without drawing."""
        self._bars: Any = None

    def __enter__(self) -> FileProgress:
        """Start drawing, if stderr is a terminal."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                DownloadColumn(),
                TextColumn("{task.fields[events]:,} events"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Erase the bars."""
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, path: str) -> Callable[[int, int | None, int], None]:
        """Return the callback of one file."""
        if self._bars is None:
            return lambda read, size, events: None
        from rich.markup import escape

        from ...engine.secrets import redact
        from ...engine.text import printable

        bars = self._bars
        task = bars.add_task(escape(printable(redact(Path(path).name))), total=None, events=0)

        def report(read: int, size: int | None, events: int) -> None:
            bars.update(task, completed=read, total=size, events=events)

        return report


class CountProgress:
    """One bar for the number done. Used as the `done` of `Lake.compute`."""

    def __init__(self, what: str) -> None:
        """Initialise without drawing."""
        self._what = what
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> CountProgress:
        """Start drawing, if stderr is a terminal."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._what, total=None)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Erase the bar."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """Show the number done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)
