"""Work on a Ray cluster: each chunk is a task, run by the same code on a node with free resources.

Ray retries a task whose process or node died. No work is lost or stored twice, because tasks are ordinary ingests
and renewals: unpublished work is invisible, and a trace already in the lake is not stored again.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from ...version import __version__
from ..errors import InputError, UsageError
from ..sql import modules
from ..storage.files import Staging, at_abandon, is_locked
from ..storage.layout import Layout
from .executors import Executor, Threads

C = TypeVar("C")
R = TypeVar("R")
#: Options of a task by Ray's names, with the type of each value.
OPTIONS: Mapping[str, type | tuple[type, ...]] = {
    "num_cpus": (int, float), "memory": (int, float), "resources": dict, "max_retries": int, "runtime_env": dict,
}  # fmt: skip
#: Seconds after which an unreachable address is given up: Ray itself tries for minutes.
_PATIENCE = 5.0
_log = logging.getLogger("tracelake")


@contextlib.contextmanager
def executor(jobs: int | None, address: str | None, options: Mapping[str, Any] | None = None) -> Iterator[Executor]:
    """Lend an executor: threads of this process, or a Ray cluster for as long as it is needed.

    Args:
        jobs: chunks in progress at once; default: as many as there is room for.
        address: the cluster's: `auto`, `host:port` or `ray://host:port`; None for this process.
        options: Ray's options for each task, see `OPTIONS`; a value may be given as JSON.

    Raises:
        UsageError: Ray is not installed, the address is invalid, or an option is unknown or has an invalid value.
        InputError: no cluster answers at the address.
    """
    if address is None:
        if options:
            raise UsageError("options for Ray are given, but no cluster: --ray ADDRESS.")
        yield Threads(jobs)
        return
    checked = _checked(options or {})
    ray = _imported()
    own = not ray.is_initialized()
    if own:
        _connect(ray, address)
    try:
        # Ray reports dead workers on stdout, where only answers may go.
        with contextlib.redirect_stdout(sys.stderr):
            yield Cluster(ray, jobs, checked)
    finally:
        if own:
            ray.shutdown()


def _identity() -> tuple[str, str]:
    """Return what must be the same on all nodes: the version of tracelake, and the fingerprint of its SQL."""
    return __version__, modules.fingerprint()


def _check_node(layout: Layout, locked: Path | None, sender: tuple[str, str]) -> None:
    """Check that this node can do the work.

    Args:
        layout: the lake.
        locked: a file in the lake that the sender keeps locked; None in an object store, which needs no locks.
        sender: the identity of the machine that sends the work.

    Raises:
        InputError: its rows would differ or go elsewhere, or its locks would not hold.
    """
    node, own = socket.gethostname(), _identity()
    if own != sender:
        raise InputError(
            f"node {node} has another tracelake ({own[0]}, SQL {own[1]}) than the sender ({sender[0]}, SQL "
            f"{sender[1]}). Install the same on all nodes."
        )
    if locked is None:
        return
    if not locked.is_file():
        raise InputError(
            f"{layout.root}: node {node} does not see this lake. It must lie on a file system that all nodes share, "
            "under the same path."
        )
    if not is_locked(locked):
        raise InputError(
            f"{layout.root}: node {node} does not see the locks of other nodes: two could write at once. "
            "The file system must be mounted with locks (flock) that hold for all nodes."
        )


class Cluster:
    """Tasks on a Ray cluster that this process is connected to."""

    def __init__(self, ray: Any, jobs: int | None, options: Mapping[str, Any]) -> None:
        """Connect without sending tasks.

        Args:
            ray: the connected module.
            jobs: maximum of tasks at once; None for as many as Ray has room for.
            options: Ray's options for each task.

        Raises:
            UsageError: Ray refuses an option.
        """
        self._ray = ray
        self._jobs = jobs
        cores = options.get("num_cpus", 1)
        try:
            self._task = ray.remote(_on_node).options(**{"scheduling_strategy": "SPREAD", **options, "num_cpus": cores})
        except (TypeError, ValueError) as error:
            raise UsageError(f"an option for Ray is invalid: {_first(error)}") from error
        self._threads = max(1, int(cores))
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        #: For an autoscaling cluster, what it has now.
        self.at_once = jobs or max(1, int(sum(node.get("CPU", 0) for node in nodes) / (cores or 1)))
        wanted = {"CPU": cores, "memory": options.get("memory", 0)} | options.get("resources", {})
        if not any(all(node.get(name, 0) >= value for name, value in wanted.items()) for node in nodes):
            shown = ", ".join(f"{name}={value}" for name, value in wanted.items() if value)
            _log.warning("no node of the cluster has %s; tasks wait until one has.", shown)

    def threads(self, at_once: int) -> int:  # noqa: ARG002
        """Return the number of cores that Ray gives to each task."""
        return self._threads

    def run(
        self, work: Callable[[Layout, C], R], layout: Layout, chunks: Sequence[C]
    ) -> Iterator[tuple[int, R | InputError]]:
        """Run the work on all chunks; yield the number and result of each as it completes.

        Raises:
            InputError: a node cannot do the work.
        """
        if isinstance(layout.root, Path):
            layout = Layout(layout.root.absolute())
        left = iter(enumerate(chunks))
        under_way: dict[Any, int] = {}

        def cancel() -> None:
            for reference in tuple(under_way):
                with contextlib.suppress(Exception):
                    self._ray.cancel(reference, force=True)

        with Staging(layout.staging) as folder:
            locked = None if layout.is_remote else folder.with_suffix(".lock")
            at_abandon.append(cancel)
            try:
                while True:
                    # Submit all if no number is given, so that an autoscaling cluster sees the load.
                    for nth, chunk in islice(left, (self._jobs or len(chunks)) - len(under_way)):
                        under_way[self._task.remote(work, layout, chunk, locked, _identity(), self._threads)] = nth
                    if not under_way:
                        return
                    [done], _ = self._ray.wait(list(under_way), num_returns=1)
                    yield under_way.pop(done), self._result(done)
            finally:
                cancel()
                at_abandon.remove(cancel)

    def _result(self, reference: Any) -> Any:
        """Return a task's result, or an InputError if its process died on every retry."""
        errors = self._ray.exceptions
        try:
            result, warnings = self._ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, errors.RaySystemError) or "failed to import" in str(error.cause):
                reason = str(error.cause).strip().rpartition("\n")[2]
                raise InputError(f"a node cannot load tracelake: {reason}. Install the same on all nodes.") from error
            raise error.cause from None
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as error:
            return InputError(f"its task died on the cluster each time that it was tried: {_first(error)}")
        except errors.RayError as error:
            raise InputError(f"the cluster cannot run a task: {_first(error)}") from error
        for warning in warnings:
            _log.warning("%s", warning)
        return result


