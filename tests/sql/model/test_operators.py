"""What operators should cost: totals and layers worked out apart from published dimensions, shares of ranks, laws."""

import json
from itertools import pairwise

import pytest

from tracelake.engine.errors import UsageError
from tracelake.lake import Lake

#: Model: layers and head of a decode step at 4096 visible keys, layers of a prefill of 8192, attention of both.
TOTALS = {
    "qwen3-8b": (16_307_453_952, 1_244_659_712, 133_593_078_693_888, 2_415_919_104, 19_793_625_219_072),
    "qwen3-235b-a22b": (54_507_077_632, 1_244_659_712, 446_534_596_427_776, 12_616_466_432, 103_366_709_477_376),
    "minimax-m2": (25_842_155_520, 1_229_193_216, 211_705_179_144_192, 6_241_124_352, 51_133_531_815_936),
    "deepseek-v3": (140_987_727_872, 1_853_358_080, 752_570_679_164_928, 69_591_891_968, 167_695_991_439_360),
    "deepseek-v3.2": (111_988_441_088, 1_853_358_080, 705_728_171_999_232, 34_795_945_984, 73_363_158_466_560),
    "kimi-k2": (95_819_268_096, 2_348_810_240, 583_751_050_461_184, 34_795_945_984, 83_847_995_719_680),
    "glm-5": (104_624_553_984, 1_903_165_440, 749_889_814_265_856, 22_246_588_416, 75_046_903_087_104),
    "deepseek-v4-flash": (28_044_296_192, 1_059_061_760, 228_237_271_629_824, 2_214_592_512, 16_641_043_726_336),
}
#: Model, kind of layer: FLOP of operators in decode and in prefill, None where the form lacks the operator.
LAYERS = {
    ("qwen3-235b-a22b", "gqa+moe"): {
        "q_proj": (67_108_864, 549_755_813_888), "k_proj": (4_194_304, 34_359_738_368),
        "v_proj": (4_194_304, 34_359_738_368), "attn_qk": (67_108_864, 549_822_922_752),
        "attn_pv": (67_108_864, 549_822_922_752), "o_proj": (67_108_864, 549_755_813_888),
        "router": (1_048_576, 8_589_934_592), "": (579_862_528, 4_750_368_047_104),
    },
    ("deepseek-v3", "mla+moe"): {
        "q_a": (22_020_096, 180_388_626_432), "q_b": (75_497_472, 618_475_290_624),
        "kv_a": (8_257_536, 67_645_734_912), "q_absorb": (16_777_216, None), "v_up": (16_777_216, None),
        "kv_b": (None, 274_877_906_944), "attn_qk": (603_979_776, 1_649_468_768_256),
        "attn_pv": (536_870_912, 1_099_645_845_504), "o_proj": (234_881_024, 1_924_145_348_608),
        "router": (3_670_016, 30_064_771_072), "": (2_311_454_720, 12_338_702_843_904),
    },
    ("deepseek-v3", "mla+dense"): {"": (2_307_784_704, 12_308_638_072_832)},
    ("glm-5", "dsa+moe"): {
        "idx_wq_b": (16_777_216, 137_438_953_472), "idx_wk": (1_572_864, 12_884_901_888),
        "idx_weights": (393_216, 3_221_225_472), "idx_score": (33_554_432, 274_911_461_376),
        "attn_qk": (150_994_944, 481_069_891_584), "attn_pv": (134_217_728, 481_069_891_584),
        "o_proj": (201_326_592, 1_649_267_441_664), "": (1_350_172_672, 9_686_325_657_600),
    },
    ("deepseek-v4-flash", "v4_window+moe"): {"": (586_678_272, 4_805_003_051_008)},
    ("deepseek-v4-flash", "v4_dense+moe"): {
        "mhc_pre_attn": (786_432, None), "compressor": (8_388_608, None), "attn_qk": (10_485_760, None),
        "": (599_261_184, 4_907_553_783_808),
    },
    ("deepseek-v4-flash", "v4_top+moe"): {
        "compressor": (16_777_216, None), "idx_weights": (524_288, None), "idx_compressor": (4_194_304, None),
        "idx_score": (16_777_216, None), "attn_pv": (41_943_040, None), "wo_a": (67_108_864, None),
        "wo_b": (67_108_864, None), "": (708_837_376, 5_736_910_290_944),
    },
}  # fmt: skip
CORE = "op IN ('attn_qk', 'attn_pv')"
ONE_BYTE = {"weight_dtype": "fp8", "activation_dtype": "fp8", "kv_dtype": "fp8", "head_dtype": "fp8"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with Lake(tmp_path_factory.mktemp("operators") / "lake") as opened:
        opened.add_scenarios(
            {"scenario": f"{model} {phase}", "model": model, "phase": phase, **work}
            for model in TOTALS
            for phase, work in (("decode", {"kv_len": 4095}), ("prefill", {"seq_len": 8192}))
        )
        yield opened


@pytest.fixture
def cost(lake):
    """Return what asks one question: sums over operators of a scenario with the columns given."""

    def cost(measures, condition="true", **work):
        lake.add_scenarios([{"scenario": "asked", "phase": "decode", **work}])
        return lake.rows(f"SELECT {measures} FROM operators WHERE scenario = 'asked' AND {condition}")[0]

    return cost


@pytest.mark.parametrize("model", TOTALS)
def test_whole_models(lake, model):
    decode, head, prefill, decode_core, prefill_core = TOTALS[model]
    sums = f"sum(layers * flop) FILTER (op <> 'lm_head'), sum(layers * flop) FILTER ({CORE})"
    query = f"SELECT {sums}, sum(flop) FILTER (op = 'lm_head') FROM operators WHERE scenario = $1"
    assert lake.rows(query, [f"{model} decode"]) == [(decode, decode_core, head)]
    assert lake.rows(query, [f"{model} prefill"]) == [(prefill, prefill_core, head)]


@pytest.mark.parametrize(("model", "kind"), LAYERS)
def test_one_layer(lake, model, kind):
    found = {}
    for phase in ("decode", "prefill"):
        query = "SELECT op, sum(flop) FROM operators WHERE scenario = $1 AND layer_kind = $2 GROUP BY ROLLUP (op)"
        found[phase] = {op or "": flop for op, flop in lake.rows(query, [f"{model} {phase}", kind])}
    for op, (decode, prefill) in LAYERS[model, kind].items():
        assert decode is None or found["decode"][op] == decode, op
        assert prefill is None or found["prefill"][op] == prefill, op


def test_a_prefill_of_equal_prompts(cost):
    """15 prompts of 1024 tokens through Qwen3-8B, by hand: 15360 tokens x 4096 x 6144 x 2 for queries, keys, values."""
    work = {"model": "qwen3-8b", "phase": "prefill", "batch": 15, "seq_len": 1024}
    assert cost("sum(flop)", "fused_op = 'qkv_proj'", **work) == (773_094_113_280,)
    assert cost("sum(flop)", "op = 'gate_up_proj'", **work) == (3_092_376_453_120,)
    assert cost("sum(flop)", CORE, **work) == (128_974_848_000,)
    assert cost("max(pairs)", CORE, **work) == (15 * 1024 * 1025 // 2,)
    assert cost("sum(flop)", "op = 'lm_head'", **work) == (18_669_895_680,)


def test_requests_of_different_lengths(cost):
    """Two prompts of 3 and 1 tokens after 5 and no cached ones: 5 + 6 + 7 + 8 - 5 ... counted one by one."""
    requests = [
        {"requests": 1, "new_tokens": 3, "cached_tokens": 5},
        {"requests": 2, "new_tokens": 1, "cached_tokens": 0},
    ]
    work = {"model": "qwen3-8b", "phase": "prefill", "requests": requests}
    # The three new tokens see 6, 7 and 8 keys; the two others one each.
    assert cost("max(pairs)", CORE, **work) == (6 + 7 + 8 + 1 + 1,)
    assert cost("max(m)", "op = 'q_proj'", **work) == (5,)
    assert cost("max(m)", "op = 'lm_head'", **work) == (3,)
    # 5 cached and 5 new keys and values of 8 heads of 128, in 2 bytes.
    assert cost("sum(kv_bytes)", "layer_kind = 'gqa+dense'", **work) == (10 * 2 * 8 * 128 * 2,)


@pytest.mark.parametrize(("q", "c"), [(1, 0), (1, 7), (5, 0), (9, 3), (3, 200), (300, 5)])
@pytest.mark.parametrize("kind", ["window", "dsa", "v4_window", "v4_dense", "v4_top", "gqa"])
def test_pairs_are_counted_like_one_by_one(lake, q, c, kind):
    window, ratio, top = 16, 4, 5

    def seen(position):
        windowed = min(position, window)
        return {
            "gqa": position,
            "window": windowed,
            "dsa": min(position, top),
            "v4_window": windowed,
            "v4_dense": windowed + position // ratio,
            "v4_top": windowed + min(top, position // ratio),
        }[kind]

    expected = sum(seen(position) for position in range(c + 1, c + q + 1))
    lake.prepare("operators")
    assert lake.rows(f"SELECT _request_pairs('{kind}', {q}, {c}, {window}, {ratio}, {top})") == [(expected,)]


@pytest.mark.parametrize("tokens", [1, 2, 9, 17, 300])
@pytest.mark.parametrize(("kind", "reach"), [("window", 8), ("gqa", 300)])
def test_an_encoder_s_queries_see_both_ways(lake, tokens, kind, reach):
    """A window of 16 is 8 keys on either side."""
    expected = sum(abs(query - key) <= reach for query in range(tokens) for key in range(tokens))
    lake.prepare("operators")
    assert lake.rows(f"SELECT _request_pairs('{kind} both ways', {tokens}, 0, 16, NULL, NULL)") == [(expected,)]


def test_encoders_attend_to_all_tokens_and_keep_no_cache(lake, tmp_path):
    """ModernBERT-large: 10 of 28 layers see all 8192 tokens, 18 of them 64 on either side; BERT-large sees all 512."""
    sizes = {"hidden_size": 1024, "num_attention_heads": 16, "vocab_size": 50368}
    configs = {
        "modernbert": {"num_hidden_layers": 28, "intermediate_size": 2624, "global_attn_every_n_layers": 3,
                       "local_attention": 128, "max_position_embeddings": 8192},
        "bert": {"num_hidden_layers": 24, "intermediate_size": 4096, "max_position_embeddings": 512},
    }  # fmt: skip

    def pairs(kind, tokens, **more):
        path = tmp_path / kind / "config.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(sizes | configs[kind] | {"model_type": kind} | more))
        lake.ask(path, name=kind, seq_len=tokens)
        query = "SELECT layer_kind, layers, pairs FROM operators WHERE scenario = $1 AND op = 'attn_qk' ORDER BY ALL"
        return lake.rows(query, [kind])

    far = 8192 * 129 - 64 * 65
    assert pairs("modernbert", 8192) == [("gqa+dense", 10, 8192 * 8192), ("window+dense", 18, far)]
    assert pairs("bert", 512) == [("gqa+dense", 24, 512 * 512)]
    assert lake.rows("SELECT kv_bytes FROM memory_per_gpu WHERE scenario = 'bert'") == [(0,)]
    assert lake.faults(lake.ask(tmp_path / "bert" / "config.json", kv_len=5)) == [
        "an encoder has no cache to decode with"
    ]
    assert pairs("bert", 512, is_decoder=True) == [("gqa+dense", 24, 512 * 513 // 2)]


def test_an_attention_may_have_a_gate(lake, tmp_path):
    """AFMoE: a product as wide as the queries and its sigmoid times what the heads yield, cut like these."""
    path = tmp_path / "gated" / "config.json"
    path.parent.mkdir()
    config = {"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 4,
              "num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 128, "vocab_size": 1000,
              "layer_types": ["sliding_attention", "full_attention"] * 2, "sliding_window": 8}  # fmt: skip
    products = {}
    for kind in ("llama", "afmoe"):
        path.write_text(json.dumps(config | {"model_type": kind}))
        lake.ask(path, name=kind, phase="prefill", batch=1, seq_len=10, tp=2)
        products[kind] = lake.rows(
            "SELECT op, layers, flop, flop_rank, weight_bytes, vector_flop FROM operators "
            "WHERE scenario = $1 AND (op LIKE 'attn_gate%' OR op = 'q_proj') ORDER BY ALL",
            [kind],
        )
    width, flop = 4 * 32, 2 * 10 * 64 * 4 * 32
    query = ("q_proj", 2, flop, flop / 2, 64 * width * 2 / 2, 0)
    gate = [("attn_gate", *query[1:]), ("attn_gate_mul", 2, 0, 0, 0, 5 * 10 * width)]
    assert products == {"llama": [query, query], "afmoe": [gate[0], gate[0], gate[1], gate[1], query, query]}


RANKS = [
    # Qwen3-235B on eight ranks, one request: a rank meets one of its sixteen experts, holds one head of keys.
    (
        {"model": "qwen3-235b-a22b", "batch": 1, "kv_len": 4095, "tp": 8, "ep": 8},
        7_153_778_688, 5_421_137_920, 155_582_464, 197_132_288,
    ),
    (
        {"model": "qwen3-235b-a22b", "batch": 128, "kv_len": 4095, "tp": 8, "ep": 8},
        915_683_672_064, 58_632_184_210, 155_582_464, 25_232_932_864,
    ),
    # DeepSeek-V3: the latent cache is on every rank. With the head in the weights and no scales, as the figure has it.
    (
        {"model": "deepseek-v3", "batch": 128, "kv_len": 4095, "tp": 8, "ep": 8, "weight_dtype": "fp8"},
        2_516_154_580_992, 83_481_249_916 - 231_669_760, 231_669_760, 36_842_766_336,
    ),
    # The same with data-parallel attention: attention, dense and shared weights on every rank.
    (
        {"model": "deepseek-v3", "batch": 16, "kv_len": 4095, "dp": 8, "ep": 8, "head_tp": 8, "weight_dtype": "fp8"},
        2_285_457_375_232, 95_935_449_212 - 231_669_760, 231_669_760, 4_605_345_792,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("work", "flop", "weights", "head", "kv"), RANKS)
def test_what_one_rank_does(cost, work, flop, weights, head, kv):
    measures = (
        "sum(layers * flop_rank), sum(layers * weight_bytes) FILTER (category NOT IN ('norm', 'head')), "
        "sum(weight_bytes) FILTER (category = 'head'), sum(layers * kv_bytes)"
    )
    found = cost(measures, **work)
    assert found[0] == flop
    assert found[1] == pytest.approx(weights, abs=1)
    assert found[2:] == (head, kv)


def test_deepseek_decode_and_prefill_at_several_lengths(cost):
    work = {"model": "deepseek-v3", "batch": 8, **ONE_BYTE}
    for kv_len, flop in (
        (255, 620_789_497_856), (4096, 1_142_864_609_280), (16384, 2_813_070_016_512), (131072, 18_401_653_817_344),
    ):  # fmt: skip
        assert cost("sum(layers * flop)", kv_len=kv_len, **work) == (flop,)
    for seq_len, flop in ((255, 146_967_180_083_200), (4096, 2_674_946_497_052_672), (32768, 40_179_126_790_782_976)):
        assert cost("sum(layers * flop)", phase="prefill", seq_len=seq_len, **work) == (flop,)


def test_weights_are_read_once_and_keys_once(cost):
    """64 ranks with 4 of 256 experts each: the norms between layers left out, as the figure has it."""
    work = {"model": "deepseek-v3", "batch": 8, "kv_len": 4096, "ep": 64, "dp": 64, **ONE_BYTE}
    weights, kv = cost(
        "sum(layers * weight_bytes) FILTER (op NOT IN ('input_norm', 'post_norm', 'final_norm')), "
        "sum(layers * kv_bytes)",
        **work,
    )
    assert weights == pytest.approx(26_407_396_485, abs=1)
    assert kv == 1_151_617_536


@pytest.mark.parametrize(
    ("ep", "dp", "batch", "expected"),
    [(1, 1, 1, 8), (1, 1, 8, 57.42083), (1, 1, 128, 251.6011), (64, 64, 1, 3.475664), (64, 64, 8, 3.9999997)],
)
def test_distinct_experts_of_a_rank(cost, ep, dp, batch, expected):
    [weights] = cost(
        "sum(weight_bytes)", "op = 'routed_down'", model="deepseek-v3", batch=batch, ep=ep, dp=dp, **ONE_BYTE
    )
    assert weights / (7168 * 2048) == pytest.approx(expected, rel=1e-6)


def test_llama_in_prefill_and_decode(cost):
    work = {"model": "llama-3-8b", "batch": 8}
    assert cost("sum(layers * flop)", phase="prefill", seq_len=2048, **work) == (237_507_211_952_128,)
    assert cost("sum(layers * flop)", phase="prefill", seq_len=2048, logit_rows=8 * 2048, **work) == (
        254_713_035_489_280,
    )
    assert cost("sum(layers * kv_bytes)", kv_len=2048, **work) == (2_148_532_224,)


def test_tokens_travel_to_their_experts_and_back(cost):
    """DeepSeek-V3 on 64 ranks, 2040 tokens each: 8 copies of 7168, 1 byte there and 2 back, to 63 of 64 ranks."""
    work = {"model": "deepseek-v3", "phase": "prefill", "batch": 8, "seq_len": 255, "ep": 64, "dp": 64}
    assert cost("sum(layers * net_bytes)", **work) == (20_036_782_080,)
    assert cost("count(*)", "category = 'network'", **{**work, "ep": 1, "dp": 1}) == (0,)


def test_tensor_parallel_ranks_add_up_what_they_have(cost):
    """Two all-reduces a layer, each rank sends 2 x 7/8 of 15360 tokens x 4096 x 2 bytes; and gathers of logits."""
    work = {"model": "qwen3-8b", "phase": "prefill", "batch": 15, "seq_len": 1024, "tp": 8, "hardware": "h100_sxm"}
    [sent] = cost("sum(layers * net_bytes)", "op LIKE '%all_reduce'", **work)
    assert sent == 2 * 36 * 2 * 7 / 8 * 15360 * 4096 * 2
    [time] = cost("max(net_us)", "op LIKE '%all_reduce'", **work)
    assert time == pytest.approx(2 * 7 / 8 * 15360 * 4096 * 2 / 450e9 * 1e6 + 2 * 0.6)


@pytest.mark.parametrize("model", TOTALS)
def test_shards_sum_to_the_whole_and_the_copies(lake, model):
    """What eight ranks do together is the operator, eight times where it is replicated, and copies of few heads."""
    lake.add_scenarios([{"scenario": "sharded", "model": model, "phase": "decode", "kv_len": 4095, "tp": 8, "ep": 8}])
    rows = lake.rows(
        "SELECT op, split_rule, flop, 8 * flop_rank, num_kv_heads FROM operators JOIN architectures USING (model) "
        "WHERE scenario = 'sharded' AND flop > 0"
    )
    assert rows
    for op, rule, flop, together, kv_heads in rows:
        copies = {"replicated": 8, "kv_heads": max(8 / kv_heads, 1)}.get(rule, 1)
        assert together == pytest.approx(copies * flop, rel=1e-12), op


@pytest.mark.parametrize("model", TOTALS)
def test_tokens_one_by_one_cost_what_they_cost_together(lake, model):
    """GEMM FLOP of nine tokens decoded after each other are those of a prefill of nine, and so are their pairs."""
    at_once = {"phase": "prefill", "seq_len": 9, "mla_mode": "absorbed", "logit_rows": 9}
    lake.add_scenarios(
        [{"scenario": "together", "model": model, **at_once}]
        + [{"scenario": f"one {n}", "model": model, "phase": "decode", "kv_len": n} for n in range(9)]
    )
    query = "SELECT layer_kind, op, sum(flop) FROM operators WHERE scenario LIKE $1 GROUP BY ALL ORDER BY ALL"
    assert lake.rows(query, ["together"]) == lake.rows(query, ["one %"])


@pytest.mark.parametrize("model", TOTALS)
@pytest.mark.parametrize("knob", ["batch", "seq_len", "kv_len"])
def test_more_work_never_costs_less(lake, model, knob):
    work = {"model": model, "phase": "prefill", "mla_mode": "expanded", "hardware": "h200"}
    lake.add_scenarios({"scenario": f"more {size}", **work, knob: size} for size in (1, 2, 7, 64, 1000))
    totals = lake.rows(
        "SELECT sum(layers * flop), sum(layers * (weight_bytes + activation_bytes + kv_bytes)), "
        "sum(layers * vector_flop), sum(layers * roof_us) FROM operators WHERE scenario LIKE 'more %' "
        "GROUP BY scenario ORDER BY CAST(split_part(scenario, ' ', 2) AS BIGINT)"
    )
    for less, more in pairwise(totals):
        assert all(a <= b for a, b in zip(less, more, strict=True))


def test_times_are_work_over_rates(lake):
    """One product by hand: 32 tokens x 7168 x 1536 in FP8 on an H200, 1979 TFLOP/s and 4800 GB/s."""
    lake.add_scenarios([{"scenario": "t", "model": "deepseek-v3", "phase": "decode", "batch": 32, "hardware": "h200"}])
    [row] = lake.rows(
        "SELECT flop_us, hbm_us, bound, dtype, peak_tflops, intensity, n_rank, k_rank FROM operators "
        "WHERE scenario = 't' AND op = 'q_a' AND layer_kind = 'mla+moe'"
    )
    flop, moved = 2 * 32 * 7168 * 1536, 7168 * 1536 * (1 + 4 / 128**2) + 2 * 32 * (7168 + 1536)
    assert row == (
        pytest.approx(flop / 1979e6), pytest.approx(moved / 4800e3), "memory", "fp8", 1979,
        pytest.approx(flop / moved), 1536, 7168,
    )  # fmt: skip


def test_a_chip_without_a_type_computes_in_that_of_the_activations(lake):
    lake.add_scenarios([{"scenario": "a", "model": "deepseek-v3", "phase": "decode", "hardware": "a100_sxm_80gb"}])
    rows = lake.rows("SELECT DISTINCT dtype, peak_tflops FROM operators WHERE scenario = 'a' AND op = 'q_a'")
    assert rows == [("bf16", 312)]


def test_layers_of_multi_token_prediction_are_one_more_layer_and_a_head(cost):
    plain = cost("sum(layers * flop)", model="deepseek-v3", kv_len=4095)[0]
    layer = 2_311_454_720
    more = cost("sum(layers * flop)", model="deepseek-v3", kv_len=4095, mtp_layers=1)[0]
    assert more - plain == layer + 2 * 7168 * 14336 + 1_853_358_080


def test_products_compute_in_the_wider_type_but_for_weights_made_for_fp8(lake):
    """Activations become FP8 on the way to FP8 weights; other narrow types are widened, of weights and activations."""
    cases = [
        ("fp8", "bf16", "fp8"), ("bf16", "fp8", "bf16"), ("int4", "bf16", "bf16"), ("bf16", "bf16", "bf16"),
        ("fp8", "fp8", "fp8"), ("int8", "fp16", "fp16"),
    ]  # fmt: skip
    for weights, activations, computed in cases:
        lake.ask("qwen3-8b", name="typed", weight_dtype=weights, activation_dtype=activations)
        query = "SELECT dtype FROM operators WHERE scenario = 'typed' AND op = 'gate_up_proj'"
        assert lake.rows(query) == [(computed,)], (weights, activations)


def test_an_activation_on_the_chip_leaves_half_of_its_input_there(lake):
    """Qwen3-8B, 64 tokens in BF16: a product that activates writes 12288 values, one that does not twice as many."""
    for execution, written in (("physical", 12288), ("naive", 2 * 12288)):
        lake.ask("qwen3-8b", name="fused", seq_len=64, execution=execution)
        query = "SELECT activation_bytes FROM operators WHERE scenario = 'fused' AND op = 'gate_up_proj'"
        assert lake.rows(query) == [(64 * (4096 + written) * 2,)]


@pytest.mark.parametrize("column", ["weight_dtype", "activation_dtype", "kv_dtype", "gemm_dtype", "head_dtype"])
def test_a_type_that_there_is_not_is_refused(lake, column):
    with pytest.raises(UsageError, match=f"{column}=fp3: unknown. Near: .*fp"):
        lake.ask("qwen3-8b", **{column: "fp3"})
    lake.ask("qwen3-8b", name="spelled", **{column: "BFloat16"})
    assert lake.rows(f"SELECT {column} FROM scenarios WHERE scenario = 'spelled'") == [("bf16",)]


def test_replicas_follow_from_the_experts(lake):
    """Thirty-two ranks share experts, four to a replica: eight replicas."""
    name = lake.ask("deepseek-v3", "h200", ep=32, tp=4)
    assert lake.rows("SELECT dp, phase FROM scenarios WHERE scenario = $1", [name]) == [(8, "decode")]
    assert lake.faults(name) == []
    assert lake.faults(lake.ask("deepseek-v3", "h200", ep=7)) == ["ep does not divide the experts"]
    assert lake.faults(lake.ask("deepseek-v3", "h200")) == ["does not fit the memory"]
