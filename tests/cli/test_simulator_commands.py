"""The commands that feed simulators and check them: what they print, write and refuse."""

import csv
import json

import pytest

import tracelake

from ..sql.ascend.counters import product, write_table, write_trace


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulators")
    matmul = product("MatMulV2", "16,64;64,32", "16,32", **{"Duration(us)": "10"})
    rows = [
        matmul | {"aicore_time(us)": "8", "aic_mac_ratio": "0.25"},
        matmul | {"aicore_time(us)": "10", "aic_mac_ratio": "0.75", "Duration(us)": "20"},
        product("Add", "16,32;", "16,32", **{"Duration(us)": "2"}),
        {"Name": "NoShapes", "Type": "NoShapes"},
    ]
    call = {"ph": "X", "cat": "analytic", "name": "aten.mm.default", "pid": 1, "tid": 1, "ts": 0, "dur": 24,
            "args": {"kernel_type": "MatMulV2", "source": "MEASURED"}}  # fmt: skip
    opened = tracelake.open(folder / "lake")
    opened.ingest(write_table(folder / "measured.csv", *rows), write_trace(folder / "simulated.json", [call]))
    opened.close()
    return folder / "lake"


def test_shapes_are_listed_what_takes_most_first(run):
    code, out, _ = run("shapes", "measured")
    assert code == 0
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert lines[0][:6] == ["op_type", "core", "count", "sum_us", "min_us", "mean_us"]
    assert lines[2][:6] == ["MatMulV2", "AI_CORE", "2", "30", "10", "15"]


def test_shapes_in_a_format_go_to_a_file(run, tmp_path):
    code, out, _ = run("shapes", "measured", "--format", "json", "-o", tmp_path / "shapes.json")
    assert (code, out) == (0, "")
    found = {row["op_type"]: row for row in json.loads((tmp_path / "shapes.json").read_text())}
    assert found["MatMulV2"]["median_us"] == 15
    assert json.loads(found["MatMulV2"]["pmu_avg"]) == {"aic_mac_ratio": 0.5, "aicore_time(us)": 9}


def test_a_profiling_database_has_a_table_per_type_that_simulators_and_tracelake_read(run, tmp_path, lake):
    code, out, err = run("shapes", "measured", "-o", tmp_path / "database")
    assert (code, out) == (0, "")
    assert f"{tmp_path / 'database' / 'MatMulV2.csv'}: 1 rows" in err
    assert sorted(path.name for path in (tmp_path / "database").iterdir()) == ["Add.csv", "MatMulV2.csv"]
    with (tmp_path / "database" / "MatMulV2.csv").open(newline="") as file:
        [row] = csv.DictReader(file)
    assert row == {
        "OP State": "N/A", "Accelerator Core": "AI_CORE", "Input Shapes": '"16,64;64,32"',
        "Input Data Types": "DT_BF16;DT_BF16", "Input Formats": "ND;ND", "Output Shapes": '"16,32"',
        "Output Data Types": "DT_BF16", "Output Formats": "ND", "Profiling Average Duration(us)": "15.0",
        "Profiling Median Duration(us)": "15.0", "Profiling Std Duration(us)": "5.0", "Count": "2", "Block Num": "20",
        "Profiling Average aic_mac_ratio": "0.5", "Profiling Average aicore_time(us)": "9.0",
    }  # fmt: skip
    again = tracelake.open(tmp_path / "again")
    again.ingest(tmp_path / "database" / "Add.csv")
    found = again.sql("SELECT kernel_type, shape_key, output_key, mean_us, median_us, std_us FROM profiled_shapes")
    assert found.fetchall() == [("Add", "16,32;", "16,32", 2, 2, 0)]


def test_a_trace_without_shapes_has_no_database(run, tmp_path, lake):
    code, _, err = run("shapes", "simulated", "-o", tmp_path / "database")
    assert code == 1
    assert "nothing to write" in err


def test_align_shows_m6_and_its_parts_above_the_types(run):
    code, out, err = run("align", "simulated", "measured")
    assert (code, err) == (0, "")
    lines = [line for line in out.splitlines() if line.strip()]
    # 24 us for 30 measured, of 33 in all.
    assert lines[0] == "M6 0.727 = coverage 0.909 x calibration 0.800 + surplus 0.000 (24.000 of 33.000 us)"
    assert lines[3].split()[:6] == ["MatMulV2", "aten.mm.default", "HIT", "24", "1", "30"]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("type", {"kernel_type": "MatMulV2", "simulated_us": 24, "measured_us": 30, "error_pct": -20}),
        ("shape", {"kernel_type": "MatMulV2", "shape_key": "16,64;64,32", "measured_us": 30, "side": "measured"}),
        ("summary", {"m6": 24 / 33, "measured_us": 33, "calibration": 0.8}),
        ("metrics", {"metric": "M1", "value": 1, "hits": 1, "total": 1}),
    ],
)
def test_align_as_json_is_an_array_of_rows_and_nothing_else(run, by, expected):
    code, out, _ = run("align", "simulated", "measured", "--by", by, "--format", "json")
    assert code == 0
    first = json.loads(out)[0]
    assert {name: first[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("measured", "simulated"), 2, "measured: not written by a simulator"),
        (("simulated", "nothing"), 2, "nothing: no such trace or file"),
        (("simulated", "measured", "--pass", "3"), 2, "no passes found"),
        (("simulated", "measured", "--dedup", "mine"), 2, "dedup=mine: expected one of"),
    ],
)
def test_align_says_what_it_cannot_do(run, words, code, message):
    found = run("align", *words)
    assert found[0] == code
    assert message in found[2]
