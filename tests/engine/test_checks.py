"""What `doctor` finds of a lake's files: those that cannot be read, rows and events that belong to nothing."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tracelake.engine.errors import InputError
from tracelake.engine.storage.table_types import statistics
from tracelake.engine.storage.tables import Tables
from tracelake.lake import Lake

from ..kernel_traces import Trace
from ..storing import storing_only


@pytest.fixture(scope="module")
def sound(s1_file, tmp_path_factory) -> Path:
    """A sound lake that stores gaps and what they rest on."""
    folder = tmp_path_factory.mktemp("sound") / "lake"
    with storing_only("gaps"), Lake(folder, stored=True) as lake:
        lake.ingest(s1_file)
    return folder


@pytest.fixture
def damaged(sound, tmp_path) -> Iterator[Path]:
    """A copy of that, to be damaged."""
    with storing_only("gaps"):
        yield shutil.copytree(sound, tmp_path / "lake")


@pytest.fixture
def whole(s1_lake_folder, tmp_path) -> Path:
    """A copy of a sound lake that stores all that the invariants read."""
    return shutil.copytree(s1_lake_folder, tmp_path / "lake")


def of_table(folder: Path, name: str) -> Path:
    [file] = Tables(folder / "tables").files(name)
    return Path(str(file.path))


def faults(folder: Path) -> list[str]:
    with Lake(folder, stored=True) as lake:
        return lake.file_faults()


def test_a_sound_lake_has_none(s1_lake_folder):
    assert faults(s1_lake_folder) == []


@pytest.mark.parametrize("table", ["gaps", "traces"])
def test_a_file_that_cannot_be_read_is_named(damaged, table):
    file = of_table(damaged, table)
    content = bytearray(file.read_bytes())
    content[20:60] = bytes(40)
    file.write_bytes(content)
    [fault] = faults(damaged)
    assert str(file) in fault


def test_a_file_that_is_missing_is_named(damaged):
    file = of_table(damaged, "gaps")
    file.unlink()
    [fault] = faults(damaged)
    assert str(file) in fault


def test_rows_that_the_catalog_names_and_no_table_has_are_named_with_the_command_that_computes_them(damaged):
    tables = Tables(damaged / "tables")
    tables.drop("gaps", tables.files("gaps"))
    [fault] = faults(damaged)
    with Lake(damaged, stored=True) as lake:
        [(trace_id,)] = lake.rows("SELECT trace_id FROM traces")
        assert fault == f"{trace_id}: rows of gaps are missing. Compute them: tracelake compute {trace_id}"
        lake.compute(trace_id)
    assert faults(damaged) == []


@pytest.mark.parametrize("table", ["settings", "gaps"])
def test_a_log_that_was_deleted_or_emptied_is_named(damaged, table, caplog):
    with Lake(damaged, stored=True) as lake:
        [(trace,)] = lake.rows("SELECT trace FROM traces")
        lake.set(trace, run="nightly")
    log = damaged / "tables" / table / "_delta_log"
    for file in log.iterdir():
        file.unlink()
    [fault] = faults(damaged)
    assert fault.startswith(f"{log.parent}: the table has files but no log")
    with Lake(damaged) as lake:
        assert lake.rows("SELECT run FROM traces") == [(None if table == "settings" else "nightly",)]
    assert caplog.messages == [f"{log.parent}: files but no log: settings are missing."] * (table == "settings")
    (log / f"{0:020d}.json").write_bytes(b"")
    with (
        Lake(damaged, stored=True) as lake,
        pytest.raises(InputError, match="the table's log cannot be read") as refused,
    ):
        lake.rows(f"SELECT count(*) FROM {table if table == 'gaps' else 'traces'}")
    assert ("Remove this folder: its rows are computed again" in str(refused.value)) == (table == "gaps")


@pytest.mark.parametrize("table", ["gaps", "traces"])
def test_a_file_put_in_the_place_of_another_is_named_and_the_answers_are_whole(damaged, table):
    with Lake(damaged, stored=True) as lake:
        answer = lake.rows("SELECT count(*), sum(end_ns) FROM gaps")
    file = of_table(damaged, table)
    there = file.stat().st_size
    rows = duckdb.read_parquet(str(file)).filter("false")
    rows.write_parquet(str(file), compression="zstd")
    [fault] = faults(damaged)
    assert (
        fault
        == f"{file}: {file.stat().st_size} bytes, where the table's log has {there}: a file was replaced or changed."
    )
    if table == "gaps":
        with Lake(damaged, stored=True) as lake:
            assert lake.rows("SELECT count(*), sum(end_ns) FROM gaps") == answer


def test_a_file_of_the_same_size_with_rows_of_another_batch_is_named(damaged):
    tables = Tables(damaged / "tables")
    [file] = tables.files("gaps")
    tables.drop("gaps", [file])
    later = str(int(file.batches[0][0]) + 1) + file.batches[0][1:]
    moved = damaged / "gaps.parquet"
    shutil.copy(str(file.path), moved)
    tables.append(
        "gaps", [(moved, statistics(1, [*file.traces], [later]))], {"trace_id": "VARCHAR", "batch_id": "VARCHAR"}
    )
    found = faults(damaged)
    assert any("rows of other batches than in the table's log" in fault for fault in found)


def test_an_event_file_of_another_trace_with_as_many_events_is_named(damaged):
    [folder] = (damaged / "events").iterdir()
    file = min(folder.rglob("*.parquet"))
    size = sum(one.stat().st_size for one in folder.rglob("*.parquet"))
    duckdb.read_parquet(str(file), hive_partitioning=False).write_parquet(
        str(file), compression="zstd", row_group_size=99
    )
    there = sum(one.stat().st_size for one in folder.rglob("*.parquet"))
    assert faults(damaged) == [
        f"{folder}: {there} bytes, where the catalog has {size}: a file was replaced or changed."
    ]


def test_events_of_no_trace_are_named(damaged):
    left = damaged / "events" / "trace_id=0123456789abcdef"
    shutil.copytree(next((damaged / "events").iterdir()), left)
    [fault] = faults(damaged)
    assert fault.startswith(f"{left}: ")


def test_the_command_says_it_and_ends_with_1(run_cli, whole):
    file = of_table(whole, "gaps")
    file.write_bytes(b"no Parquet")
    done = run_cli("doctor", lake=whole)
    assert (done.returncode, f"damaged: {file}" in done.stderr) == (1, True)


def test_a_trace_is_held_against_its_own_invariants_alone(run_cli, whole, tmp_path):
    other = Trace()
    other.kernel("gemm", 0, 5, 10)
    other.write(tmp_path / "other.json")
    tables = Tables(whole / "tables")
    [file] = tables.files("time_breakdown")
    # The parts of s1's time no longer add up to its window.
    altered = whole / "altered.parquet"
    duckdb.read_parquet(str(file.path)).project("* REPLACE (idle_us + 1 AS idle_us)").write_parquet(str(altered))
    tables.rewrite("time_breakdown", [(altered, statistics(1, [*file.traces], [file.batches[0]]))], [file])
    with Lake(whole, stored=True) as lake:
        lake.ingest(tmp_path / "other.json")
        [(law, rows)] = lake.broken_invariants("s1")
        assert (law.startswith("The parts of a device's time add up to its window"), rows) == (True, 1)
        assert lake.broken_invariants() == [(law, rows)]
        assert lake.broken_invariants("other") == []
    codes = [run_cli("doctor", trace, lake=whole).returncode for trace in ("s1", "other")]
    assert codes == [1, 0]
