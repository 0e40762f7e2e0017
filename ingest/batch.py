"""Many files into the lake: several at once, none of them stopping the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..engine.errors import InputError
from ..engine.layout import Layout
from .one import Ingested, Progress, ingest_one
from .source import STDIN

#: Files taken from a folder.
_ENDINGS = (".json", ".json.gz", ".json.zst")
#: Model descriptions and server settings that lie beside traces.
_NOT_TRACES = frozenset({"config.json", "server_args.json", "metadata.json", "generation_config.json"})


@dataclass(frozen=True)
class Failed:
    """A file that did not get in, and why."""

    source: str
    reason: str


def expand(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the files that `paths` name; a folder stands for the traces below it.

    Raises:
        InputError: a folder holds no file that could be a trace.
    """
    files: list[str] = []
    for path in map(str, paths):
        if path != STDIN and Path(path).is_dir():
            found = sorted(
                str(file)
                for file in Path(path).rglob("*")
                if file.name.lower().endswith(_ENDINGS) and file.name not in _NOT_TRACES and file.is_file()
            )
            if not found:
                raise InputError(f"{path}: no traces in this folder (files ending in {', '.join(_ENDINGS)}).")
            files += found
        else:
            files.append(path)
    return list(dict.fromkeys(files))


def ingest_many(
    layout: Layout,
    files: Sequence[str],
    *,
    progress: Callable[[str], Progress] | None = None,
    jobs: int | None = None,
    name: str | None = None,
) -> Iterator[Ingested | Failed]:
    """Ingest files and yield what became of each, in the order given.

    Args:
        layout: the lake.
        files: paths, or `-`.
        progress: gives the progress callback of a file.
        jobs: files read at once; as many as the machine has cores, up to 8, when not given.
        name: the trace's name, for a single file.
    """
    cores = min(8, os.cpu_count() or 1)
    at_once = max(1, min(jobs or cores, len(files)))
    threads = max(1, cores // at_once)

    def ingest(path: str) -> Ingested | Failed:
        try:
            report = progress(path) if progress else lambda read, size, events: None
            return ingest_one(layout, path, progress=report, threads=threads, name=name)
        except InputError as error:
            return Failed(path, str(error))

    with ThreadPoolExecutor(at_once, "tracelake-file") as pool:
        yield from pool.map(ingest, files)
