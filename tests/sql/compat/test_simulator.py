"""The reference's compute simulator, its errors included: every figure was printed by the simulator itself.

They are those of the specification of the compute simulation, sections 8.1 to 8.5: whole numbers exactly, shares to
1e-9.
"""

import pytest

import tracelake

from .timings import ask, insert_layer

# key: layers, S = 1 at 15 ms: total, embedding, layer 0, MFU; S = 8192 at 1 s: the same.
TOTALS = {
    "qwen3-235b-a22b": (
        (56_552_250_368, 1_244_659_712, 588_378_624, 0.3184248331531532),
        (463_257_115_705_344, 10_196_252_360_704, 4_819_796_418_560, 39.12644558322162),
    ),
    "deepseek-v3": (
        (110_439_089_152, 1_853_358_080, 1_780_093_952, 0.6218417181981983),
        (904_683_251_918_848, 15_182_709_391_360, 14_581_976_107_008, 76.4090584390919),
    ),
    "deepseek-v4-flash": (
        (62_089_075_712, 1_059_061_760, 1_000_492_032, 0.3496006515315315),
        (508_654_179_934_208, 8_675_833_937_920, 8_196_366_327_808, 42.96065708903784),
    ),
    "deepseek-v4-flash-base": (
        (31_663_234_944, 1_059_061_760, 703_700_608, 0.17828398054054057),
        (259_414_239_322_112, 8_675_833_937_920, 5_765_327_806_464, 21.909986429232433),
    ),
    "kimi-k2": (
        (113_681_766_912, 2_297_430_016, 1_825_972_736, 0.640100038918919),
        (931_247_268_128_768, 18_820_546_691_072, 14_957_815_105_536, 78.65264088925406),
    ),
    "kimi-k2.5": (
        (113_681_766_912, 2_297_430_016, 1_825_972_736, 0.640100038918919),
        (931_247_268_128_768, 18_820_546_691_072, 14_957_815_105_536, 78.65264088925406),
    ),
    "minimax-m2": (
        (129_377_751_040, 2_457_600_000, 1_586_501_888, 0.728478327927928),
        (1_059_780_675_010_560, 20_132_659_200_000, 12_995_600_197_632, 89.50850295697296),
    ),
    "glm-5": (
        (57_137_479_680, 1_551_892_480, 694_819_840, 0.32172004324324327),
        (468_029_973_954_560, 12_713_103_196_160, 5_691_460_884_480, 39.52955861102703),
    ),
}  # fmt: skip

