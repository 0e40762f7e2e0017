"""What a pass should cost: sums of its modules and operators, bounds, training, memory, ranks beyond a node."""

import pytest

from tracelake.lake import Lake

MODELS = ("deepseek-v3", "deepseek-v3.2", "deepseek-v4-flash", "qwen3-235b-a22b", "qwen3-8b", "gpt-oss-120b")
SUMMED = (
    "flop", "tensor_flop", "realizable_flop", "weight_bytes", "activation_bytes", "kv_bytes", "temporary_bytes",
    "hbm_bytes", "net_bytes", "hbm_ms", "net_ms", "serial_ms",
)  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with Lake(tmp_path_factory.mktemp("phases") / "lake") as opened:
        opened.rows("SELECT count(*) FROM phase_roofline")
        opened.rows("DELETE FROM scenarios")
        opened.add_scenarios(
            {"scenario": f"{model} {phase} {execution} {tp}", "model": model, "phase": phase, "execution": execution,
             "hardware": "h200", "tp": tp, "dp": 16 // tp, "ep": 16, **work}
            for model in MODELS
            for phase, work in (
                ("decode", {"batch": 8, "kv_len": 1000}),
                ("prefill", {"batch": 2, "seq_len": 300}),
                ("training", {"batch": 2, "seq_len": 300, "microbatches": 4}),
            )
            for execution in ("naive", "efficient", "physical", "tiled")
            for tp in (1, 8)
        )  # fmt: skip
        yield opened


@pytest.fixture
def phase(lake):
    """Return what asks one question: columns of its row."""

    def phase(columns, relation="phase_roofline", **work):
        lake.add_scenarios([{"scenario": "asked", "phase": "decode", "hardware": "h200", **work}])
        return lake.rows(f"SELECT {columns} FROM {relation} WHERE scenario = 'asked'")[0]

    return phase


def test_modules_sum_to_the_pass(lake):
    sums = ", ".join(f"sum(m.{column}), any_value(p.{column})" for column in SUMMED)
    rows = lake.rows(
        f"SELECT scenario, {sums} FROM module_roofline AS m JOIN phase_roofline AS p USING (scenario) GROUP BY scenario"
    )
    assert len(rows) == len(MODELS) * 3 * 4 * 2
    for scenario, *values in rows:
        assert values[::2] == pytest.approx(values[1::2], rel=1e-9), scenario


def test_bytes_are_the_sum_of_their_kinds(lake):
    for relation in ("phase_roofline", "module_roofline"):
        assert lake.rows(
            f"SELECT scenario FROM {relation} WHERE abs(hbm_bytes - weight_bytes - activation_bytes - kv_bytes "
            "- temporary_bytes) > 1e-9 * hbm_bytes"
        ) == []  # fmt: skip


def test_the_bound_is_the_largest_time(lake):
    for relation in ("phase_roofline", "module_roofline"):
        times = "{'compute': compute_ms, 'memory': hbm_ms, 'network': net_ms}"
        query = f"SELECT bound, time_ms, serial_ms, mfu, flop, realizable_flop, {times} FROM {relation}"
        for bound, time, serial, mfu, flop, realizable, parts in lake.rows(query):
            assert parts[bound] == time == max(parts.values())
            assert serial >= time * (1 - 1e-9) or relation == "module_roofline"
            assert realizable >= flop * (1 - 1e-12)
            assert mfu <= 1 + 1e-9


def test_scores_move_only_where_attention_is_naive(lake):
    rows = lake.rows("SELECT execution, min(temporary_bytes), max(temporary_bytes) FROM phase_roofline GROUP BY ALL")
    found = {execution: (least, most) for execution, least, most in rows}
    assert found["naive"][0] > 0
    assert found["efficient"] == found["physical"] == found["tiled"] == (0, 0)


def test_naive_scores_go_four_ways(phase):
    """Written, read by the softmax, written, read by the second product: 4 x 32 heads x pairs x 2 bytes x 36 layers."""
    [moved] = phase("temporary_bytes", model="qwen3-8b", phase="prefill", seq_len=100, execution="naive")
    assert moved == 36 * 4 * 32 * 5050 * 2


def test_weights_are_never_read_less_than_once(lake):
    """However a profile is called: the weights of dense models in bytes, the head among them."""
    rows = lake.rows(
        "SELECT execution, weight_bytes FROM phase_roofline WHERE model = 'qwen3-8b' AND phase = 'decode' AND tp = 1"
    )
    products = 7_568_097_280 * 2
    assert len(rows) == 4
    assert all(products <= weight_bytes <= products * 1.001 for _, weight_bytes in rows)


def test_few_rows_use_the_matrix_units_badly(phase):
    """Eight tokens of 64 rows: shared expert, router and routed experts by harmonic weights, each at its own rows."""
    [realizable] = phase(
        "realizable_flop", "(SELECT scenario, sum(realizable_flop) AS realizable_flop FROM module_roofline "
        "WHERE category IN ('moe', 'router') OR module LIKE '%shared%' GROUP BY scenario)",
        model="deepseek-v3", batch=8, kv_len=255, execution="efficient", weight_dtype="fp8",
    )  # fmt: skip
    distinct = 256 * (1 - (1 - 8 / 256) ** 8)

    def slowed(flop, rows):
        return flop * (0.98 / (rows / 64) + 0.02 / 0.35)

    by_hand = 58 * (
        slowed(2 * 8 * 7168 * 256, 8) + slowed(6 * 8 * 7168 * 2048, 8) + slowed(6 * 64 * 7168 * 2048, 64 / distinct)
    )
    assert realizable == pytest.approx(by_hand, rel=1e-9)
    # The figure of 18.49904e12 that goes round takes the experts to be drawn one by one, with repetition.
    assert by_hand == pytest.approx(18.49904e12, rel=0.02)


@pytest.mark.parametrize(("rows", "expected"), [(64, 1), (65, 0.5078125), (128, 1), (129, 0.671875)])
def test_tiles_are_padded(lake, rows, expected):
    lake.prepare("operators")
    # 132 columns of tiles fill the 132 multiprocessors, in one wave for each row of tiles.
    [(efficiency,)] = lake.rows(f"SELECT _tile_efficiency({rows}.0, 132 * 128.0, 1, 64.0, 128.0, 132)")
    assert efficiency == pytest.approx(expected)


def test_waves_leave_multiprocessors_idle(lake):
    lake.prepare("operators")
    assert lake.rows("SELECT _tile_efficiency(64.0, 33 * 128.0, 1, 64.0, 128.0, 132)") == [(0.25,)]


def test_intensity_of_a_latent_attention_has_a_floor(phase):
    """Absorbed, each cached key is 1088 FLOP of 128 heads, twice, for 576 elements: 483.56 per byte in FP8."""
    for kv_dtype, floor in (("fp8", 2 * 128 * 1088 / 576), ("bf16", 128 * 1088 / 576)):
        found = [
            phase(
                "sum(flop) / sum(kv_bytes)", "(FROM module_roofline WHERE category = 'attention_core')",
                model="deepseek-v3", kv_len=kv_len, kv_dtype=kv_dtype,
            )[0]
            for kv_len in (10_000, 1_000_000)
        ]  # fmt: skip
        assert found[0] > found[1] > floor
        assert found[1] == pytest.approx(floor, rel=1e-5)


def test_a_training_step_moves_optimizer_and_gradients(phase):
    """By hand, one chip, one microbatch, FP8 weights: 2 reads and a gradient of 4 bytes, then 4 + 24 + 1 a step."""
    [moved] = phase(
        "sum(weight_bytes)", "module_roofline", model="qwen3-8b", phase="training", weight_dtype="fp8",
        head_dtype="fp8", activation_dtype="fp8", seq_len=64,
    )  # fmt: skip
    norms = 36 * 2 * 4096 + 4096
    products = 7_568_097_280
    embedding = 151_936 * 4096
    assert moved == (products + norms) * (2 + 4 + 29) + embedding * (4 + 29)


def test_training_costs_three_passes_and_scores_again(phase):
    work = {"model": "qwen3-8b", "seq_len": 512, "logit_rows": 512}
    core = "(SELECT scenario, sum(flop) AS flop FROM module_roofline WHERE category = 'attention_core' GROUP BY ALL)"
    forward, [all_forward] = phase("flop", core, phase="prefill", **work), phase("flop", phase="prefill", **work)
    backward, [all_training] = phase("flop", core, phase="training", **work), phase("flop", phase="training", **work)
    assert backward[0] == 3.5 * forward[0]
    assert all_training == 3 * all_forward + 0.5 * forward[0]
    [again] = phase("flop", phase="training", recompute=True, **work)
    assert again == all_training + all_forward


def test_a_pipeline_stage_has_its_layers(phase):
    whole = phase("flop", model="qwen3-8b", kv_len=100)[0]
    head = 2 * 151_936 * 4096
    stage, sent = phase("flop, net_bytes", model="qwen3-8b", kv_len=100, pp=4)
    assert stage == (whole - head) / 4 + head
    assert sent == 4096 * 2


def test_every_token_that_decode_verifies_has_logits(phase):
    head = "(SELECT flop FROM operators WHERE scenario = 'asked' AND op = 'lm_head')"
    assert phase(head, model="qwen3-8b", batch=8, seq_len=4, kv_len=100) == (2 * 32 * 151_936 * 4096,)


def test_memory_of_one_chip(phase):
    """Qwen3-8B in BF16, by hand: 8,190,735,360 parameters with the norms of layers and head, without those of q, k."""
    weights, kv, fits, most = phase(
        "weight_bytes, kv_bytes, fits, max_batch", "memory_per_gpu", model="qwen3-8b", batch=16, kv_len=4095
    )
    assert weights == 2 * (8_190_427_136 + 73 * 4096)
    one = 36 * 2 * 8 * 128 * 2 * 4096
    assert (kv, fits, most) == (16 * one, True, (141_000_000_000 - weights) // one)


@pytest.mark.parametrize(("kind", "tokens"), [("decode", 1), ("prefill", 4096)])
def test_a_stage_holds_the_caches_of_as_many_batches_as_there_are_stages(phase, kind, tokens):
    """Of its 9 layers of 36: so many sequences are under way where every stage has a batch, as tokens per s need."""
    work = {"model": "qwen3-8b", "batch": 16, "kv_len": 4096 - tokens, "seq_len": tokens, "phase": kind}
    weights, kv, fits, most = phase("weight_bytes, kv_bytes, fits, max_batch", "memory_per_gpu", **work, pp=4)
    one = 36 * 2 * 8 * 128 * 2 * 4096
    assert (kv, fits, most) == (16 * one, True, (141_000_000_000 - weights) // one)
    time, tokens_per_s, chip_tokens_per_s = phase("time_ms, tokens_per_s, chip_tokens_per_s", **work, pp=4)
    assert 4 * chip_tokens_per_s == pytest.approx(tokens_per_s) == pytest.approx(16 * tokens / time * 1e3)


def test_experts_are_shared_and_latents_are_not(phase):
    columns = "other_weight_bytes, expert_bytes, kv_bytes"
    work = {"model": "deepseek-v3", "batch": 4, "kv_len": 999, "weight_dtype": "fp8"}
    other, experts, kv = phase(columns, "memory_per_gpu", **work)
    one, shared, latent = phase(columns, "memory_per_gpu", **work, ep=64, dp=64)
    assert (one, shared, latent) == (other, experts / 64, kv)
    assert experts == 653_908_770_816
    assert phase("kv_bytes", "memory_per_gpu", **work, tp=8) == (kv,)
    assert kv == 4 * 1000 * 61 * 576 * 2


def test_a_window_holds_its_keys_alone(phase):
    """gpt-oss-20b: half of 24 layers hold 128 of 1000 keys of 8 heads of 64, twice, in 2 bytes."""
    [kv] = phase("kv_bytes", "memory_per_gpu", model="gpt-oss-20b", kv_len=999)
    assert kv == (12 * 1000 + 12 * 128) * 2 * 8 * 64 * 2


def test_an_indexer_of_compressed_keys_holds_one_for_each_ratio_of_tokens(phase):
    """DeepSeek-V4-Flash, 128 x 1024 tokens: latents of 512 in BF16, index keys of 128 in FP8.

    All 43 layers hold a window of 128, 21 one latent and one index key for 4 tokens, 20 one latent for 128.
    """
    work = {"model": "deepseek-v4-flash", "kv_len": 131_071}
    [kv] = phase("kv_bytes", "memory_per_gpu", **work)
    latents = 43 * 128 + 21 * 131_072 // 4 + 20 * 131_072 // 128
    assert kv == latents * 512 * 2 + 21 * 131_072 // 4 * 128
    stored = "(SELECT kv_bytes FROM operators WHERE scenario = 'asked' AND op = 'idx_store')"
    assert phase(stored, **work) == (128 / 4,)


def test_training_keeps_activations_and_state(phase):
    columns = "gradient_bytes, optimizer_bytes, activation_bytes, kv_bytes"
    work = {"model": "qwen3-8b", "phase": "training", "seq_len": 128}
    gradients, state, kept, kv = phase(columns, "memory_per_gpu", **work)
    parameters = 8_190_427_136 + 73 * 4096
    assert (gradients, state, kv) == (4 * parameters, 12 * parameters, 0)
    # One layer keeps, by hand and in elements of a token: two inputs of norms and two of products of 4096, queries,
    # keys, values, the attention's result, and the MLP's three widths.
    layer = 4 * 4096 + (32 + 8) * 128 + 8 * 128 + 32 * 128 + 3 * 12288
    logits = 128 * 4 * 151_936
    assert kept == 128 * 2 * (36 * layer + 2 * 4096) + logits
    # Inputs of layers, and at the head its two inputs and the logits, which are more than the rest of a layer.
    [again] = phase("activation_bytes", "memory_per_gpu", **work, recompute=True)
    assert again == 128 * 2 * (36 * 4096 + 2 * 4096) + logits
    [shared] = phase("activation_bytes", "memory_per_gpu", **work, recompute=True, tp=8)
    assert shared == 128 * 2 * (36 * 4096 + 2 * 4096) + logits / 8


def test_a_layer_that_is_computed_again_is_held_once(phase):
    """Mixtral: for two experts of a token a layer holds more than 32,000 logits and the two inputs of the head."""
    work = {"model": "mixtral-8x7b", "phase": "training", "seq_len": 128, "recompute": True}
    [kept] = phase("activation_bytes", "memory_per_gpu", **work)
    # The second norm's input, that of the queries, queries and keys, values, the attention's result, and of two experts
    # the input, both halves and the product.
    layer = 2 * 4096 + (32 + 8) * 128 + 8 * 128 + 32 * 128 + 2 * (4096 + 3 * 14_336)
    assert 2 * layer > 4 * 32_000 + 2 * 2 * 4096
    assert kept == 128 * 2 * (32 * 4096 + layer)


@pytest.mark.parametrize(
    ("microbatches", "virtual_stages", "in_flight"), [(8, 1, 4), (2, 1, 2), (8, 2, 4 + 3 / 2), (8, 3, 5), (4, 3, 4)]
)
def test_interleaved_stages_keep_more_microbatches(phase, microbatches, virtual_stages, in_flight):
    """Times 1 + (p - 1) / (p v), as Megatron; the last stage has 9 of 36 layers, and the logits of one alone."""
    work = {"model": "qwen3-8b", "phase": "training", "seq_len": 128, "pp": 4, "recompute": True}
    stages = {"microbatches": microbatches, "virtual_stages": virtual_stages}
    [kept] = phase("activation_bytes", "memory_per_gpu", **work, **stages)
    assert kept == 128 * 2 * (in_flight * 9 * 4096 + 2 * 4096) + 128 * 4 * 151_936


def test_the_head_of_multi_token_prediction_is_the_model_s(phase):
    """DeepSeek-V3 with a layer more: its weights beside the experts, eh_proj and norms, and no second head."""
    columns = "other_weight_bytes, optimizer_bytes + gradient_bytes"
    work = {"model": "deepseek-v3", "phase": "training", "seq_len": 8, "weight_dtype": "fp8", "dp": 256, "ep": 256}
    bytes_, state = phase(columns, "memory_per_gpu", **work)
    more_bytes, more_state = phase(columns, "memory_per_gpu", **work, mtp_layers=1)
    attention = 7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168
    expert, router, joined = 3 * 7168 * 2048, 7168 * 256, 2 * 7168 * 7168
    norms = 2 * 7168 + 1536 + 512
    assert more_bytes - bytes_ == attention + expert + joined + 2 * (router + norms)
    assert more_state - state == 16 * (attention + 2 * expert + joined + router + norms)
    read = "(SELECT sum(weight_bytes * layers) FROM operators WHERE scenario = 'asked' AND op = 'lm_head')"
    assert phase(read, **work | {"phase": "decode"}, mtp_layers=1)[0] == 2 * 2 * 129_280 * 7168
