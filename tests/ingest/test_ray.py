"""A lake that a cluster fills is the one that a single machine fills, whatever dies on the way.

Two nodes of one core each, on the loopback interface of this machine.
"""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tracelake.engine.computing import cluster
from tracelake.engine.errors import InputError, UsageError
from tracelake.engine.storage.files import Staging, is_locked
from tracelake.ingest import batch
from tracelake.ingest.batch import Failed
from tracelake.lake import Lake
from tracelake.synthetic.npu import write_npu

from ..graph_traces import Host
from ..support import run_cli, trace_bytes

KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0}}
RELATIONS = ("events", "kernels", "passes", "layers", "collectives", "kernel_roofline", "ascend_operators", "tags")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a cluster of two nodes."""
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'tracelake[ray]'")
    if sys.platform != "linux":
        pytest.skip("needs more than one address on the loopback interface")
    from ray.cluster_utils import Cluster

    # Each has an address of its own on the loopback interface; 127.0.0.1 Ray takes for the machine's other one.
    folder = tempfile.mkdtemp(prefix="tl-ray-", dir="/tmp")
    each = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        nodes = Cluster(
            initialize_head=True, head_node_args={**each, "node_ip_address": "127.0.0.2", "temp_dir": folder}
        )
        nodes.add_node(**each, node_ip_address="127.0.0.3")
        # What these tests send to a node beside our own code.
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        yield nodes.address
        ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
        ray.shutdown()
        nodes.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def traces(s1_file: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A made-up decode, a table of Ascend, a replayed graph, two tiny ones, and the capture that the graph rests on."""
    folder = tmp_path_factory.mktemp("traces")
    write_npu(folder / "kernel_details.csv")
    kernels = ("rmsnorm", "Cijk_Alik_Bljk", "softmax")
    replay = Host().replay(*kernels).write(folder / "replay.json")
    capture = Host().capture(*kernels, dims=[[8, 16], [16, 32]], module="Layer_0").write(folder / "capture.json")
    for name in ("a", "b"):
        (folder / f"{name}.json").write_bytes(trace_bytes([{**KERNEL, "name": name}]))
    return [s1_file, folder / "kernel_details.csv", replay, folder / "a.json", folder / "b.json", capture]


@pytest.fixture(scope="module")
def local(traces, tmp_path_factory) -> dict[str, list[str]]:
    """What a lake answers that this machine filled."""
    with Lake(tmp_path_factory.mktemp("local") / "lake", stored=True) as lake:
        lake.ingest(*traces, run="nightly", jobs=1)
        return rows(lake)


def rows(lake: Lake) -> dict[str, list[str]]:
    """Return the rows of relations. Of sums of DOUBLEs, the order of which is left open, 9 digits."""
    found = {"traces": lake.rows("SELECT * EXCLUDE (ingested_at) FROM traces")}
    found |= {name: lake.rows(f"FROM {name}") for name in RELATIONS}
    return {name: sorted(repr([as_shown(value) for value in row]) for row in answer) for name, answer in found.items()}


def as_shown(value: object) -> object:
    return f"{value:.9g}" if isinstance(value, float) else value


def assert_filled_once(path: Path, local: dict[str, list[str]]) -> None:
    """Check that a lake has the rows of the local one, each once, and nothing under way."""
    with Lake(path, stored=True) as lake:
        assert rows(lake) == local
        [(stored,)] = lake.rows("SELECT count(*) FROM traces")
        assert len(list(lake.layout.events.iterdir())) == stored
        assert list(lake.layout.staging.iterdir()) == []


def send(monkeypatch: pytest.MonkeyPatch, wrapper: Callable) -> None:
    """Have nodes do the work by way of a wrapper."""
    run = cluster.Cluster.run
    monkeypatch.setattr(
        cluster.Cluster, "run", lambda self, work, layout, chunks: run(self, partial(wrapper, work), layout, chunks)
    )