def _on_node(
    work: Callable[[Layout, C], R],
    layout: Layout,
    chunk: C,
    locked: Path | None,
    sender: tuple[str, str],
    threads: int,
) -> tuple[R, list[str]]:
    """Run the work on a chunk, on a node of the cluster; return its result and the warnings logged."""
    os.environ.setdefault("TRACELAKE_THREADS", str(threads))
    _check_node(layout, locked, sender)
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    _log.addHandler(handler)
    _log.propagate = False
    try:
        return work(layout, chunk), messages
    finally:
        _log.removeHandler(handler)


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with checked and converted values."""
    checked = {}
    for name, value in options.items():
        if name not in OPTIONS:
            raise UsageError(f"Ray option {name}: unknown here. Known: {', '.join(OPTIONS)}.")
        with contextlib.suppress(ValueError):
            value = json.loads(value) if isinstance(value, str) else value  # noqa: PLW2901
        if not isinstance(value, OPTIONS[name]) or isinstance(value, bool):
            raise UsageError(f'Ray option {name}={value}: expected a number, or JSON as in resources={{"disk": 1}}.')
        checked[name] = value
    return checked


def _imported() -> Any:
    try:
        import ray
    except ImportError:
        raise UsageError("a cluster needs Ray, which is not installed: pip install 'tracelake[ray]'") from None
    return ray


def _connect(ray: Any, address: str) -> None:
    """Connect this process to a cluster."""
    given = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
    host, _, port = given.removeprefix("ray://").rpartition(":")
    try:
        if host and port.isdecimal():
            socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except ValueError as error:
        raise UsageError(f"--ray {address}: {_first(error)}") from error
    except (OSError, ImportError, RuntimeError, ray.exceptions.RayError) as error:
        raise InputError(f"--ray {address}: cannot be connected to: {_first(error)}") from error


def _first(error: BaseException) -> str:
    """Return the first line of an error; Ray's following lines are advice about its own logs."""
    return str(error).strip().partition("\n")[0].rstrip(".") + "."
