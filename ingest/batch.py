"""Ingest of many files: several at once, none of which stops the others."""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..engine.computing.executors import Executor, Threads
from ..engine.computing.renew import AT_ONCE, together
from ..engine.errors import InputError
from ..engine.secrets import redact
from ..engine.storage.files import Staging, changing, remove_dead_staging
from ..engine.storage.layout import Layout, is_lake
from .ascend.folder import ascend_folders, is_unread
from .ascend.table import HEADER_LIMIT
from .databases.exports import is_known
from .databases.folder import table_files
from .foreign import ENDINGS, foreign
from .formats import kind_of
from .inputs import TO_NOTHING, input_of
from .land import Settings, land
from .one import Ingested, Progress, Staged, read_one
from .places import repeats
from .source import STDIN, Source
from .walk import walk

_log = logging.getLogger("tracelake")
T = TypeVar("T")
#: Maximum bytes of files, compressed or not, that one worker reads together.
_BYTES_AT_ONCE = 4 << 20
#: If all files together are at most this large, one worker takes them: planning their computation takes longer than the
#: rest, and a second worker would plan it again.
_LITTLE_BYTES = 1 << 20
#: Files ingested from a folder; tables only if their kind is known.
_ENDINGS = (".json", ".json.gz", ".json.zst", ".xplane.pb", ".xplane.pb.gz", ".xplane.pb.zst")
_TABLES = (".csv", ".csv.gz", ".csv.zst")
_DATABASES = (".sqlite", ".db")
#: Files beside traces with the same suffixes that are not traces: settings of models, servers and jobs, results of
#: analyses, outputs of other tools of the same profiler.
_NOT_TRACES = re.compile(
    r"(((generation|tokenizer|(pre)?processor|adapter|ds|deepspeed|zero|accelerate)_)?config|server_args|metadata"
    r"|tokenizer|special_tokens_map|added_tokens|vocab|(pytorch_)?model(\.safetensors|\.bin)\.index|trainer_state"
    r"|(all|train|eval|predict)_results|execution_details|profiler_(info|metadata)(_\d+)?"
    r"|cluster_communication_matrix|communication_group|.+\.(memory_profile|overview_page|op_profile|kernel_stats"
    r"|memory_viewer|pod_viewer|roofline_model|hlo_stats|framework_op_stats|input_pipeline_analyzer))\.json(\.gz|\.zst)?"
)


class _Stopped(Exception):
    """The file's result is no longer needed."""


@dataclass(frozen=True)
class Failed:
    """A file that was not ingested, and why."""

    source: str
    reason: str


def expand(paths: Sequence[str | os.PathLike[str]]) -> list[str | Failed]:
    """Return the files that `paths` name; a folder stands for the traces below it, and fails if it has none.

    A folder below it that cannot be read is an error, as is a dangling link that is named like a trace.
    The output of an Ascend profiler for one rank is one trace, represented by its folder.
    """
    files: list[str | Failed] = []
    for path in map(str, paths):
        if not path:
            # Path("") would be the folder that one stands in.
            files.append(Failed(path, "an empty path: give a file, or . for this folder."))
        elif path != STDIN and Path(path).is_dir():
            found = _in_folder(Path(path))
            files += found or [Failed(path, _nothing_in(Path(path)))]
        else:
            files.append(path)
    return list(dict.fromkeys(files))


def _in_folder(folder: Path) -> list[str | Failed]:
    failed: list[Failed] = []

    def unread(error: OSError) -> None:
        place = os.fsdecode(error.filename)
        failed.append(Failed(place, f"{place}: this folder cannot be read: {error.strerror}."))

    if table_files(folder):
        return [str(folder)]
    ranks = ascend_folders(folder)
    captures = {capture for rank in ranks for capture in rank.captures}
    taken = {file for rank in ranks for file in rank.files}
    outputs = {rank.path for rank in ranks}
    found = [str(output) for output in outputs]
    for here, inner, names in walk(folder, unread):
        found += [str(here / one) for one in inner if table_files(here / one)]
        for file in (here / one for one in names):
            name = file.name.lower()
            is_trace = name.endswith(_ENDINGS) and not _NOT_TRACES.fullmatch(name)
            if is_trace and file.is_symlink() and not file.exists():
                failed.append(Failed(str(file), f"{file}: {TO_NOTHING}"))
            if not file.is_file() or file in taken or captures.intersection(file.absolute().parents):
                # Anything else in a rank's folder belongs to the same trace.
                continue
            if here in outputs and is_unread(name):
                continue
            if is_trace or (
                (name.endswith(_TABLES) and _is_known(file)) or (name.endswith(_DATABASES) and is_known(file))
            ):
                found.append(str(file))
    repeated = repeats(map(Path, found))
    for path, why in sorted(repeated.items()):
        _log.warning("%s: left out: %s", path, why)
    return [*sorted(set(found) - set(map(str, repeated))), *failed]


