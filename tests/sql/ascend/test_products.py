"""The dimensions and FLOP of Ascend's matrix products, by their shapes."""

import pytest

from tracelake.lake import Lake

from ...lakes import in_one_lake
from .counters import ask, product, write_table

PRODUCTS = {
    # type, inputs, output: m, n, k
    "plain": ("MatMulV2", "16,5120;5120,640", "16,640", (16, 640, 5120)),
    "first transposed": ("MatMul", "5120,16;5120,640", "16,640", (16, 640, 5120)),
    "second transposed": ("MatMulV3", "16,5120;640,5120", "16,640", (16, 640, 5120)),
    "both transposed": ("MatMulCommon", "5120,16;640,5120", "16,640", (16, 640, 5120)),
    "with a bias": ("MatMulV2", "16,5120;5120,640;640", "16,640", (16, 640, 5120)),
    "square": ("MatMulV2", "64,64;64,64", "64,64", (64, 64, 64)),
    "k equal to m": ("MatMulV2", "64,64;64,32", "64,32", (64, 32, 64)),
    "batched": ("BatchMatMulV2", "12,1024,512;12,512,256", "12,1024,256", (12 * 1024, 256, 512)),
    "rows in two dimensions": ("MatMulV2", "4,8,512;512,64", "32,64", (32, 64, 512)),
    "quantised, with scales": ("QuantBatchMatmulV3", "8,7168;7168,4608;4608;;1", "8,4608", (8, 4608, 7168)),
    # Products side by side, and their sum.
    "batched, summed": ("QuantMatmulReduceSum", "8,256,1024;8,1024,7168", "256,7168", (8 * 256, 7168, 1024)),
    "batch in the middle": ("TransposeBatchMatMul", "4,16,128;16,128,512", "4,16,512", (64, 512, 128)),
    "batch in the middle, merged": ("batch_matmul_transpose", "4,16,128;16,128,512", "4,8192", (64, 512, 128)),
    "batch moved to the front": ("TransposeBatchMatMul", "4,16,128;16,128,512", "16,4,512", (64, 512, 128)),
    "of ATB": ("PpMatMulBF16Kernel", "16,5120;640,5120", "16,640", (16, 640, 5120)),
    "of ATB, batch in the middle": ("PpMatMulEinSumKernel", "4,16,128;16,128,512", "4,16,512", (64, 512, 128)),
    "grouped": ("GroupedMatmul", "256,7168;8,7168,4096", "256,4096", (256, 4096, 7168)),
    "grouped, transposed": ("GroupedMatmul", "256,7168;8,4096,7168", "256,4096", (256, 4096, 7168)),
    "grouped, gated": ("GroupedMatmulSwigluQuant", "256,7168;8,7168,4096", "256,2048", (256, 4096, 7168)),
    # Rows of 16 experts together: 16 products of some of the 8192 rows each.
    "grouped, gradient": ("GroupedMatmulAdd", "8192,512;8192,256;16;16,512,256", "16,512,256", (512, 256, 8192)),
    "grouped, gradient alone": ("GroupedMatmul", "8192,512;8192,256", "16,512,256", (512, 256, 8192)),
    # A tensor for each group: two of 16 and 8 rows, alike; their rows, or their results, are one tensor.
    "grouped, separate": ("GroupedMatmul", "16,256;8,256;256,64;256,64", "16,64;8,64", (24, 64, 256)),
    "grouped, separate weights": ("GroupedMatmul", "24,256;256,64;64,256;2", "16,64;8,64", (24, 64, 256)),
    "grouped, separate rows": ("GroupedMatmul", "16,256;8,256;256,64;256,64;64;64", "24,64", (24, 64, 256)),
    "grouped, weights alone": ("GroupedMatmul", "24,256;256,64;256,64", "24,64", (24, 64, 256)),
    "grouped, separate, no k": ("GroupedMatmul", "16,256;8,256;256,64;200,64", "16,64;8,64", None),
    "grouped, separate, rows missing": ("GroupedMatmul", "16,256;8,256;256,64;256,64", "20,64", None),
    # All 4096 rows to a quarter of the columns' ranks; a quarter of the inner dimension from each of four ranks.
    "then exchanged": ("MatmulAlltoAll", "512,4096;4096,2048", "2048,512", (512, 2048, 4096)),
    "then exchanged, transposed": ("MatmulAlltoAllV2", "512,4096;2048,4096", "2048,512", (512, 2048, 4096)),
    "exchanged before": ("AlltoAllMatmul", "4096,512;2048,1024", "1024,1024;1024,2048", (1024, 1024, 2048)),
    "exchanged before, as many columns": ("AlltoAllMatmul", "4096,512;2048,512", "1024,512", (1024, 512, 2048)),
    "exchanged before, no k": ("AlltoAllMatmul", "4096,500;2048,512", "1024,512", None),
    # Two experts of each rank: the ranks add up the rows, and exchange them.
    "batch, then exchanged": ("BatchMatMulReduceScatterAlltoAll", "2,64,128;2,128,256", "8,8,256", (2 * 64, 256, 128)),
    "batch, exchanged before": ("AlltoAllAllGatherBatchMatMul", "8,16,128;2,256,64", "2,64,64", (2 * 64, 64, 256)),
    # With a collective: 16 rows of all, with a residual and a norm; 4096 rows of 8 ranks, which are scattered
    # afterwards, or gathered before.
    "all-reduced": ("MatmulAllReduce", "2,8,512;512,64", "2,8,64", (16, 64, 512)),
    "all-reduced, quantised": ("QuantMatmulAllReduceV2", "16,512;512,64;;64", "16,64", (16, 64, 512)),
    "all-reduced, norm": ("MatmulAllReduceAddRmsNorm", "16,512;64,512;;2,8,64;64", "2,8,64;2,8,64", (16, 64, 512)),
    "scattered": ("MatmulReduceScatter", "4096,512;64,512", "512,64", (4096, 64, 512)),
    "gathered": ("AllGatherMatmul", "512,4096;384,4096", "4096,384;4096,4096", (4096, 384, 4096)),
    "gathered, parts of rows": ("AllGatherMatmul", "512,4096;384,4096", "4000,384;4000,4096", None),
    "gathered, no k": ("AllGatherMatmulV2", "512,4096;384,4000", "4096,384;4096,4096", None),
    "scattered without a collective": ("MatMulV2", "4096,512;64,512", "512,64", None),
    "no k": ("MatMulV2", "16,5120;5121,640", "16,640", None),
    "wrong rows": ("MatMulV2", "17,5120;5120,640", "16,640", None),
    "grouped, rows differ": ("GroupedMatmul", "8190,512;8192,256", "16,512,256", None),
    "grouped, no k": ("GroupedMatmul", "256,7168;8,7000,4096", "256,4096", None),
}