def noting_the_node(folder, work, layout, chunk):
    import ray

    (folder / ray.get_runtime_context().get_node_id()).touch()
    # The other node gets the other chunk.
    for _ in range(200):
        if len(list(folder.iterdir())) == 2:
            break
        time.sleep(0.05)
    return work(layout, chunk)


def test_two_nodes_fill_a_lake_with_the_rows_of_one_machine(address, traces, local, tmp_path, monkeypatch):
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    send(monkeypatch, partial(noting_the_node, nodes))
    shown = []
    with Lake(tmp_path / "lake", stored=True) as lake:
        done = lake.ingest(*traces, run="nightly", ray=address, progress=lambda path: lambda *at: shown.append(path))
    assert [(one.source, one.new) for one in done] == [(str(path), True) for path in traces]
    assert sorted(shown) == sorted(map(str, traces))
    assert len(list(nodes.iterdir())) == 2
    assert_filled_once(tmp_path / "lake", local)


def test_answers_that_nodes_compute_are_those_of_one_machine(address, traces, local, tmp_path):
    counts = []
    with Lake(tmp_path / "lake", stored=True) as lake:
        lake.ingest(*traces, run="nightly", events_only=True)
        assert lake.compute(ray=address, jobs=1, done=lambda *count: counts.append(count)) == len(traces)
        assert lake.compute(ray=address) == 0
    assert counts[-1] == (len(traces), len(traces))
    assert_filled_once(tmp_path / "lake", local)


def killed_once(moment, marker, work, layout, chunk):
    """Do the work; the first process that comes to the moment dies there."""
    from tracelake.engine.catalog import Catalog

    def die(*_):
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    if moment == "before it begins":
        die()
    if moment == "before its entries in the catalog":
        append = Catalog.append
        Catalog.append = lambda self, entries: append(self, [*entries] if not die() else [])
    result = work(layout, chunk)
    if moment == "before it says so":
        die()
    return result


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param("before it begins", marks=pytest.mark.slow),
        "before its entries in the catalog",
        "before it says so",
    ],
)
def test_of_a_worker_that_is_killed_nothing_is_lost_and_nothing_comes_twice(
    address, traces, local, tmp_path, monkeypatch, moment
):
    send(monkeypatch, partial(killed_once, moment, tmp_path / "killed"))
    with Lake(tmp_path / "lake", stored=True) as lake:
        done = lake.ingest(*traces, run="nightly", ray=address, jobs=1)
    assert (tmp_path / "killed").exists()
    assert [one for one in done if isinstance(one, Failed)] == []
    assert_filled_once(tmp_path / "lake", local)


def killed_with(name, work, layout, chunk):
    if any(name in str(one) for one in chunk):
        os.kill(os.getpid(), signal.SIGKILL)
    return work(layout, chunk)


def test_files_whose_task_dies_each_time_fail_and_the_others_are_stored(address, traces, tmp_path, monkeypatch):
    send(monkeypatch, partial(killed_with, "a.json"))
    with Lake(tmp_path / "lake", stored=True) as lake:
        good, bad = traces[4], traces[3]
        [stored, failed] = lake.ingest(good, bad, events_only=True, ray=address, ray_options={"max_retries": 1})
        assert stored.new
        assert failed.reason.startswith(f"{bad}: its task died on the cluster each time that it was tried: ")
        assert lake.rows("SELECT trace FROM traces") == [("b",)]


def test_files_that_fail_do_so_in_the_words_and_with_the_exit_code_of_one_machine(address, tmp_path):
    (tmp_path / "good.json").write_bytes(trace_bytes([KERNEL, {"ph": "X"}]))
    (tmp_path / "bad.json").write_text(json.dumps({"nodes": []}))
    words = ("ingest", "--events-only", *(tmp_path / name for name in ("good.json", "bad.json", "missing.json")))
    here, there = (
        run_cli(*words, *more, lake=tmp_path / name) for name, more in (("here", ()), ("there", ("--ray", address)))
    )
    assert (there.returncode, there.stderr, there.stdout) == (here.returncode, here.stderr, here.stdout)
    assert here.returncode == 3
    assert "missing.json: no such file" in here.stderr


