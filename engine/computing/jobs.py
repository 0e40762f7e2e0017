"""Runs jobs that depend on one another, several at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Job:
    """Some work with exclusive use of a connection.

    Attributes:
        name: its unique name.
        needs: the names of the jobs it depends on.
        do: runs it.
    """

    name: str
    needs: Collection[str]
    do: Callable[[duckdb.DuckDBPyConnection], None]


def do(jobs: Sequence[Job], connections: Sequence[duckdb.DuckDBPyConnection]) -> Iterator[str]:
    """Run jobs, each after those that it needs, and yield the name of each that is done.

    With one connection they run in this thread, in order. With several, the ready job with the longest chain of
    dependent jobs starts first; jobs that nothing depends on fill idle connections.

    Args:
        jobs: the jobs, in a topological order.
        connections: one for each job to run at once.
    """
    if len(connections) == 1:
        for job in jobs:
            job.do(connections[0])
            yield job.name
        return
    readers: dict[str, list[Job]] = {job.name: [] for job in jobs}
    for job in jobs:
        for name in job.needs:
            readers[name].append(job)
    chains: dict[str, int] = {}
    for job in reversed(jobs):
        chains[job.name] = max((chains[reader.name] + 1 for reader in readers[job.name]), default=0)
    missing = {job.name: len(job.needs) for job in jobs}
    ready = [job for job in jobs if not job.needs]
    free = list(connections)
    running: dict[Future[None], tuple[str, duckdb.DuckDBPyConnection]] = {}
    with ThreadPoolExecutor(len(free)) as pool:
        try:
            while ready or running:
                ready.sort(key=lambda job: chains[job.name])
                while ready and free:
                    job, connection = ready.pop(), free.pop()
                    running[pool.submit(job.do, connection)] = job.name, connection
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    name, connection = running.pop(future)
                    free.append(connection)
                    future.result()
                    for reader in readers[name]:
                        missing[reader.name] -= 1
                        if not missing[reader.name]:
                            ready.append(reader)
                    yield name
        finally:
            for _, connection in running.values():
                connection.interrupt()