# The published Qwen3-8B in the reference's words; the lake's own file gives it, as any other model can be given.
DENSE = """\
model,display_name,source,num_layers,hidden_size,num_heads,num_kv_heads,head_dim,intermediate_size,vocab_size,attention
qwen3-8b,Qwen3-8B,Qwen/Qwen3-8B,36,4096,32,8,128,12288,151936,gqa_qk_norm
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "lake"
    tracelake.open(path).close()
    (path / "lookup").mkdir(exist_ok=True)
    (path / "lookup" / "compat_models.csv").write_text(DENSE)
    with_dense = tracelake.open(path)
    yield with_dense
    with_dense.close()


def totals(lake, **question):
    """Ask the simulator and return total, embedding, FLOP of layer 0, and MFU."""
    request = ask(lake, **question)
    [row] = lake.rows(
        "SELECT total_flop, embed_flop, layer_flop, mfu_pct, per_layer_mfu_pct FROM compat_model_mfu"
        " WHERE request = $1",
        [request],
    )
    assert row[4] == pytest.approx(row[3], rel=1e-12) if row[3] is not None else row[4] is None
    return row[:4]


def operators(lake, ratio=0, **question):
    """Ask the simulator and return the FLOP of each operator of a layer, twin operators once."""
    request = ask(lake, **question)
    rows = lake.rows(
        "SELECT op, flop FROM compat_model_operators WHERE request = $1 AND compress_ratio = $2 ORDER BY op_seq",
        [request, ratio],
    )
    return [row for nth, row in enumerate(rows) if row not in rows[:nth]]


@pytest.mark.parametrize("model", TOTALS)
def test_totals_of_a_decode_step_and_of_a_prefill_are_the_simulator_s(lake, model):
    decode, prefill = TOTALS[model]
    found = totals(lake, model=model, seq_len=1, measured_ms=15.0)
    assert found == (*decode[:3], pytest.approx(decode[3], rel=1e-9))
    found = totals(lake, model=model, seq_len=8192, measured_ms=1000.0)
    assert found == (*prefill[:3], pytest.approx(prefill[3], rel=1e-9))


@pytest.mark.parametrize(("seq_len", "expected"), [(1, 720_952_960), (8192, 5_906_793_291_776)])
def test_a_layer_of_ratio_128_has_flop_of_its_own(lake, seq_len, expected):
    request = ask(lake, model="deepseek-v4-flash-base", seq_len=seq_len)
    assert lake.rows(
        "SELECT layers, first_layer, sum(flop) FROM compat_model_operators"
        " WHERE request = $1 AND compress_ratio = 128 GROUP BY ALL",
        [request],
    ) == [(20, 3, expected)]


QWEN = [
    ("rmsnorm", 24_576, 24_576),
    ("q_proj", 134_217_728, 1_099_511_627_776),
    ("kv_proj", 16_777_216, 137_438_953_472),
    ("attn_score", None, 268_435_456),
    ("attn_v", 32_768, 268_435_456),
    ("o_proj", 134_217_728, 1_099_511_627_776),
    ("residual_add", 4_096, 4_096),
    ("router", 1_048_576, 8_589_934_592),
    ("topk", 512, 4_194_304),
    ("routed_experts_swiglu", 301_989_888, 2_473_901_162_496),
    ("activation", 36_864, 301_989_888),
]
DEEPSEEK = [
    ("rmsnorm", 43_008, 43_008),
    ("q_proj", 234_881_024, 1_924_145_348_608),
    ("kv_compress", 14_680_064, 120_259_084_288),
    ("attn_score", None, 268_435_456),
    ("attn_v", 1_024, 8_388_608),
    ("o_proj", 234_881_024, 1_924_145_348_608),
    ("kv_decompress", 14_680_064, 120_259_084_288),
    ("residual_add", 7_168, 7_168),
    ("router", 3_670_016, 30_064_771_072),
    ("topk", 1_024, 8_388_608),
    ("routed_experts_swiglu", 484_442_112, 3_968_549_781_504),
    ("activation", 33_792, 276_824_064),
    ("shared_experts_swiglu", 792_723_456, 6_493_990_551_552),
]
GLM = [
    ("rmsnorm", 30_720, 30_720),
    ("q_proj", 52_428_800, 429_496_729_600),
    ("kv_proj", 20_971_520, 171_798_691_840),
    ("attn_score", None, 83_886_080),
    ("attn_v", 10_240, 83_886_080),
    ("o_proj", 52_428_800, 429_496_729_600),
    ("residual_add", 5_120, 5_120),
    ("router", 2_621_440, 21_474_836_480),
    ("topk", 1_024, 8_388_608),
    ("routed_experts_swiglu", 566_231_040, 4_638_564_679_680),
    ("activation", 55_296, 452_984_832),
]


@pytest.mark.parametrize(("model", "layer"), [("qwen3-235b-a22b", QWEN), ("deepseek-v3", DEEPSEEK), ("glm-5", GLM)])
def test_operators_of_a_layer_stand_in_the_simulator_s_order_with_its_flop(lake, model, layer):
    assert operators(lake, model=model, seq_len=1) == [(op, flop) for op, flop, _ in layer if flop is not None]
    assert operators(lake, model=model, seq_len=8192) == [(op, flop) for op, _, flop in layer]


#: A layer of DeepSeek-V4-Flash-Base: decode, prefill of 8192, ratios that have the operator.
V4_BASE = [
    ("rmsnorm", 24_576, 24_576, (0, 4, 128)),
    ("q_lora_down", 8_388_608, 68_719_476_736, (0, 4, 128)),
    ("q_lora_up", 67_108_864, 549_755_813_888, (0, 4, 128)),
    ("kv_compress", 4_194_304, 34_359_738_368, (0, 4, 128)),
    ("quant", 8_192, 67_108_864, (0, 4, 128)),
    ("rope", 512, 4_194_304, (0, 4, 128)),
    ("hadamard", 458_752, 3_758_096_384, (128,)),
    ("indexer_proj", 16_777_216, 137_438_953_472, (128,)),
    ("paged_mqa", 16_384, 268_435_456, (128,)),
    ("c4_attn", None, 536_870_912, (4, 128)),
    ("c4_attn_v", None, 536_870_912, (4, 128)),
    ("csa_attn_score", None, 536_870_912, (0,)),
    ("csa_attn_v", None, 536_870_912, (0,)),
    ("hca_attn_score", None, 8_388_608, (0, 4, 128)),
    ("hca_attn_v", 1_024, 8_388_608, (0, 4, 128)),
    ("mla_cache_store", 1_152, 9_437_184, (0, 4, 128)),
    ("o_lora_down", 1_048_576, 8_589_934_592, (0, 4, 128)),
    ("o_lora_up", 8_388_608, 68_719_476_736, (0, 4, 128)),
    ("residual_add", 4_096, 4_096, (0, 4, 128)),
    ("router", 2_097_152, 17_179_869_184, (0, 4, 128)),
    ("topk", 1_024, 8_388_608, (0, 4, 128)),
    ("routed_experts_swiglu", 301_989_888, 2_473_901_162_496, (0, 4, 128)),
    ("activation", 36_864, 301_989_888, (0, 4, 128)),
    ("shared_experts_swiglu", 301_989_888, 2_473_901_162_496, (0, 4, 128)),
    ("mhc_post_tilelang", 8_388_608, 68_719_476_736, (0, 4, 128)),
]


@pytest.mark.parametrize("ratio", [0, 4, 128])
def test_layers_of_a_compress_ratio_have_the_operators_of_that_ratio(lake, ratio):
    model = "deepseek-v4-flash-base"
    assert operators(lake, ratio, model=model, seq_len=1) == [
        (op, flop) for op, flop, _, ratios in V4_BASE if ratio in ratios and flop is not None
    ]
    assert operators(lake, ratio, model=model, seq_len=8192) == [
        (op, flop) for op, _, flop, ratios in V4_BASE if ratio in ratios
    ]


def test_figures_given_of_other_layers(lake):
    v4 = dict(operators(lake, model="deepseek-v4-flash"))
    assert {op: v4[op] for op in (
        "qkv_proj", "quant", "hca_attn_v", "mla_cache_store", "o_proj", "routed_experts_swiglu",
        "shared_experts_swiglu", "mhc_post_tilelang",
    )} == {
        "qkv_proj": 402_653_184, "quant": 8_192, "hca_attn_v": 32_768, "mla_cache_store": 32_768,
        "o_proj": 134_217_728, "routed_experts_swiglu": 150_994_944, "shared_experts_swiglu": 301_989_888,
        "mhc_post_tilelang": 8_388_608,
    }  # fmt: skip
    minimax = dict(operators(lake, model="minimax-m2"))
    assert {op: minimax[op] for op in (
        "q_proj", "kv_proj", "qk_norm", "attn_v", "o_proj", "router", "routed_experts_swiglu",
    )} == {
        "q_proj": 100_663_296, "kv_proj": 25_165_824, "qk_norm": 55_296, "attn_v": 16_384, "o_proj": 100_663_296,
        "router": 786_432, "routed_experts_swiglu": 1_358_954_496,
    }  # fmt: skip


def test_a_dense_model_comes_from_the_lake_s_own_table(lake):
    assert totals(lake, model="qwen3-8b")[::2] == (15_139_659_776, 385_972_224)
    found = dict(operators(lake, model="qwen3-8b"))
    assert [found[op] for op in ("q_proj", "kv_proj", "qk_norm", "attn_v", "o_proj", "ffn_swiglu")] == [
        33_554_432, 16_777_216, 30_720, 8_192, 33_554_432, 301_989_888,
    ]  # fmt: skip
    assert totals(lake, model="qwen3-8b", batch=15, seq_len=1024)[:3] == (
        232_501_011_308_544, 19_117_973_176_320, 5_927_306_614_784,
    )  # fmt: skip
    found = dict(operators(lake, model="qwen3-8b", batch=15, seq_len=1024))
    assert [found[op] for op in ("q_proj", "kv_proj", "attn_score", "attn_v", "o_proj", "ffn_swiglu")] == [
        515_396_075_520, 257_698_037_760, 125_829_120, 125_829_120, 515_396_075_520, 4_638_564_679_680,
    ]  # fmt: skip


def test_each_rank_s_part_is_that_of_the_simulator_s_own_example(lake):
    request = ask(lake, model="qwen3-235b-a22b", measured_ms=15.0)
    rows = lake.rows(
        "SELECT op, flop_gpu, theo_us, layer_pct FROM compat_operator_mfu WHERE request = $1"
        " AND op IN ('q_proj', 'kv_proj', 'routed_experts_swiglu', 'router') ORDER BY op_seq",
        [request],
    )
    assert rows == [
        ("q_proj", 16_777_216, pytest.approx(0.11335956756756757), pytest.approx(22.811455502503094)),
        ("kv_proj", 2_097_152, pytest.approx(0.014169945945945946), pytest.approx(2.8514319378128867)),
        ("router", 131_072, pytest.approx(131_072 / 148e6), pytest.approx(100 * 1_048_576 / 588_378_624)),
        ("routed_experts_swiglu", 37_748_736, pytest.approx(0.25505902702702704), pytest.approx(51.32577488063197)),
    ]
    [parts] = lake.rows("SELECT attention_flop, moe_ffn_flop FROM compat_model_mfu WHERE request = $1", [request])
    assert [round(part / 1e6, 3) for part in parts] == [285.245, 303.076]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, 0.3184248331531532),
        ({"ep": 1}, 1.4372837650450452),
        ({"tp": 1, "ep": 1}, 2.5473986652252254),
        ({"tp": 0, "ep": 0}, 2.5473986652252254),
        ({"dp": 8}, 0.3184248331531532),
        ({"dtype": "fp8"}, 0.1592124165765766),
        ({"per_layer_ms": 0.2}, 0.2540623668775158),
        ({"gpu": "mi300x"}, None),
        ({"gpu": "H20-SXM "}, 0.3184248331531532),
        ({"gpu": "h100 sxm"}, None),
    ],
)
def test_what_if_on_qwen3_changes_the_mfu_as_in_the_simulator(lake, change, expected):
    mfu = totals(lake, model="qwen3-235b-a22b", **{"measured_ms": 15.0, **change})[3]
    assert mfu == (None if expected is None else pytest.approx(expected, rel=1e-9))


@pytest.mark.parametrize(
    ("question", "total", "mfu"),
    [
        ({"model": "deepseek-v3", "batch": 128, "gpu": "h200", "measured_ms": 20.0}, 14_135_425_984_512,
         4.464194664133401),
        ({"model": "deepseek-v3", "seq_len": 4096, "gpu": "h200", "measured_ms": 300.0}, 452_341_629_020_160,
         9.523783666417382),
        ({"model": "glm-5", "batch": 64, "gpu": "b200", "measured_ms": 12.0}, 3_656_437_432_320, 0.8463975537777777),
    ],
)  # fmt: skip
def test_other_what_ifs_in_fp8(lake, question, total, mfu):
    found = totals(lake, dtype="fp8", **question)
    assert (found[0], found[3]) == (total, pytest.approx(mfu, rel=1e-9))


@pytest.mark.parametrize(
    ("said", "model"),
    [("DeepSeek V4", "deepseek-v4-flash"), ("kimi k2", "kimi-k2"), ("  glm-5 ", "glm-5"), ("qwen3-235b",
     "qwen3-235b-a22b"), ("deepseek-v4-base", "deepseek-v4-flash-base"), ("deepseek-r1", None),
     ("DeepSeek-V3.1", None), ("deepseek_v3", None)],
)  # fmt: skip
def test_a_model_goes_by_few_names(lake, said, model):
    request = ask(lake, model=said)
    assert lake.rows("SELECT model FROM compat_model_mfu WHERE request = $1", [request]) == [(model,)]


def test_ratios_must_be_as_many_as_layers_but_for_those_of_further_tokens(lake):
    connection = lake.prepare("SELECT 1 FROM compat_models")
    for name, layers, further, ratios in (
        ("43-of-43", 43, 1, [0] * 43), ("44-of-43", 43, 1, [0] * 44), ("3-of-4", 4, 0, [0, 0, 4]),
        ("44-without", 43, 0, [0] * 44),
    ):  # fmt: skip
        connection.execute(
            "INSERT OR REPLACE INTO compat_models BY NAME SELECT $1 AS model, $2 AS num_layers, 64 AS hidden_size,"
            " 4 AS num_heads, 10 AS vocab_size, $3 AS num_nextn_predict_layers, $4 AS compress_ratios",
            [name, layers, further, ratios],
        )
    lake.store.relations.renew_above(connection, "compat_models")
    assert lake.rows(
        "SELECT model, len(layer_ratios), fault FROM _compat_model_dims WHERE contains(model, '-of-')"
        " OR contains(model, '-without') ORDER BY model"
    ) == [
        ("3-of-4", 3, "3 compress ratios for 4 layers"),
        ("43-of-43", 43, None),
        ("44-of-43", 43, None),
        ("44-without", 43, "44 compress ratios for 43 layers"),
    ]
    assert lake.rows("SELECT count(*) FROM compat_model_layers WHERE model = '3-of-4'") == [(0,)]


# --- Times of kernels ------------------------------------------------------------------------------------------------

MILLISECONDS = {
    "mla": 4.922, "moe": 1.644, "allreduce": 0.769, "hadamard": 0.348, "mhc": 1.388, "gemm_fp8": 1.692,
    "gemm_bf16": 0.125, "rmsnorm": 0.227, "quant": 0.311, "rope": 0.209, "topk": 0.122, "activation": 0.071,
    "other": 0.437,
}  # fmt: skip


def test_a_layer_s_milliseconds_are_spread_over_operators_of_a_category(lake):
    request = ask(lake, model="qwen3-235b-a22b", seq_len=8192)
    insert_layer(lake, request, "kernel_ms", [(name, 1000 * ms) for name, ms in MILLISECONDS.items()])
    [(ms, mfu)] = lake.rows("SELECT measured_ms, mfu_pct FROM compat_model_mfu WHERE request = $1", [request])
    assert (ms, mfu) == (pytest.approx(1152.91, rel=1e-12), pytest.approx(33.93712048921566, rel=1e-9))
    rows = lake.rows(
        "SELECT op, round(measured_us, 1), round(mfu_pct, 1) FROM compat_operator_mfu WHERE request = $1"
        " ORDER BY op_seq",
        [request],
    )
    assert rows == [
        ("rmsnorm", 269.0, 0.0), ("q_proj", 2992.3, 31.0), ("kv_proj", 374.0, 31.0), ("attn_score", 0.7, 31.0),
        ("attn_v", 0.7, 31.0), ("o_proj", 2992.3, 31.0), ("rmsnorm", 269.0, 0.0), ("residual_add", None, None),
        ("router", 9.6, 75.6), ("topk", 0.0, 75.6), ("routed_experts_swiglu", 2763.0, 75.6),
        ("activation", 0.3, 75.6), ("residual_add", None, None),
    ]  # fmt: skip


def test_measured_time_is_that_of_the_kernels_first_then_of_a_layer(lake):
    # 1152.91 ms passed directly gives the same MFU; the kernels' sum goes before both other times.
    assert totals(lake, model="qwen3-235b-a22b", seq_len=8192, measured_ms=1152.91)[3] == pytest.approx(
        33.93712048921566, rel=1e-9
    )
    request = ask(lake, model="qwen3-235b-a22b", measured_ms=1.0, per_layer_ms=2.0)
    [(without,)] = lake.rows("SELECT measured_ms FROM compat_model_mfu WHERE request = $1", [request])
    insert_layer(lake, request, "kernel_ms", [("other", 3000)])
    [(with_kernels,)] = lake.rows("SELECT measured_ms FROM compat_model_mfu WHERE request = $1", [request])
    assert (without, with_kernels) == (2.0 * 94, 3.0 * 94)


KERNELS = [
    ("mla", 4922), ("gemm_fp8", 1000), ("moe", 1000), ("moe", 644), ("mhc_post", 700), ("mhc_pre_gemm", 688),
    ("allreduce", 769), ("gemm_fp8", 692), ("hadamard", 348), ("quant", 311), ("rmsnorm", 227), ("rope", 209),
    ("gemm_bf16", 125), ("topk", 122), ("activation", 71), ("mla_combine", 60), ("other", 437),
]  # fmt: skip


@pytest.fixture(scope="module")
def detail(lake):
    request = ask(lake, model="deepseek-v4-flash-base", seq_len=8192)
    insert_layer(lake, request, "kernel_detail", KERNELS, layer_id=3, compress_ratio=128, total_dur_us=12325)
    return request


@pytest.fixture(scope="module")
def flow(lake):
    request = ask(lake, model="deepseek-v4-flash-base", seq_len=8192)
    insert_layer(lake, request, "kernel_flow", KERNELS, layer_id=3, compress_ratio=128, total_dur_us=12325)
    return request


def test_a_summary_of_kernels_gives_each_operator_its_time(lake, detail):
    rows = lake.rows(
        "SELECT op, measured_us, round(mfu_pct, 1) FROM compat_operator_mfu WHERE request = $1 ORDER BY op_seq",
        [detail],
    )
    expected = [
        ("rmsnorm", 113.5, 0.0), ("q_lora_down", 34.616061937910374, 167.7), ("q_lora_up", 276.928495503283, 167.7),
        ("kv_compress", 17.308030968955187, 167.7), ("quant", 311, 0.0), ("rope", 209, 0.0), ("hadamard", 348, 0.9),
        ("indexer_proj", 69.23212387582075, 167.7), ("paged_mqa", 0.1352189919449624, 167.7),
        ("c4_attn", 2423.138461538462, 0.0), ("c4_attn_v", 2423.138461538462, 0.0),
        ("hca_attn_score", 37.861538461538466, 0.0), ("hca_attn_v", 37.861538461538466, 0.0),
        ("mla_cache_store", 0.0047537926855650845, 167.7), ("o_lora_down", 4.327007742238797, 167.7),
        ("o_lora_up", 34.616061937910374, 167.7), ("rmsnorm", 113.5, 0.0), ("residual_add", None, None),
        ("router", 8.654015484477593, 167.7), ("topk", 122, 0.0), ("routed_experts_swiglu", 1644, 127.1),
        ("activation", 71, 0.4), ("shared_experts_swiglu", 1246.1782297647735, 167.7), ("residual_add", None, None),
        ("mhc_post_tilelang", 700, 8.3),
    ]  # fmt: skip
    assert [(op, mfu) for op, _, mfu in rows] == [(op, mfu) for op, _, mfu in expected]
    for (op, found, _), (_, wanted, _) in zip(rows, expected, strict=True):
        assert found == (None if wanted is None else pytest.approx(wanted, rel=1e-9)), op
    [(ms, mfu)] = lake.rows("SELECT measured_ms, mfu_pct FROM compat_model_mfu WHERE request = $1", [detail])
    assert (ms, mfu) == (pytest.approx(529.975), pytest.approx(41.34154710926447, rel=1e-9))


def test_a_summary_of_kernels_loses_time(lake, detail):
    assert lake.rows(
        "SELECT sum(dur_us), sum(assigned_us), sum(overhead_us), sum(lost_us) FROM compat_category_times"
        " WHERE request = $1",
        [detail],
    ) == [(12_325, 10_246, 1_206, 873)]
    assert lake.rows(
        "SELECT category, lost_us FROM compat_category_times WHERE request = $1 AND lost_us > 0 ORDER BY position",
        [detail],
    ) == [("mhc_pre_gemm", 688), ("gemm_bf16", 125), ("mla_combine", 60)]
    # What the operators got is what was assigned.
    [(given,)] = lake.rows("SELECT sum(measured_us) FROM compat_operator_mfu WHERE request = $1", [detail])
    assert given == pytest.approx(10_246, rel=1e-12)


def test_a_category_that_comes_second_finds_its_operators_taken(lake):
    request = ask(lake, model="deepseek-v4-flash-base", seq_len=8192)
    insert_layer(lake, request, "kernel_detail", [("c128_prefill", 10), ("mla", 20), ("c4_prefill", 30)])
    assert lake.rows(
        "SELECT category, fate FROM compat_category_times WHERE request = $1 ORDER BY position", [request]
    ) == [("c128_prefill", "named"), ("mla", "named"), ("c4_prefill", "lost")]
    rows = lake.rows(
        "SELECT op, measured_us FROM compat_operator_mfu WHERE request = $1 AND measured_us > 0 ORDER BY op_seq",
        [request],
    )
    assert rows == [("c4_attn", 5), ("c4_attn_v", 5), ("hca_attn_score", 10), ("hca_attn_v", 10)]


def test_without_fp8_products_those_in_bf16_get_their_time(lake):
    request = ask(lake, model="qwen3-8b", seq_len=8192)
    insert_layer(lake, request, "kernel_detail", [("gemm_bf16", 100)])
    [(given,)] = lake.rows("SELECT sum(measured_us) FROM compat_operator_mfu WHERE request = $1", [request])
    assert given == pytest.approx(100)


def short(flop):
    """Return FLOP as the simulator's table of kernels prints them."""
    for unit, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if flop >= scale:
            return f"{flop / scale:.1f}{unit}"
    return f"{flop:.0f}"


