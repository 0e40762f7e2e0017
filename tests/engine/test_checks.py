"""What `doctor` finds of a lake's files: those that cannot be read, rows and events that belong to nothing."""

import shutil
from pathlib import Path

import pytest

from tracelake.engine.storage.tables import Tables
from tracelake.lake import Lake

from ..support import run_cli


@pytest.fixture
def damaged(s1_lake_folder, tmp_path) -> Path:
    """A copy of a sound lake, to be damaged."""
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


def test_events_of_no_trace_are_named(damaged):
    left = damaged / "events" / "trace_id=0123456789abcdef"
    shutil.copytree(next((damaged / "events").iterdir()), left)
    [fault] = faults(damaged)
    assert fault.startswith(f"{left}: ")


def test_the_command_says_it_and_ends_with_1(damaged):
    file = of_table(damaged, "gaps")
    file.write_bytes(b"no Parquet")
    done = run_cli("doctor", lake=damaged)
    assert (done.returncode, f"damaged: {file}" in done.stderr) == (1, True)
