"""A trace that no answer can be computed of is named and left out; the others answer as if it were not there."""

import json
import logging
import os
from pathlib import Path

import duckdb
import pytest

from tracelake.engine import aside
from tracelake.engine.computing import renew, workers
from tracelake.engine.sql import modules
from tracelake.lake import Lake

from ..storing import storing_only
from ..support import run_cli, trace_bytes


def kernels_and_operators(count: int) -> bytes:
    """A trace of collectives on a device and of convolutions on the host, as many of each."""
    on_device = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "dur": 1}
    on_host = {"ph": "X", "cat": "cpu_op", "name": "aten::convolution", "pid": 1, "tid": 1, "dur": 0.5}
    of_device = {"device": 0, "stream": 7, "dtype": "Float", "In msg nelems": 4, "Group size": 2}
    of_host = {"Input Dims": [[2, 2], [2, 2]]}
    return trace_bytes(
        [{**on_device, "ts": nth, "args": of_device | {"correlation": nth}} for nth in range(count)]
        + [{**on_host, "ts": nth, "args": of_host | {"External id": nth}} for nth in range(count)]
    )


def rewrite(lake: Lake, trace: str, lane: str, replaced: str) -> None:
    """Change the rows of a lane, as another writer of Parquet might have written them."""
    for path in (lake.layout.event_dir(lake.resolve(trace)) / f"lane={lane}").glob("*.parquet"):
        duckdb.execute(f"COPY (SELECT * REPLACE ({replaced}) FROM '{path}') TO '{path}.new' (FORMAT parquet)")
        Path(f"{path}.new").replace(path)


@pytest.fixture
def poisoned(tmp_path: Path) -> Lake:
    """A lake of five traces: `2` and `6` are sound, `3` and `5` hold text that is no JSON, a file of `4` is cut."""
    with Lake(tmp_path / "lake") as lake:
        for count in (2, 3, 4, 5, 6):
            path = tmp_path / f"{count}.json"
            path.write_bytes(kernels_and_operators(count))
            lake.ingest(path, events_only=True)
        rewrite(lake, "3", "device", "replace(args, ':4', ':=') AS args")
        rewrite(lake, "5", "host", "replace(args, ':', '=') AS args")
        [cut] = (lake.layout.event_dir(lake.resolve("4")) / "lane=device").glob("*.parquet")
        cut.write_bytes(cut.read_bytes()[:-30])
    return Lake(tmp_path / "lake")


@pytest.fixture
def few_answers():
    """Store what is asked for here alone."""
    with storing_only("kernels", "ops", "health"):
        yield


@pytest.mark.usefixtures("few_answers")
@pytest.mark.parametrize(("writable", "threads"), [(True, "1"), (True, "2"), (False, "1")])
def test_one_trace_never_hurts_another(poisoned, caplog, monkeypatch, writable, threads):
    monkeypatch.setenv("TRACELAKE_THREADS", threads)
    monkeypatch.setattr(workers, "_idle", [])
    if not writable:
        monkeypatch.setattr("tracelake.engine.computing.renew.os.access", lambda path, mode: mode != os.W_OK)
    kernels = "SELECT trace, count(*) FROM traces JOIN kernels USING (trace_id) GROUP BY ALL ORDER BY ALL"
    ops = "SELECT trace, sum(calls) FROM traces JOIN ops USING (trace_id) GROUP BY ALL ORDER BY ALL"
    with caplog.at_level(logging.WARNING, "tracelake"):
        # The kernels of 3 and 5 are sound; collectives and operators of them have arguments that cannot be read.
        assert poisoned.rows(kernels) == [("2", 2), ("3", 3), ("5", 5), ("6", 6)]
        assert poisoned.rows(ops) == [("2", 2), ("3", 3), ("6", 6)]
    named = [record.getMessage() for record in caplog.records]
    # What cannot be read at all is named first.
    assert named[0].startswith("4 ")
    assert sorted(line.partition(" ")[0] for line in named) == ["3", "4", "5"]
    for line in named:
        assert "set aside: " in line
        assert "tracelake remove " in line
    asked = "SELECT trace, severity, value FROM health JOIN traces USING (trace_id) WHERE \"check\" = 'set_aside'"
    found = poisoned.rows(f"{asked} ORDER BY trace")
    assert found == [("3", "error", 1), ("4", "error", 1), ("5", "error", 1)]
    for trace in ("3", "4", "5"):
        poisoned.remove(trace)
    assert poisoned.rows(kernels) == [("2", 2), ("6", 6)]
    assert poisoned.rows("SELECT count(*) FROM _set_aside") == [(0,)]


def test_the_command_line_names_the_trace_in_a_line_and_answers(poisoned):
    question = "SELECT trace, count(*) AS n FROM traces JOIN kernels USING (trace_id) GROUP BY ALL ORDER BY ALL"
    ended = run_cli("sql", question, "--format", "json", lake=poisoned.path)
    assert (ended.returncode, json.loads(ended.stdout)) == (
        0, [{"trace": "2", "n": 2}, {"trace": "3", "n": 3}, {"trace": "5", "n": 5}, {"trace": "6", "n": 6}],
    )  # fmt: skip
    assert ended.stderr.startswith("tracelake: 4 (")
    assert "\ntracelake: 3 (" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.usefixtures("few_answers")
def test_what_the_machine_lacks_is_laid_on_no_trace(poisoned, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise duckdb.IOException("IO Error: Could not write file: No space left on device")

    poisoned.remove("4")
    monkeypatch.setattr("tracelake.engine.computing.compute.Worker._make", full)
    with pytest.raises(duckdb.IOException):
        poisoned.rows("FROM kernels")
    assert poisoned.rows("SELECT count(*) FROM _set_aside") == [(0,)]


@pytest.mark.usefixtures("few_answers")
def test_what_cannot_be_computed_is_not_tried_again_until_the_rules_change_or_it_is_asked_for(
    poisoned, monkeypatch, caplog
):
    compute, tried = renew.compute, []

    def counted(layout, entries, *more):
        tried.extend(entry["trace_id"] for entry in entries)
        return compute(layout, entries, *more)

    def asked() -> list[str]:
        """Ask in a process of its own, and return the traces that were computed."""
        tried.clear()
        monkeypatch.setattr(aside, "_warned", set())
        with Lake(poisoned.path) as lake:
            assert lake.rows("SELECT trace, sum(calls) FROM traces JOIN ops USING (trace_id) GROUP BY ALL ORDER BY ALL")
            return tried

    five = poisoned.resolve("5")
    monkeypatch.setattr(renew, "compute", counted)
    assert five in asked()
    caplog.clear()
    assert asked() == []
    assert f"5 ({five}): set aside: _op_inputs" in caplog.text
    # What is computed without the operators is answered all the same.
    assert poisoned.rows("SELECT count(*) FROM kernels WHERE trace_id = $1", [five]) == [(5,)]
    monkeypatch.setattr(modules, "fingerprint", lambda: "another")
    assert five in asked()
    assert asked() == []
    rewrite(poisoned, "5", "host", "replace(args, '=', ':') AS args")
    assert asked() == []
    with Lake(poisoned.path) as lake:
        lake.compute("5")
        assert lake.rows("SELECT sum(calls) FROM ops WHERE trace_id = $1", [five]) == [(5,)]
