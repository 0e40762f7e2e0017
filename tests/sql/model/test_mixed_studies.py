"""A study of several types of numbers says of each what a study of that type alone says."""

from typing import Any

import pytest

from tracelake.lake import Lake

TYPES = ("bf16", "fp8")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with Lake(tmp_path_factory.mktemp("mixed") / "lake") as opened:
        work: dict[str, Any] = {"model": "qwen3-8b", "hardware": "h200"}
        for study, types in (("bf16", ["bf16"]), ("fp8", ["fp8"]), ("both", TYPES)):
            batches = [work | {"phase": "decode", "batch": batch, "kv_len": 256} for batch in (1, 64, 512, 1024)]
            lengths = [work | {"phase": "decode", "batch": 8, "kv_len": length} for length in (1024, 4096, 8192)]
            degrees = [work | {"phase": "prefill", "seq_len": 4096, "tp": tp} for tp in (1, 2, 4)]
            for name, column, points in (
                ("batches", "weight_dtype", batches),
                ("lengths", "kv_dtype", lengths),
                ("degrees", "weight_dtype", degrees),
            ):
                opened.add_scenarios(
                    point | {"scenario": f"{study} {name} {dtype} {nth}", "study": f"{study} {name}", column: dtype}
                    for dtype in types
                    for nth, point in enumerate(points)
                )
        yield opened


@pytest.mark.parametrize(
    ("relation", "study", "column", "figures"),
    [
        ("critical_batch", "batches", "weight_dtype", "points, intensity_batch, time_batch, first_compute_batch"),
        ("generation_times", "lengths", "kv_dtype", "steps, total_ms, mean_step_ms"),
    ],
)
def test_each_type_has_a_row_of_its_own(lake, relation, study, column, figures):
    def of(name):
        query = f"SELECT settings.{column}, {figures} FROM {relation} WHERE study = '{name} {study}' ORDER BY ALL"
        return lake.rows(query)

    # Sums depend in their last digits on the order of rows.
    def rounded(rows):
        return [tuple(f"{value:.9g}" if isinstance(value, float) else value for value in row) for row in rows]

    assert rounded(of("both")) == rounded([*of("bf16"), *of("fp8")])
    assert [dtype for dtype, *_ in of("both")] == list(TYPES)


def test_a_sweep_of_batches_generates_nothing(lake):
    assert lake.rows("SELECT DISTINCT study FROM generation_times WHERE study LIKE '%batches'") == []


def test_scaling_compares_points_of_one_type(lake):
    figures = "tp, round(strong_efficiency, 6), weak_efficiency"
    rows = lake.rows(f"SELECT {figures} FROM scaling WHERE study = 'both degrees' ORDER BY ALL")
    # A prefill bound by compute: twice the chips, half the time, in either type.
    assert rows == [(tp, 1, 1) for tp in (1, 1, 2, 2, 4, 4)]


def test_the_frontier_is_of_one_type(lake):
    assert lake.rows("SELECT points FROM decode_frontier WHERE study = 'both batches'") == [(4,), (4,)]
