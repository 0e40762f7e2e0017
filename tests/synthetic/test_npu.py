"""The made-up table of an NPU: every figure follows from its recipe by hand."""

import pytest

from tracelake.lake import Lake
from tracelake.synthetic.npu import write_npu


@pytest.fixture(scope="module")
def npu(tmp_path_factory):
    folder = tmp_path_factory.mktemp("npu")
    write_npu(folder / "npu.csv")
    lake = Lake(folder / "lake")
    lake.ingest(folder / "npu.csv")
    return lake


def test_a_pass_begins_with_its_tokens_and_ends_with_its_head(npu):
    # Four layers of ten kernels, each followed by 1 us; the first norm is 1 us shorter than the others.
    found = npu.sql("SELECT pass_id, stage, tokens, requests, num_layers, complete, span_us FROM passes ORDER BY ALL")
    decode = 4 * (4 + 12 + 20 + 9 + 14 + 4 + 30 + 3 + 16 + 14 + 10) - 1 - 1
    assert found.fetchall() == [
        (0, "prefill", 96, 1, 4, True, decode + 4 * 40),
        (1, "decode", 8, 8, 4, True, decode),
        (2, "decode", 8, 8, 4, True, decode),
        (3, "decode", 8, 8, 4, True, decode),
    ]


def test_layers_go_from_norm_to_norm(npu):
    layers = npu.sql("SELECT layer_id, sum_us, kernel_count, comm_count FROM layers WHERE pass_id = 1 ORDER BY ALL")
    assert layers.fetchall() == [(0, 125, 10, 2), (1, 126, 10, 2), (2, 126, 10, 2), (3, 126, 10, 2)]
    halves = npu.sql("SELECT half, sum_us FROM layer_halves WHERE pass_id = 1 AND layer_id = 1 ORDER BY ALL")
    assert halves.fetchall() == [("attn", 4 + 12 + 20 + 9 + 14), ("ffn", 4 + 30 + 3 + 16 + 14)]
    parts = npu.sql("SELECT part, sum_us FROM pass_parts WHERE pass_id = 1 AND part <> 'gap' ORDER BY ALL")
    assert parts.fetchall() == [("epilogue", 4 + 40 + 5), ("prologue", 2)]


def test_a_collective_counts_once(npu):
    kernels = npu.sql("SELECT count(*), sum(dur_ns) FROM kernels WHERE kind = 'communication'").fetchall()
    assert kernels == [(4 * 8, 4 * 8 * 14_000)]
    dropped = npu.sql("SELECT rule, count(*), sum(dur_ns) FROM kernel_duplicates GROUP BY ALL").fetchall()
    assert dropped == [("aiv_exact", 4 * 8, 4 * 8 * 14_000)]


def test_the_device_is_never_idle_but_between_kernels(npu):
    [row] = npu.sql(
        "SELECT compute_us, communication_us, exposed_communication_us, idle_us, window_us FROM time_breakdown"
    ).fetchall()
    compute, communication = 4 * (442 + 0) + 4 * 40, 4 * 8 * 14
    # 44 kernels in each pass with 1 us after each, and 400 us more between two passes.
    idle = 4 * 44 - 1 + 3 * 400
    assert row == (compute, communication, communication, idle, compute + communication + idle)
