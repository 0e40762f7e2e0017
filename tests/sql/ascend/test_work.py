"""FLOP and bytes of Ascend's kernels by their own shapes. Real figures were calculated in plain Python; those of
made-up kernels stand beside them."""

import pytest

from tracelake.lake import Lake

from ...lakes import in_one_lake, ingest_at_once
from ...support import data_file
from .counters import ask, ask_one, product, write_table
from .files import write_kernels


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A lake with a training step, an excerpt with altered shapes, and made-up forward passes."""
    opened = Lake(tmp_path_factory.mktemp("work") / "lake")
    ingest_at_once(opened, {
        data_file("ascend/kernel_details_training_910b_arithmetic.csv"): {"trace": "step"},
        data_file("ascend/kernel_details_excerpt_pipeutilization.csv"): {"trace": "excerpt"},
        data_file("ascend/synthetic/forward_passes.csv"): {"trace": "passes"},
    })  # fmt: skip
    yield opened
    opened.close()


OF = "FROM ascend_operators JOIN traces USING (trace_id) WHERE trace ="


def test_flop_of_a_training_step(real):
    found = ask_one(
        real,
        "SELECT count(*) AS rows, sum(flop) AS flop, sum(dur_us) AS us, sum(flop) / sum(dur_us) / 1e6 AS tflops, "
        "min(tflops) AS low, max(tflops) AS high, sum(pmu_flop) / sum(flop) AS ratio, bool_or(flop_mismatch) AS bad "
        f"{OF} 'step' AND rule IS NOT NULL",
    )
    assert (found["rows"], found["flop"], found["bad"]) == (13, 4406636445696, False)
    assert found["us"] == pytest.approx(14252.72)
    assert [round(found[name], 3) for name in ("tflops", "low", "high")] == [309.179, 278.894, 317.652]
    assert found["ratio"] == pytest.approx(1.0238, abs=5e-5)


def test_the_first_product_of_the_step(real):
    found = ask_one(
        real,
        f"SELECT m, n, k, flop, dtype, in_bytes, out_bytes, dur_us, shape_inconsistent {OF} 'step' AND op_type = "
        "'MatMul' ORDER BY kernel_id LIMIT 1",
    )
    assert found == {
        "m": 4096, "n": 4608, "k": 12288, "flop": 463856467968, "dtype": "fp16", "dur_us": 1478.18,
        "in_bytes": 2 * 12288 * (4096 + 4608), "out_bytes": 2 * 4096 * 4608, "shape_inconsistent": False,
    }  # fmt: skip


def test_bytes_by_kind_of_core(real):
    found = ask(real, f"SELECT core, count(*), sum(bytes) {OF} 'step' GROUP BY core")
    assert {core: (rows, size) for core, rows, size in found} == {
        "AI_VECTOR_CORE": (495, 43181973488), "AI_CORE": (13, 2524971008), "DSA_SQE": (7, 34603246),
        "MIX_AIV": (25, 1000), "AI_CPU": (7, 84),
    }  # fmt: skip
    [(total, speed)] = ask(
        real,
        "SELECT sum(bytes), sum(bytes) FILTER (core = 'AI_VECTOR_CORE') / sum(dur_us) FILTER (core = 'AI_VECTOR_CORE') "
        f"/ 1e3 {OF} 'step'",
    )
    assert total == 45741548826
    assert round(speed, 2) == 1309.02
    found = ask(real, f"SELECT core, sum(bytes) {OF} 'excerpt' GROUP BY core")
    assert dict(found) == {"AI_CORE": 5385814016, "MIX_AIC": 605798683, "AI_VECTOR_CORE": 100663344}


def test_shapes_that_fit_no_product_have_no_flop_and_a_flag(real):
    found = ask(
        real,
        "SELECT op_type, flop_note, shape_inconsistent, count(*), count(flop) "
        f"{OF} 'excerpt' AND rule IS NOT NULL GROUP BY ALL ORDER BY ALL",
    )
    # Of the attentions one has a query of 511 columns, which no number of heads divides.
    assert found == [
        ("FlashAttentionScore", "shape_inconsistent", True, 1, 0), ("FlashAttentionScore", None, False, 4, 4),
        ("FlashAttentionScoreGrad", None, False, 4, 4), ("MatMulV2", "shape_inconsistent", True, 4, 0),
        ("MatMulV3", "shape_inconsistent", True, 8, 0),
    ]  # fmt: skip
    checks = "SELECT severity, value FROM ascend_checks JOIN traces USING (trace_id) WHERE trace = 'excerpt' AND "
    assert ask(real, checks + "\"check\" = 'shape_inconsistent'") == [("warning", 13)]


def test_attention_of_training_is_half_of_the_square_and_counters_agree(real):
    found = ask(
        real,
        "SELECT op_type, any_value(causal), any_value(flop), min(pmu_ratio) > 0.9, max(pmu_ratio) < 1.2 "
        f"{OF} 'excerpt' AND flop IS NOT NULL GROUP BY op_type ORDER BY op_type",
    )
    # 2 x 2 batches x 4 heads x 4096 x 4096 x (128 + 128) / 2; two and a half times that backwards.
    forward = 2 * 2 * 4 * 4096 * 4096 * 256 // 2
    assert found == [
        ("FlashAttentionScore", True, forward, True, True),
        ("FlashAttentionScoreGrad", True, 2.5 * forward, True, True),
    ]


def test_products_of_forward_passes(real):
    found = ask(
        real,
        "SELECT (kernel_id >= 62) AS decode, sum(flop), count(*) "
        f"{OF} 'passes' AND op_type = 'MatMulV2' GROUP BY decode ORDER BY decode",
    )
    assert found == [(False, 31302860800, 17), (True, 3 * 5456527360, 51)]


def test_a_paged_attention_has_a_bound_and_no_flop_until_the_length_is_said(real):
    query = (
        f"SELECT flop, flop_bound, flop_note {OF} 'passes' AND op_type LIKE 'Fused%' ORDER BY kernel_id DESC LIMIT 1"
    )
    # 16 tokens x 4 heads of 128; a block table of 32 blocks of 128 keys for each request.
    assert ask(real, query) == [(None, 2 * 16 * 4 * 4096 * 256, "lengths_unknown")]
    real.set("passes", kv_len=1000)
    assert ask(real, query) == [(2 * 16 * 4 * 1000 * 256, 2 * 16 * 4 * 4096 * 256, None)]
    real.set("passes", kv_len=None)


def test_colours_of_vector_kernels_are_the_advisors(real):
    found = ask(real, "SELECT trace, colour, count(*) FROM vector_colours JOIN traces USING (trace_id) "
                      "WHERE trace = 'step' GROUP BY ALL ORDER BY colour")  # fmt: skip
    assert found == [("step", "green", 406), ("step", "red", 3), ("step", "white", 59), ("step", "yellow", 27)]


@in_one_lake
def test_scalars_have_one_element_and_absent_tensors_none(tmp_path):
    row = product("Add", "4,5;;", "4,5") | {
        "Accelerator Core": "AI_VECTOR_CORE", "Input Data Types": "FLOAT;INT64;DT_UNDEFINED",
        "Input Formats": "ND;ND;NULL", "Output Data Types": "FLOAT16",
    }  # fmt: skip
    lake = yield write_table(tmp_path / "t.csv", row)
    assert ask(lake, "SELECT in_bytes, out_bytes, bytes, flop_note, shape_inconsistent FROM ascend_operators") == [
        (4 * 20 + 8, 2 * 20, 4 * 20 + 8 + 40, "no_rule", False)
    ]


@in_one_lake
def test_bytes_with_an_unknown_type_of_elements_are_null_and_told(tmp_path):
    odd = product("MatMulV2", "16,64;64,32", "16,32") | {"Input Data Types": "DT_BF16;DT_ODD7"}
    half = product("MatMulV2", "16,64;64,32", "16,32") | {"Input Data Types": "DT_BF16;INT4"}
    lake = yield write_table(tmp_path / "t.csv", odd, half)
    found = ask(
        lake, "SELECT in_bytes, out_bytes, bytes, unknown_dtypes, flop FROM ascend_operators ORDER BY kernel_id"
    )
    flop = 2 * 16 * 32 * 64
    assert found == [(None, 1024, None, "DT_ODD7", flop), (2 * 16 * 64 + 1024, 1024, 4096, None, flop)]
    assert ask(lake, "SELECT value FROM ascend_checks WHERE \"check\" = 'unknown_dtype'") == [(1,)]


@in_one_lake
def test_products_of_microscaling_types_have_bytes_their_scales_included(tmp_path):
    def row(number: str) -> dict[str, str]:
        scales = "128,64;96,64;96,2,2;;128,2,2"
        return product("QuantBatchMatmulV4", scales, "128,96") | {
            "Input Data Types": f"{number};{number};FLOAT8_E8M0;DT_UNDEFINED;FLOAT8_E8M0",
            "Output Data Types": "DT_BF16",
        }  # fmt: skip

    types = {"FLOAT8_E4M3FN": 8, "FLOAT6_E3M2": 6, "FLOAT6_E2M3": 6, "FLOAT4_E2M1": 4, "FLOAT4_E1M2": 4}
    lake = yield write_table(tmp_path / "t.csv", *map(row, types))
    # Operands of so many bits, a byte of scale per 32 of them, two bytes of each sum.
    assert ask(lake, "SELECT moved_bytes, unknown_dtypes FROM ascend_operators ORDER BY kernel_id") == [
        ((128 + 96) * 64 * bits // 8 + (128 + 96) * 4 + 2 * 128 * 96, None) for bits in types.values()
    ]


@in_one_lake
def test_counters_that_contradict_shapes_are_told(tmp_path):
    def row(cycles: int) -> dict[str, str]:
        counted = {"aicore_time(us)": "1", "aic_total_cycles": str(cycles), "aic_mac_ratio": "1"}
        return product("MatMulV2", "128,128;128,128", "128,128") | counted

    # 2 x 128^3 FLOP are 512 cycles of a core.
    lake = yield write_table(tmp_path / "t.csv", row(512), row(540), row(700), row(400))
    found = ask(lake, "SELECT round(pmu_ratio, 3), flop_mismatch FROM ascend_operators ORDER BY kernel_id")
    assert found == [(1, False), (1.055, False), (1.367, True), (0.781, True)]
    assert ask(lake, "SELECT severity, value FROM ascend_checks WHERE \"check\" = 'flop_mismatch'") == [("warning", 2)]


#: Type, inputs and their types, output: bytes that are moved, worked out by hand, or why they are not known.
PAGED = "16,4,128;1000,128,128;1000,128,128;;2048,2048;16;16;;;;;;;;16,32;" + ";" * 14
PAGED_TYPES = "DT_BF16;DT_BF16;DT_BF16;;INT8;INT64;INT64;;;;;;;;INT32" + ";" * 15
OWN = "64,4,128;64,1,128;64,1,128;;2048,2048;3;3;;;;;;;;"
MOVED = {
    # 128 places of 8 bytes, 128 rows of 5120 read and written.
    "embedding": ("GatherV2", "151936,5120;128;1", "DT_BF16;INT64;INT64", "128,5120", 128 * 8 + 8 + 2 * 128 * 5120 * 2),
    # More rows than the table has: it is read once.
    "positions": ("GatherV2", "10,64;1000", "DT_BF16;INT64", "1000,64", 8000 + (10 + 1000) * 64 * 2),
    "picked": ("Index", "4096,6400;2;1;4096;4096", "FLOAT;INT64;INT64;INT64;INT64", "4096", 2 * 16384 + 8 * 8195),
    "a slice": ("StridedSliceD", "8,25", "FLOAT", "8", 64),
    # 4 rows of 2 places, and as many new rows: read, and written into the table.
    "update": ("ScatterNdUpdate", "9000,64;4,1;4,64", "FLOAT;INT32;FLOAT", "9000,64", 16 + 2 * 4 * 64 * 4),
    "gradient": ("EmbeddingDenseGrad", "16,64;16", "FLOAT;INT32", "9000,64", 64 + 2 * 16 * 64 * 4),
    "a view": ("ViewCopy", "9000,64;2;2;1;8,64", "FLOAT;INT64;INT64;INT64;FLOAT", "9000,64", 40 + 2 * 8 * 64 * 4),
    "a part that is a value": ("IndexFill", "9000,64;4", "FLOAT;INT32", "9000,64", "part_unknown"),
    # Key and value of 16 tokens, read and written, and their places.
    "cache": (
        "ReshapeAndCacheNdKernel", "16,1,128;16,1,128;1000,128,1,128;1000,128,1,128;16", "BF16;BF16;BF16;BF16;INT32",
        "1000,128,1,128;1000,128,1,128", 2 * 2 * 16 * 128 * 2 + 64,
    ),
    "a latent's cache": (
        "KvRmsNormRopeCache", "8,1,1,576;512;8,1,1,64;8,1,1,64;8;100,128,1,64;100,128,1,512",
        "BF16;BF16;BF16;BF16;INT64;BF16;BF16", "100,128,1,64;100,128,1,512",
        2 * 8 * 576 * 2 + 1024 + 2 * 8 * 64 * 2 + 64,
    ),
    "another cache": ("ScatterPaKvCache", "16,1,128;1000,128,1,128", "BF16;BF16", "1000,128,1,128", "part_unknown"),
    "paged": ("FusedInferAttentionScore", PAGED, PAGED_TYPES, "16,4,128", "lengths_unknown"),
    # Keys of their own are read whole, and a mask is left out: queries, result, one head of keys and values, lengths.
    "own keys": (
        "FusedInferAttentionScore", OWN, "BF16;BF16;BF16;;INT8;INT64;INT64;;;;;;;;", "64,4,128",
        2 * 64 * 512 * 2 + 2 * 64 * 128 * 2 + 2 * 24,
    ),
    "another attention": ("PagedAttentionMaskNdKernel", "16,4,128;9,128,128", "BF16;BF16", "16,4,128", "part_unknown"),
    "experts": ("GroupedMatmul", "64,32;8,32,16", "BF16;BF16", "64,16", 2 * (64 * 32 + 8 * 32 * 16 + 64 * 16)),
    "few rows": ("GroupedMatmul", "2,32;8,32,16", "BF16;BF16", "2,16", "experts_unknown"),
    # One token, sent to experts of any rank, and what their tokens bring here.
    "fused experts": (
        "DispatchFFNCombine", "1,64;8,64,32;8,16,64;1,2", "BF16;BF16;BF16;INT32", "1,64", "experts_unknown",
    ),
    "an odd type": ("GatherV2", "9000,64;4", "ODD7;INT32", "4,64", "unknown_dtype"),
    "in place": ("ApplyAdamW", "64;64;64;;;;;;;;64", "FLOAT;FLOAT;FLOAT;;;;;;;;FLOAT", "64;64;64", 7 * 256),
}  # fmt: skip


def moving(name):
    """Return the row of a kernel of MOVED."""
    op_type, inputs, types, outputs, _ = MOVED[name]
    kind = types.split(";")[0]
    return product(op_type, inputs, outputs, dtype=kind) | {
        "Input Data Types": ";".join(each or "DT_UNDEFINED" for each in types.split(";"))
    }


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """A lake of a trace with these kernels, one a microsecond, and their numbers."""
    folder = tmp_path_factory.mktemp("moved")
    opened = Lake(folder / "lake")
    opened.ingest(write_table(folder / "t.csv", *(moving(name) for name in MOVED)))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", MOVED)
def test_of_tables_caches_and_experts_only_what_is_touched_is_moved(moved, name):
    found = dict(zip(MOVED, ask(moved, "SELECT moved_bytes, moved_note FROM ascend_operators ORDER BY kernel_id"),
                     strict=True))  # fmt: skip
    expected = MOVED[name][-1]
    assert found[name] == ((None, expected) if isinstance(expected, str) else (expected, None))


def test_bounds_of_what_no_shape_tells(moved):
    found = dict(zip(MOVED, ask(moved, "SELECT moved_bound, bytes_caveat FROM ascend_operators ORDER BY kernel_id"),
                     strict=True))  # fmt: skip
    # 16 requests of 32 blocks of 128 keys, 128 values each for key and value; queries, result, lengths, block table.
    rest = 2 * 16 * 512 * 2 + 2 * 16 * 8 + 16 * 32 * 4
    assert found["paged"][0] == 16 * 32 * 128 * 2 * 128 * 2 + rest
    # Two rows are of two experts at most.
    assert found["few rows"][0] == 2 * (2 * 32 + 2 * 32 * 16 + 2 * 16)
    assert found["another attention"][0] is None
    assert found["fused experts"][0] is None
    assert found["embedding"] == (None, "of the table only the gathered or written rows are touched")


def test_the_length_that_is_said_tells_what_of_the_cache_is_read(lake, tmp_path):
    lake.ingest(write_table(tmp_path / "t.csv", moving("paged")), kv_len=1000)
    rest = 2 * 16 * 512 * 2 + 2 * 16 * 8 + 16 * 32 * 4
    assert ask(lake, "SELECT moved_bytes, moved_note FROM ascend_operators") == [(16 * 1000 * 2 * 128 * 2 + rest, None)]
    lake.set("t", kv_len=100_000)
    # No more than the block table has room for.
    assert ask(lake, "SELECT moved_bytes FROM ascend_operators") == [(16 * 32 * 128 * 2 * 128 * 2 + rest,)]


def test_no_pass_uses_more_memory_than_it_has_time_for(real):
    """The embedding was counted with its whole table, attention with its whole pool: 189 % to 205 % of a pass."""
    real.set("passes", hardware="ascend_910b2", model="qwen3-32b", tp=8)
    [(mbu, moved)] = ask(real, "SELECT mbu, bytes FROM pass_mfu JOIN traces USING (trace_id) WHERE trace = 'passes' "
                             "AND pass_id = 0 AND time_basis = 'wall'")  # fmt: skip
    # Rows of the embedding read and written, and their places; 4 x 4 products; 1 + 8 norms; 4 activations; the
    # head. Durations are those of the table: 677 us at 1759.2 GB/s.
    embedding = 2 * 2 * 128 * 5120 + 129 * 8
    layer = sum(2 * (128 * k + k * n + 128 * n) for k, n in ((5120, 640), (512, 5120), (5120, 3200), (1600, 5120)))
    head = 2 * (5120 + 5120 * 9496 + 9496)
    # Norms add a residual but the first, and give FP32 for each row; activations halve the columns.
    plain_norm = 2 * (2 * 128 * 5120 + 5120) + 4 * 128
    norm, activation = 2 * (4 * 128 * 5120 + 5120) + 4 * 128, 2 * 128 * (3200 + 1600)
    assert moved == embedding + 4 * layer + head + plain_norm + 8 * norm + 4 * activation
    assert mbu == pytest.approx(moved / 1759.2e9 / 677e-6)
    assert mbu < 0.4
    notes = ask(real, "SELECT DISTINCT unit, bytes, bytes_note FROM kernel_roofline JOIN traces USING (trace_id) WHERE "
                      "trace = 'passes' AND bytes_note IS NOT NULL")  # fmt: skip
    assert notes == [("attention", None, "lengths_unknown")]
    real.set("passes", hardware=None, model=None, tp=None)


@in_one_lake
def test_tables_of_gathers_and_pools_of_caches_carry_a_caveat(tmp_path):
    rows = (product(name, "151936,5120;128", "128,5120") for name in ("GatherV2", "ReshapeAndCacheNdKernel", "Mul"))
    lake = yield write_table(tmp_path / "t.csv", *rows)
    found = ask(lake, "SELECT op_type, bytes_caveat IS NOT NULL FROM ascend_operators ORDER BY kernel_id")
    assert found == [("GatherV2", True), ("ReshapeAndCacheNdKernel", True), ("Mul", False)]


@in_one_lake
def test_enormous_dimensions_are_no_error(tmp_path):
    huge = "9000000000000,9000000000000"
    lake = yield write_table(tmp_path / "t.csv", product("MatMulV2", f"{huge};{huge}", huge))
    assert ask(lake, "SELECT flop FROM ascend_operators") == [(pytest.approx(2 * 9e12**3),)]


def test_products_of_the_same_shapes_are_compared_with_each_other(tmp_path):
    # Every product is a MatMulV2. Two of 4096 x 1024 become one of 4096 x 2048, of the same FLOP; the other stays.
    sides = {"apart": ((4096, 100), (1024, 30), (1024, 30)), "merged": ((4096, 100), (2048, 50))}
    with Lake(tmp_path / "lake") as lake:
        for name, products in sides.items():
            rows = [
                {"Name": "aclnnMm_MatMulV2_MatMulV2", "Type": "MatMulV2", "Accelerator Core": "AI_CORE",
                 "Start Time(us)": str(200 * nth), "Duration(us)": str(dur), "Input Data Types": "DT_BF16;DT_BF16",
                 "Input Shapes": f'"4096,4096;4096,{width}"', "Output Shapes": f'"4096,{width}"'}
                for nth, (width, dur) in enumerate(products)
            ]  # fmt: skip
            lake.ingest(write_kernels(tmp_path / name / "kernel_details.csv", *rows), trace=name)
        works = lake.compare_sides("apart", "merged").ops.filter("part = 'compute'")
        columns = "matched_by, before_calls, after_calls, before_ns, after_ns, more_work_ns, slower_work_ns"
        assert sorted(works.select(columns).fetchall()) == [
            ("kernel", 2, 1, 60_000, 50_000, 0, -10_000), ("kernel and shape", 1, 1, 100_000, 100_000, 0, 0),
        ]  # fmt: skip
