"""Times of a layer's kernels that somebody typed: whose they are, their FLOP and their bytes."""

import pytest

from tracelake.analysis.timings import read_times
from tracelake.lake import Lake

#: Qwen1.5-0.5B, 16 x 559 tokens on an H100: 989 TFLOP/s in BF16, 3350 GB/s. Heads 1024, MLP 2816 wide.
ROWS = 16 * 559
SQUARE = 2 * ROWS * 1024 * 1024


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("timings") / "lake"
    with Lake(folder):
        (folder / "lookup").mkdir()
    own = "hardware,vendor,name,peak_bf16_tflops,hbm_gb\nno_bandwidth,nvidia,No bandwidth,1000,100\n"
    (folder / "lookup" / "hardware.csv").write_text(own)
    with Lake(folder) as opened:
        yield opened


@pytest.fixture
def timed(lake):
    """Return what stores times of kernels (category, µs, columns of a product) and gives rows of a relation."""

    def timed(kernels, query):
        listed = [
            {"name": category, "category": category, "dur_us": us} | ({"input_dims": [[ROWS, k], [k, n]]} if n else {})
            for category, us, k, n in kernels
        ]
        lake.ask("qwen1.5-0.5b", "h100", name="timed", batch=16, seq_len=559)
        lake.add_times("timed", read_times("kernel_flow", {"metadata": {"layer_id": 3}, "kernels": listed}))
        return lake.rows(query)

    return timed


def test_work_that_fusion_hides_has_its_bytes_where_it_is_a_kernel_of_its_own(timed):
    """An activation reads gate and up and writes one of them, in BF16; at 3350 GB/s 45.1 µs."""
    kernels = [("activation", 90, 0, 0), ("mla", 100, 0, 0)]
    moved = ROWS * 3 * 2816 * 2
    groups = timed(kernels, "SELECT operators, bytes, mbu_pct FROM timing_groups ORDER BY group_id DESC")
    assert groups[0] == (["silu_mul"], moved, pytest.approx(100 * moved / 3350e3 / 90))
    # The softmax within an attention's kernel moves nothing: queries, keys, values and the result do.
    assert groups[1][:2] == (["attn_qk", "softmax", "attn_pv"], 4 * ROWS * 1024 * 2)
    shown = timed(kernels, "SELECT bytes, memory_us FROM timing_operators WHERE op = 'silu_mul'")
    assert shown == [(moved, pytest.approx(moved / 3350e3))]
    # Without a kernel of its own it is part of a product.
    assert timed(kernels[1:], "SELECT bytes FROM timing_operators WHERE op = 'silu_mul'") == [(0,)]


KERNELS = "SELECT operators, map_rule, flop_rank, mfu_pct FROM timing_kernels ORDER BY position"


def test_equal_squares_are_products_in_the_order_of_the_layer(timed):
    found = timed([("gemm_bf16", us, 1024, 1024) for us in (40, 41, 42, 43)], KERNELS)
    assert [row[:3] for row in found] == [
        ([op], "shape_match", SQUARE) for op in ("q_proj", "k_proj", "v_proj", "o_proj")
    ]
    assert found[0][3] == pytest.approx(100 * SQUARE / 989e6 / 40)


def test_a_product_of_no_known_operator_has_the_flop_of_its_shapes(timed):
    """Three squares are not four, and gate and up apart are no product of the layer."""
    kernels = [("gemm_bf16", 40, 1024, 1024)] * 3 + [("gemm_bf16", 90, 1024, 2816), ("gemm", 90, 1024, 777)]
    found = timed(kernels, KERNELS)
    mlp = 2 * ROWS * 1024 * 2816
    assert [row[:3] for row in found] == [
        (None, None, flop) for flop in (SQUARE, SQUARE, SQUARE, mlp, 2 * ROWS * 1024 * 777)
    ]
    assert [row[3] for row in found[2:]] == [
        pytest.approx(100 * SQUARE / 989e6 / 40), pytest.approx(100 * mlp / 989e6 / 90), None
    ]  # fmt: skip
    # Nobody knows what they move.
    assert timed(kernels, "SELECT DISTINCT roofline_pct FROM timing_kernels") == [(None,)]
    [(causes,)] = timed([("gemm_bf16", 1, 1024, 777)], "SELECT over_100_causes FROM timing_kernels WHERE flag_over_100")
    assert "kernel_missing_from_group" in causes


@pytest.mark.parametrize(("chip", "compute"), [("mi308x", False), ("no_bandwidth", True)])
def test_there_is_no_roofline_where_the_peak_or_the_bandwidth_is_unknown(lake, chip, compute):
    """An attention and a norm are timed; the MI308X has a bandwidth of 5300 GB/s and no peak, the other the reverse."""
    asked = lake.ask("qwen1.5-0.5b", chip, name=chip, batch=16, seq_len=559)
    kernels = [{"name": name, "category": name, "dur_us": us} for name, us in (("mla", 100), ("activation", 90))]
    lake.add_times(asked, read_times("kernel_flow", {"kernels": kernels}), measured_ms=100)

    def rows(relation, columns, condition="true"):
        return lake.rows(f"SELECT {columns} FROM {relation} WHERE request = '{asked}' AND {condition} ORDER BY ALL")

    known = "compute_us IS NOT NULL, memory_us IS NOT NULL"
    both = (compute, not compute)
    assert set(rows("timing_works", f"{known}, roofline_us")) == {(*both, None)}
    assert set(rows("timing_mfu", f"{known}, roofline_us, roofline_pct")) == {(*both, None, None)}
    attention, activation = "operators[1] = 'attn_qk'", "operators = ['silu_mul']"
    assert rows("timing_groups", f"{known}, roofline_pct", attention) == [(*both, None)]
    assert rows("timing_operators", f"{known}, bound", "op = 'gate_up_proj'") == [(*both, None)]
    # An activation multiplies nothing: 16 x 559 rows of 3 x 2816 elements of two bytes at 5300 GB/s, in 90 us.
    share = None if compute else pytest.approx(100 * ROWS * 3 * 2816 * 2 / 5300e3 / 90)
    assert rows("timing_groups", "roofline_pct", activation) == [(share,)]
