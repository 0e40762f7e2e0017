"""Runs jobs that depend on one another, several at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from graphlib import TopologicalSorter
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
    chains = {job.name: 0 for job in jobs}
    for job in reversed(jobs):
        for name in job.needs:
            chains[name] = max(chains[name], chains[job.name] + 1)
    named = {job.name: job for job in jobs}
    waiting = TopologicalSorter({job.name: job.needs for job in jobs})
    waiting.prepare()
    ready: list[str] = []
    free = list(connections)
    running: dict[Future[None], tuple[str, duckdb.DuckDBPyConnection]] = {}
    with ThreadPoolExecutor(len(free)) as pool:
        try:
            while waiting.is_active():
                ready = sorted([*ready, *waiting.get_ready()], key=chains.__getitem__)
                while ready and free:
                    name, connection = ready.pop(), free.pop()
                    running[pool.submit(named[name].do, connection)] = name, connection
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    name, connection = running.pop(future)
                    free.append(connection)
                    future.result()
                    waiting.done(name)
                    yield name
        finally:
            for _, connection in running.values():
                connection.interrupt()