@pytest.fixture(scope="module")
def products(tmp_path_factory):
    """The products above, by their number in the table."""
    folder = tmp_path_factory.mktemp("products")
    opened = Lake(folder / "lake")
    opened.ingest(write_table(folder / "t.csv", *(product(*of[:3]) for of in PRODUCTS.values())))
    yield dict(
        zip(
            PRODUCTS,
            ask(opened, "SELECT m, n, k, flop, shape_inconsistent FROM ascend_operators ORDER BY kernel_id"),
            strict=True,
        )
    )
    opened.close()


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_inner_dimension_fits_both_matrices_and_the_result_or_there_is_none(products, name):
    expected = PRODUCTS[name][3]
    if expected is None:
        assert products[name] == (None, None, None, None, True)
    else:
        m, n, k = expected
        assert products[name] == (m, n, k, 2 * m * n * k, False)


@in_one_lake
def test_groups_of_unlike_sizes_have_the_flop_of_all_of_them(tmp_path):
    # 16 x 256 x 64 and 8 x 128 x 32, in tensors of their own; 16 and 8 rows of one tensor to 64 and 32 columns.
    lake = yield write_table(
        tmp_path / "t.csv",
        product("GroupedMatmul", "16,256;8,128;256,64;128,32", "16,64;8,32"),
        product("GroupedMatmul", "24,256;256,64;256,32", "16,64;8,32"),
    )
    found = ask(lake, "SELECT m, n, k, flop, flop_note FROM ascend_operators ORDER BY kernel_id")
    assert found == [
        (24, None, None, 2 * (16 * 256 * 64 + 8 * 128 * 32), None),
        (24, None, 256, 2 * 256 * (16 * 64 + 8 * 32), None),
    ]


@in_one_lake
def test_a_buffer_for_the_most_that_may_be_received_does_not_show_how_many_rows_an_expert_has(tmp_path):
    # 16 tokens to 8 of 256 experts on each of 16 ranks: of the buffer's 2048 rows 128 are in use, if it is balanced.
    sent = product("MoeDistributeDispatchV2", "16,7168;16,8", "2048,7168")
    # On one rank with 128 tokens to 2 experts each row is in use.
    whole = product("MoeDistributeDispatchV2", "128,7168;128,2", "256,7168")
    # What is not in the table shows nothing.
    unknown = product("MoeDistributeDispatchV2", "16,7168", "256,7168")
    products = [product("GroupedMatmul", f"{rows},7168;16,7168,4096", f"{rows},4096") for rows in (2048, 256)]
    lake = yield write_table(tmp_path / "t.csv", sent, whole, unknown, *products)
    columns = "m, n, k, flop, flop_bound, flop_note, moved_bytes, moved_bound, moved_note"
    found = ask(lake, f"SELECT {columns} FROM ascend_operators WHERE rule = 'grouped_matmul' ORDER BY kernel_id")
    flop = 2 * 256 * 7168 * 4096
    most = 2 * (2048 * (7168 + 4096) + 16 * 7168 * 4096)
    assert found == [
        (None, 4096, 7168, None, 8 * flop, "rows_unknown", None, most, "rows_unknown"),
        (256, 4096, 7168, flop, None, None, 2 * (256 * (7168 + 4096) + 16 * 7168 * 4096), None, None),
    ]