def test_a_node_that_does_not_see_a_file_says_so_with_its_name(address, traces, tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "_as_nodes_name", lambda file: f"/nowhere{file}")
    with Lake(tmp_path / "lake", stored=True) as lake:
        [failed] = lake.ingest(traces[3], ray=address)
    assert failed.reason.startswith(f"/nowhere{traces[3]}: node {os.uname().nodename} does not see this file.")


def warning(work, layout, chunk):
    logging.getLogger("tracelake").warning("the disk of %s is slow", "a node")
    return work(layout, chunk)


def test_what_a_node_warns_of_and_what_no_node_has_is_said_here(address, traces, tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(cluster._log, "warning", lambda message, *words: said.append(message % words))
    send(monkeypatch, warning)
    with Lake(tmp_path / "lake", stored=True) as lake:
        lake.ingest(traces[3], events_only=True, ray=address, ray_options={"memory": "1e6", "runtime_env": "{}"})
    assert said == ["the disk of a node is slow"]
    with cluster.executor(None, address, {"num_cpus": 2, "resources": '{"disk": 1}'}) as executor:
        assert executor.at_once == 1
    assert said[1:] == ["no node of the cluster has CPU=2, disk=1; tasks wait until one has."]


def test_an_interrupt_ends_the_tasks(address, tmp_path):
    endless, lake = tmp_path / "endless.json", tmp_path / "lake"
    os.mkfifo(endless)
    process = subprocess.Popen(
        [sys.executable, "-m", "tracelake", "--lake", lake, "ingest", endless, "--ray", address],
        stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (begun := list(lake.glob(".staging/*/0"))):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20) == (None, "tracelake: interrupted.\n")
    assert process.returncode == 130
    [lock] = {path.parent.with_suffix(".lock") for path in begun}
    while is_locked(lock):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_node_refuses_work_that_it_would_do_differently(lake):
    version, rules = cluster._identity()
    with Staging(lake.layout.staging) as folder:
        locked = folder.with_suffix(".lock")
        cluster._check_node(lake.layout, locked, (version, rules))
        with pytest.raises(InputError, match=r"^node .* has another tracelake .* Install the same on all nodes"):
            cluster._check_node(lake.layout, locked, ("0.0.1", rules))
        with pytest.raises(InputError, match="has another tracelake"):
            cluster._check_node(lake.layout, locked, (version, "0" * 16))
        with pytest.raises(InputError, match="does not see this lake"):
            cluster._check_node(lake.layout, locked.with_name("elsewhere.lock"), (version, rules))
    locked.touch()
    with pytest.raises(InputError, match="does not see the locks of other nodes"):
        cluster._check_node(lake.layout, locked, (version, rules))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_gpus": "1"}, "num_gpus: unknown here. Known: num_cpus, memory"),
        ({"memory": "8GB"}, "memory=8GB: expected a number"),
        ({"resources": "disk"}, "resources=disk: expected a number, or JSON"),
        ({"max_retries": True}, "max_retries=True: expected"),
    ],
)
def test_options_that_are_none_are_refused(lake, options, message):
    with pytest.raises(UsageError, match=message):
        lake.compute(ray="127.0.0.1:1", ray_options=options)


def test_an_address_without_a_cluster_is_refused_at_once(lake):
    pytest.importorskip("ray")
    begun = time.monotonic()
    with pytest.raises(InputError, match=r"127\.0\.0\.1:1: cannot be connected to: .*refused"):
        lake.compute(ray="127.0.0.1:1")
    with pytest.raises(UsageError, match="Invalid address format"):
        lake.compute(ray="here")
    assert time.monotonic() - begun < 5


def test_without_ray_one_sentence_says_what_to_install(lake, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"pip install 'tracelake\[ray\]'"):
        lake.compute(ray="auto")
    with pytest.raises(UsageError, match="no cluster"):
        lake.compute(ray_options={"num_cpus": 1})