def _nothing_in(folder: Path) -> str:
    """Return the message about a folder without traces: what it contains instead, if known."""
    if is_lake(folder):
        return f"{folder}: is a lake; what is in it was ingested already."
    message = f"{folder}: no traces in this folder (files ending in {', '.join(_ENDINGS + _TABLES + _DATABASES)})."
    links = [here / one for here, inner, _ in walk(folder) for one in inner if (here / one).is_symlink()]
    if links:
        message += f"\n  Links to folders are not followed; give the folder itself: {links[0]}"
    for file in (here / name for here, _, names in walk(folder) for name in names):
        if file.name.lower().endswith(ENDINGS) and file.is_file():
            try:
                source = Source(file)
                about = foreign(source.peek(HEADER_LIMIT), file.name)
                source.close()
            except InputError:
                continue
            if about:
                return f"{message}\n  {file.name} is {about}"
    return message


def _is_known(file: Path) -> bool:
    """Return whether a table is of a kind that Ascend's profilers write."""
    try:
        source = Source(file)
    except InputError:
        return False
    try:
        return kind_of(source.peek(HEADER_LIMIT), file.name) != "trace"
    except InputError:
        return False
    finally:
        source.close()


def ingest_many(
    layout: Layout,
    files: Sequence[str | Failed],
    *,
    progress: Callable[[str], Progress] | None = None,
    executor: Executor | None = None,
    settings: Settings | None = None,
    answers: bool = True,
) -> list[Ingested | Failed]:
    """Ingest files and return the result of each, in the given order.

    Small files are read and computed several at a time, and enter the lake together.

    Args:
        layout: the lake.
        files: paths, or `-`; a file that has already failed keeps its place.
        progress: returns the progress callback of a file.
        executor: reads them; default: threads of this process.
        settings: settings of all the traces.
        answers: whether to compute the answers now.

    Raises:
        InputError: a node of the cluster cannot do the work.
    """
    executor = executor or Threads()
    progress = progress or (lambda path: _unseen)
    of_chunk: Callable[..., list[Ingested | Failed]] = ingest_on_node
    if isinstance(executor, Threads):
        of_chunk = partial(ingest_chunk, progress=_until(executor.stopped, progress))
    else:
        files = [_as_nodes_name(file) for file in files]
    at_once = max(1, min(executor.at_once, len(files)))
    if answers and isinstance(executor, Threads) and sum(map(_size, files)) <= _LITTLE_BYTES:
        at_once = 1
    work = partial(of_chunk, settings=settings, answers=answers, threads=executor.threads(at_once))
    remove_dead_staging(layout.staging)
    chunks = list(_chunks(files, at_once))
    done: dict[int, Sequence[Ingested | Failed]] = {}
    for nth, results in executor.run(work, layout, chunks):
        done[nth] = _of_each(chunks[nth], results)
        if not isinstance(executor, Threads):
            _show(done[nth], progress)
    return [one for nth in range(len(chunks)) for one in done[nth]]


def _of_each(
    chunk: Sequence[str | Failed], results: Sequence[Ingested | Failed] | InputError
) -> Sequence[Ingested | Failed]:
    """Return the result of each file of a chunk, also if the process that read them died."""
    if not isinstance(results, InputError):
        return results
    return [path if isinstance(path, Failed) else Failed(path, f"{path}: {results}") for path in chunk]