@in_one_lake
def test_of_a_buffer_for_the_most_that_may_be_received_the_bytes_that_are_moved_have_a_bound(tmp_path):
    # The same buffer of 2048 rows; 16 tokens x 8 experts are 128 rows on one rank, which fill a buffer of as many.
    counts = {"Input Data Types": "DT_BF16;DT_BF16;INT64", "Input Formats": "ND;ND;ND"}
    rows = [
        product("MoeDistributeDispatchV2", "16,7168;16,8", "2048,7168"),
        product("MoeDistributeCombineAddRmsNorm", "2048,7168;16,8", "16,7168"),
        # Rows of each of 16 experts are given, or are not: then the whole buffer is processed.
        product("DequantSwigluQuant", "2048,4096;2048;16", "2048,2048") | counts,
        product("SwiGlu", "2048,4096", "2048,2048"),
        # Axes and places of the tokens are no rows of experts, nor is what is given with fewer rows than the buffer.
        product("Transpose", "2048,16,128;3", "16,2048,128") | {"Input Data Types": "DT_BF16;INT64"},
        product("ApplyRotaryPosEmb", "2048,64;2048;2048", "2048,64") | counts,
        product("DequantSwigluQuant", "128,4096;128;16", "128,2048") | counts,
        product("MoeDistributeDispatchV2", "16,7168;16,8", "128,7168"),
        product("MoeDistributeCombineV2", "128,7168;16,8", "16,7168"),
    ]
    lake = yield write_table(tmp_path / "t.csv", *rows)
    found = ask(lake, "SELECT moved_bytes, moved_bound, moved_note FROM ascend_operators ORDER BY kernel_id")
    exchange, activation = 2 * (16 * 7168 + 16 * 8 + 2048 * 7168), 2 * (2048 * (4096 + 1 + 2048)) + 16 * 8
    alone = 2 * (16 * 7168 + 16 * 8 + 128 * 7168)
    assert found == [
        (None, exchange, "rows_unknown"), (None, exchange, "rows_unknown"), (None, activation, "rows_unknown"),
        (2 * 2048 * (4096 + 2048), None, None), (2 * 2 * 2048 * 16 * 128 + 3 * 8, None, None),
        (2 * (2 * 2048 * 64 + 2048) + 2048 * 8, None, None),
        (2 * (128 * (4096 + 1 + 2048)) + 16 * 8, None, None), (alone, None, None), (alone, None, None),
    ]  # fmt: skip


@in_one_lake
def test_blocked_storage_is_undone(tmp_path):
    # 5120 x 640 in blocks of 16 x 16: 40 columns of blocks, 320 rows of blocks.
    blocked = product("MatMulV2", "16,5120;40,320,16,16", "16,640") | {"Input Formats": "ND;FRACTAL_NZ"}
    # INT8 has blocks of 16 rows and 32 columns.
    narrow = product("QuantBatchMatmulV3", "16,5120;20,320,16,32", "16,640", dtype="INT8")
    narrow |= {"Input Formats": "FORMAT_ND;FORMAT_FRACTAL_NZ", "Output Data Types": "FLOAT16"}
    not_blocked = product("MatMulV2", "16,5120;40,320,16,16", "16,640")
    # All of them blocked, with 1, 320 and 40 columns of blocks; and 634 columns, filled up to 640.
    all_blocked = product("MatMulV2", "320,1,16,16;40,320,16,16", "40,1,16,16") | {
        "Input Formats": "FRACTAL_NZ;FRACTAL_NZ", "Output Formats": "FRACTAL_NZ",
    }  # fmt: skip
    filled_up = product("MatMulV2", "16,5120;40,320,16,16", "16,634") | {"Input Formats": "ND;FRACTAL_NZ"}
    transposed = product("MatMulV2", "16,5120;320,40,16,16", "16,634") | {"Input Formats": "ND;FRACTAL_NZ"}
    too_wide = product("MatMulV2", "16,5120;40,320,16,16", "16,624") | {"Input Formats": "ND;FRACTAL_NZ"}
    lake = yield write_table(
        tmp_path / "t.csv", blocked, narrow, not_blocked, all_blocked, filled_up, transposed, too_wide
    )
    found = ask(lake, "SELECT k, flop, in_bytes, shape_inconsistent FROM ascend_operators ORDER BY kernel_id")
    flop = 2 * 16 * 640 * 5120
    size = 16 * 5120 + 5120 * 640
    part = flop * 634 / 640
    assert found == [
        (5120, flop, 2 * size, False), (5120, flop, size, False), (None, None, 2 * size, True),
        (5120, flop, 2 * size, False), (5120, part, 2 * size, False), (5120, part, 2 * size, False),
        (None, None, 2 * size, True),
    ]  # fmt: skip
