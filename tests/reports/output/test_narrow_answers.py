"""On 80 columns an answer keeps what was asked for: the shipped priorities, with cells as wide as those of traces."""

import csv
from pathlib import Path

import pytest

import tracelake
from tracelake.reports.output.grid import fields_of, fitted
from tracelake.reports.output.screen import Look, Screen

KERNEL = "split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<float, float, float, 5ul>"
SHAPE = "[[1024,647,96],[1024,96,30]]"


@pytest.fixture(scope="module")
def screen():
    table = Path(tracelake.__file__).parent / "sql/lookup/report/screen_columns.csv"
    with table.open(encoding="utf-8") as file:
        looks = {row["column"]: Look(int(row["priority"]), row["kind"]) for row in csv.DictReader(file)}
    return Screen(80, looks=looks)


def shown(screen, row):
    """Return the columns that are shown of an answer with two rows: this one, and one as wide."""
    numeric = [cell[:1].isdigit() or cell[:2].lstrip("-")[:1].isdigit() for cell in row.values()]
    other = [
        cell and (cell[:-1] + "9" if right else cell + ".") for cell, right in zip(row.values(), numeric, strict=True)
    ]
    fit = fitted(fields_of(list(row), numeric, [list(row.values()), other], screen), 2, 80)
    assert fit.shown is not None, "cards"
    return {field.name for field in fit.shown}


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        (
            {
                "verdict": "cannot judge", "budget": "exposed_communication", "item": "trace_diff_test, device 1",
                "value": "29.247", "threshold": "3.85", "noise": "36.38", "unit": "ms",
                "sentence": "Exposed communication is at most 5 % of the window.",
            },
            {"verdict", "budget", "item", "value"},
        ),
        (
            {
                "group_id": "17473262221927388138", "matched_by": "module and category", "part": "compute",
                "category": "launch not issued", "module": "forward=>over_arch", "operator": "aten::bmm",
                "shape": SHAPE, "before_kernel": KERNEL, "after_kernel": KERNEL, "before_calls": "142",
                "after_calls": "141", "work_unit": "calls", "before_work": "142", "after_work": "141",
                "before_ns": "17120668", "after_ns": "19489166", "change_ns": "12368498", "more_work_ns": "-94183",
                "slower_work_ns": "12462681",
            },
            {"part", "category", "operator", "before_ns", "after_ns", "change_ns"},
        ),
        (
            {
                "op": KERNEL, "program": "", "shape": "[[2048,34340]]", "before_calls": "3", "after_calls": "3",
                "before_us": "5480.000", "after_us": "13413.333", "change_us": "7933.333", "change_pct": "144.769",
            },
            {"op", "before_us", "after_us", "change_us", "change_pct"},
        ),
        (
            {
                "op_type": KERNEL, "core": "", "count": "42", "sum_us": "130655.500", "mean_us": "3110.833",
                "median_us": "2337.000", "min_us": "2337.000", "p95_us": "2337.000", "max_us": "2337.000",
                "std_us": "12.000", "input_dims": SHAPE, "output_dims": SHAPE,
            },
            {"op_type", "count", "sum_us", "input_dims"},
        ),
        (
            {
                "family": "matmul", "calls": "514", "self_us": "84561.522", "share_pct": "62.91", "mean_us": "164.517",
                "flop": "63941805867008", "flop_source": "counter", "tflops": "756.157",
                "example": "convolution_bitcast_fusion.63", "example_shape": SHAPE,
            },
            {"family", "calls", "self_us", "share_pct", "tflops"},
        ),
    ],
    ids=["check", "compare --work", "compare --ops", "shapes", "families"],
)  # fmt: skip
def test_a_terminal_of_80_columns_shows_what_was_asked_for(screen, row, kept):
    assert kept <= shown(screen, row)


def test_the_shares_that_model_mfu_is_about_are_columns_though_three_rows_have_the_same(screen):
    """Wall, busy and sum of a pass differ by less than the last digit; elsewhere such values are named below."""
    columns = ["time", "ms", "phase", "MFU", "MBU", "FLOP known %", "roofline"]
    rows = [[time, ms, "decode", "0.3 %", "2.1 %", "3.1", "2.1 %"] for time, ms in [("wall", "10.7"), ("sum", "10.6")]]
    numeric = [name not in ("time", "phase") for name in columns]
    fit = fitted(fields_of(columns, numeric, rows, screen), len(rows), 80)
    assert fit.shown is not None
    assert [field.name for field in fit.shown] == ["time", "ms", "MFU", "MBU", "FLOP known %", "roofline"]
    assert fit.notes == ["Same in all rows: phase decode."]