def ingest_chunk(
    layout: Layout,
    chunk: Sequence[str | Failed],
    *,
    settings: Settings | None,
    answers: bool,
    threads: int,
    progress: Callable[[str], Progress] = lambda path: _unseen,
) -> list[Ingested | Failed]:
    """Read files, compute their answers together, and publish all in one step; for the arguments see `ingest_many`."""
    paths = [path for path in chunk if not isinstance(path, Failed)]

    def read(path: str, folder: Path) -> Staged | Failed:
        folder.mkdir()
        return _caught(path, lambda: read_one(layout, path, folder, progress=progress(path), threads=threads))

    with ExitStack() as stack:
        with changing(layout.root):
            folder = stack.enter_context(Staging(layout.staging, ", ".join(paths)))
        found = [path if isinstance(path, Failed) else read(path, folder / str(nth)) for nth, path in enumerate(chunk)]
        staged = [one for one in found if isinstance(one, Staged)]
        landed = _caught(", ".join(paths), lambda: land(layout, folder, staged, settings, answers=answers))
        if isinstance(landed, Failed):
            return [Failed(one.ingested.source, landed.reason) if isinstance(one, Staged) else one for one in found]
        done = iter(landed)
        return [next(done) if isinstance(one, Staged) else one for one in found]


def ingest_on_node(layout: Layout, chunk: Sequence[str | Failed], **rest: Any) -> list[Ingested | Failed]:
    """Ingest files named by another machine; those not visible here fail."""

    def seen(path: str) -> str | Failed:
        if os.path.lexists(path):
            return path
        where = "Traces must lie on a file system that all nodes share, under the same path."
        return Failed(path, f"{path}: node {socket.gethostname()} does not see this file. {where}")

    return ingest_chunk(layout, [one if isinstance(one, Failed) else seen(one) for one in chunk], **rest)


def _as_nodes_name(file: str | Failed) -> str | Failed:
    """Return the absolute path of a file; one that fails here needs no other machine."""
    if isinstance(file, Failed):
        return file
    if file == STDIN:
        return Failed(file, "standard input cannot be read by a cluster; write it to a file that all nodes see.")
    try:
        input_of(file)
    except InputError as error:
        return Failed(file, str(error))
    return str(Path(file).absolute())


def _until(stopped: threading.Event, progress: Callable[[str], Progress]) -> Callable[[str], Progress]:
    """Make the reading of files stop at the next piece once the results are not needed any more."""

    def of_file(path: str) -> Progress:
        show = progress(path)

        def report(read: int, size: int | None, events: int) -> None:
            if stopped.is_set():
                raise _Stopped
            show(read, size, events)

        return report

    return of_file


def _show(results: Sequence[Ingested | Failed], progress: Callable[[str], Progress]) -> None:
    """Show the progress of files that were read elsewhere, in one step."""
    for one in results:
        if isinstance(one, Ingested):
            size = _size(one.source)
            progress(one.source)(size, size, one.events)


def _unseen(read: int, size: int | None, events: int) -> None:
    """Ignore a file's progress."""


def _caught(path: str, work: Callable[[], T]) -> T | Failed:
    """Run work on a file; if it fails, return why."""
    try:
        return work()
    except InputError as error:
        return Failed(path, str(error))
    except _Stopped:
        raise
    except Exception as error:
        if os.environ.get("TRACELAKE_DEBUG"):
            raise
        reason = redact(f"{type(error).__name__}: {error}")
        reason += "\n  This should not happen. TRACELAKE_DEBUG=1 shows where it did."
        return Failed(path, f"{path}: {reason}")


def _chunks(files: Sequence[str | Failed], at_once: int) -> Iterator[list[str | Failed]]:
    """Yield the files for one worker at a time, in groups small enough to keep all workers busy."""
    return together(files, _size, max(1, min(AT_ONCE, -(-len(files) // at_once))), _BYTES_AT_ONCE)


def _size(file: str | Failed) -> int:
    """Return the approximate bytes a worker reads of a file; unknown for one that grows."""
    if isinstance(file, Failed):
        return 0
    try:
        path = Path(file)
        return path.stat().st_size if path.is_file() else _BYTES_AT_ONCE
    except (OSError, ValueError):
        return 0