def test_a_flow_of_kernels_keeps_every_row_in_its_order(lake, flow):
    rows = lake.rows(
        "SELECT category, dur_us, flop, theo_us, mfu_pct, is_fp8, mapped_op FROM compat_kernel_flow"
        " WHERE request = $1 ORDER BY position",
        [flow],
    )
    assert [row[:2] for row in rows] == KERNELS
    shown = [
        (category, us, short(flop), f"{theo:.1f}", f"{mfu:.1f}" + "⁸" * fp8) if flop is not None else (category, us)
        for category, us, flop, theo, mfu, fp8, _ in rows
    ]
    assert shown == [
        ("mla", 4922, "67.1M", "0.5", "0.0"), ("gemm_fp8", 1000, "170.2G", "575.0", "57.5⁸"),
        ("moe", 1000, "188.1G", "635.5", "63.5⁸"), ("moe", 644, "121.1G", "409.2", "63.5⁸"),
        ("mhc_post", 700, "8.6G", "58.0", "8.3"), ("mhc_pre_gemm", 688), ("allreduce", 769),
        ("gemm_fp8", 692, "117.8G", "397.9", "57.5⁸"), ("hadamard", 348, "469.8M", "3.2", "0.9"),
        ("quant", 311, "8.4M", "0.1", "0.0"), ("rmsnorm", 227, "3.1K", "0.0", "0.0"),
        ("rope", 209, "524.3K", "0.0", "0.0"), ("gemm_bf16", 125, "21.3G", "143.7", "115.0"),
        ("topk", 122, "1.0M", "0.0", "0.0"), ("activation", 71, "37.7M", "0.3", "0.4"), ("mla_combine", 60),
        ("other", 437),
    ]  # fmt: skip
    assert rows[0][6] == "c4_attn(49%)+c4_attn_v(49%)"
    # A flow is read when the pass has been reckoned, so it gives no overall MFU.
    assert lake.rows("SELECT measured_ms, mfu_pct FROM compat_model_mfu WHERE request = $1", [flow]) == [(None, None)]


def test_a_flow_is_held_against_the_layer_of_the_ratio_said_with_it(lake):
    request = ask(lake, model="deepseek-v4-flash-base", seq_len=8192)
    insert_layer(lake, request, "kernel_flow", [("mla", 100)])
    assert lake.rows("SELECT mapped_op FROM compat_kernel_flow WHERE request = $1", [request]) == [
        ("csa_attn_score(49%)+csa_attn_v(49%)",)
    ]
