"""How ranks share work and what they send each other: every figure by hand."""

import json
from typing import ClassVar

import pytest

from tracelake.lake import Lake

QWEN3_8B = 8_190_427_136 + 73 * 4096
"""Parameters that a training step updates: all, with the norms of layers and head, without those of q and k."""
DEGREES = ("tp", "ep", "pp", "cp", "dp", "microbatches", "virtual_stages")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with Lake(tmp_path_factory.mktemp("parallel") / "lake") as opened:
        yield opened


@pytest.fixture
def ask(lake):
    """Return what asks one question: columns of its row."""

    def ask(columns, relation="phase_roofline", where="", **work):
        lake.add_scenarios([{"scenario": "asked", "hardware": "h200", **work}])
        return lake.rows(f"SELECT {columns} FROM {relation} WHERE scenario = 'asked' {where}")[0]

    return ask


@pytest.fixture(scope="module")
def beside_nothing(lake):
    """A scenario's time, the same beside one for each degree that is nothing, and the faults of these."""
    work = {"hardware": "h200", **TestPipeline.work}
    lake.add_scenarios([{"scenario": "asked", **work}])
    times = "SELECT time_ms FROM phase_roofline WHERE scenario = 'asked'"
    alone = lake.rows(times)
    lake.add_scenarios({"scenario": f"no {degree}", **work, degree: 0} for degree in DEGREES)
    beside, faults = lake.rows(times), {degree: lake.faults(f"no {degree}") for degree in DEGREES}
    lake.rows("DELETE FROM scenarios WHERE scenario LIKE 'no %'")
    return alone, beside, faults


class TestExperts:
    """64 ranks, 8 to a node: of 63 others 56 are in other nodes, at 50 GB/s, each collective after a hop of 5 us."""

    work: ClassVar = {"phase": "prefill", "batch": 8, "seq_len": 255}

    def test_tokens_of_a_model_with_groups_go_to_few_nodes_once(self, ask):
        """DeepSeek-V3: 8 experts of at most 4 of 8 groups, a group to a node: 4 copies instead of 8."""
        sent, time = ask("net_bytes, net_ms", model="deepseek-v3", ep=64, dp=64, **self.work)
        assert sent == 20_036_782_080
        assert time == pytest.approx(sent * 56 / 63 / 2 / 50e9 * 1e3 + 58 * 2 * 5e-3)

    def test_a_group_of_two_nodes_is_twice_as_many_copies(self, ask):
        sent, time = ask("net_bytes, net_ms", model="deepseek-v3", ep=128, dp=128, **self.work)
        assert time == pytest.approx(sent * 120 / 127 / 50e9 * 1e3 + 58 * 2 * 5e-3)

    def test_tokens_of_a_model_without_groups_go_to_every_expert(self, ask):
        sent, time = ask("net_bytes, net_ms", model="qwen3-235b-a22b", ep=64, dp=64, **self.work)
        assert sent == 94 * 2040 * 8 * 4096 * (2 + 2) * 63 / 64
        assert time == pytest.approx(sent * 56 / 63 / 50e9 * 1e3 + 94 * 2 * 5e-3)

    @pytest.mark.parametrize(("model", "layers"), [("deepseek-v3", 58), ("qwen3-235b-a22b", 94)])
    def test_of_two_nodes_the_other_gets_one_copy(self, ask, model, layers):
        """16 ranks: a token has experts in both nodes, with groups or without, so that one copy leaves its own."""
        sent, time = ask("net_bytes, net_ms", model=model, ep=16, dp=16, **self.work)
        one = sent / (8 * 15 / 16)
        assert time == pytest.approx(one / 50e9 * 1e3 + layers * 2 * 5e-3)

    def test_the_busiest_rank_sends_back_more(self, ask):
        work = {"model": "qwen3-235b-a22b", "ep": 8, "dp": 8, **self.work}
        (even,), (uneven,) = (ask("net_bytes", **work, expert_imbalance=factor) for factor in (1, 1.5))
        assert (even, uneven) == (94 * 2040 * 8 * 4096 * (2 + 2) * 7 / 8, 94 * 2040 * 8 * 4096 * (2 + 3) * 7 / 8)

    def test_the_reference_s_dispatch_beyond_the_node(self, ask):
        """Section 9's W33: one byte there and back at 50 GB/s takes 237 ms, before groups; V3's take half of it."""
        work = {**self.work, "activation_dtype": "fp8", "ep": 64, "dp": 64}
        sent, time = ask("net_bytes, net_ms", model="deepseek-v3", **work)
        assert sent == 13_357_854_720
        assert 2 * (time - 58 * 2 * 5e-3) == pytest.approx(237, abs=0.5)

    def test_within_a_node_links_carry_all(self, ask):
        sent, time = ask("net_bytes, net_ms", model="deepseek-v3", ep=8, dp=8, **self.work)
        assert time == pytest.approx(sent / 450e9 * 1e3 + 58 * 2 * 0.6e-3)


class TestTensorParallelism:
    def test_an_all_reduce_has_two_hops(self, ask):
        """Two of 4096 values in BF16 a layer, and the logits gathered."""
        sent, time = ask("net_bytes, net_ms", model="llama-3-8b", phase="decode", kv_len=100, tp=4)
        logits = 128_256 * 2 * 3 / 4
        assert sent == 64 * 2 * 4096 * 2 * 3 / 4 + logits
        assert time == pytest.approx(sent / 450e9 * 1e3 + (64 * 2 + 1) * 0.6e-3)

    def test_chips_without_a_switch_have_one_link_to_another(self, ask):
        """MI300X: 7 links of 64 GB/s; two ranks use one of them, eight all."""
        work = {"model": "llama-3-8b", "phase": "decode", "kv_len": 100, "hardware": "mi300x"}
        for ranks in (2, 8):
            sent, time = ask("net_bytes, net_ms", **work, tp=ranks)
            assert time == pytest.approx(sent / ((ranks - 1) * 64e9) * 1e3 + (64 * 2 + 1) * 0.6e-3)


class TestContextParallelism:
    work: ClassVar = {"model": "llama-3-8b", "phase": "prefill", "seq_len": 8192}
    keys = 32 * 8192 * 2 * 8 * 128 * 2
    """Bytes of keys and values of all layers, BF16."""

    def test_ranks_share_tokens_and_pass_on_keys(self, ask):
        whole = "flop, weight_bytes, activation_bytes, kv_bytes"
        flop, weights, activations, cache = ask(whole, **self.work)
        rank = ask(whole + ", net_bytes, net_ms, tokens_per_s * time_ms / 1e3", **self.work, cp=8)
        # The output head runs for the last token alone, which one rank has.
        head, head_activations = 2 * 4096 * 128_256, (4096 + 128_256) * 2
        norm = 4096 * 2 * 2 * 2
        assert rank[0] == (flop - head) / 8 + head
        assert rank[1] == weights
        assert rank[2] == pytest.approx((activations - head_activations) / 8 + head_activations, abs=norm)
        assert cache == self.keys
        assert rank[3] == cache / 8
        assert rank[4] == self.keys * 7 / 8
        assert rank[5] == pytest.approx(rank[4] / 450e9 * 1e3 + 32 * 0.6e-3)
        assert rank[6] == pytest.approx(8192)

    def test_beyond_a_node_some_neighbours_have_the_network_between_them(self, ask):
        sent, time = ask("net_bytes, net_ms", **self.work, cp=16)
        assert sent == self.keys * 15 / 16
        assert time == pytest.approx(sent / 50e9 * 1e3 + 32 * 5e-3)

    def test_heads_are_shared_besides(self, ask):
        where = "AND op = 'kv_exchange'"
        assert ask("net_bytes * layers", "operators", where, **self.work, cp=4, tp=2) == (self.keys / 2 * 3 / 4,)

    def test_backward_keys_go_around_again_with_their_gradients(self, ask):
        where = "AND op = 'kv_exchange'"
        work = {**self.work, "phase": "training"}
        assert ask("net_bytes * layers", "operators", where, **work, cp=4) == (3 * self.keys * 3 / 4,)

    def test_a_window_passes_on_its_keys_alone(self, ask):
        where = "AND op = 'kv_exchange' AND layer_kind LIKE 'window%'"
        work = {"model": "gpt-oss-20b", "phase": "prefill", "seq_len": 4096, "cp": 4}
        assert ask("net_bytes", "operators", where, **work) == (128 * 2 * 8 * 64 * 2 * 3 / 4,)

    def test_latents_are_passed_on_and_expanded_by_every_rank(self, ask):
        work = {"model": "deepseek-v3", "phase": "prefill", "seq_len": 4096}
        where = "AND op = 'kv_exchange' LIMIT 1"
        assert ask("net_bytes", "operators", where, **work, cp=8) == (4096 * 576 * 2 * 7 / 8,)
        for op, shares in (("kv_b", 1), ("attn_qk", 8), ("kv_a", 8)):
            where = f"AND op = '{op}' LIMIT 1"
            alone, shared = (ask("flop_rank", "operators", where, **work, cp=cp)[0] for cp in (1, 8))
            assert shared == alone / shares, op

    def test_ranks_share_the_cache(self, ask):
        (alone,), (shared,) = (ask("kv_bytes", "memory_per_gpu", **self.work, cp=cp) for cp in (1, 8))
        assert (alone, shared) == (self.keys, self.keys / 8)

    def test_experts_meet_tokens_of_all_ranks(self, ask):
        """Ranks of a context hold different tokens, as replicas do: 8 of them with 512 are 8 replicas with 512."""
        columns = "weight_bytes, net_bytes"
        where = "AND op = 'routed_gate_up'"
        work = {"model": "qwen3-30b-a3b", "phase": "prefill", "ep": 8}
        contexts = ask(columns, "operators", where, **work, seq_len=4096, cp=8)
        assert contexts == ask(columns, "operators", where, **work, seq_len=512, dp=8)


class TestReplicas:
    work: ClassVar = {"model": "qwen3-8b", "phase": "training", "seq_len": 128, "dp": 8, "microbatches": 4}

    @pytest.mark.parametrize(
        ("stage", "weights", "gradients", "state", "sent"),
        [
            # Gradients of 4 bytes all-reduced; then scattered, and weights of 2 bytes gathered.
            (0, 1, 1, 1, (4 + 4) / 4),
            (1, 1, 1, 8, (4 + 2) / 4),
            (2, 1, 8, 8, 4 + 2 / 4),
            (3, 8, 8, 8, 4 + 2 + 2),
        ],
    )
    def test_zero_divides_what_replicas_hold(self, ask, stage, weights, gradients, state, sent):
        held = ask("weight_bytes, gradient_bytes, optimizer_bytes", "memory_per_gpu", **self.work, zero_stage=stage)
        assert held == (2 * QWEN3_8B / weights, 4 * QWEN3_8B / gradients, 12 * QWEN3_8B / state)
        net, moved = ask(
            "net_bytes, weight_bytes", "module_roofline", "AND module = 'optimizer'", **self.work, zero_stage=stage
        )
        assert net == pytest.approx(sent * QWEN3_8B * 7 / 8)
        assert moved == pytest.approx((4 + 24 + 2) * QWEN3_8B / 4 / (8 if stage else 1))

    def test_gradients_of_a_shard_have_a_network_to_themselves(self, ask):
        """Eight ranks of a node hold eight shards: each has its replica in the other node, and 50 GB/s."""
        work = {"model": "llama-3-70b", "phase": "training", "seq_len": 128, "tp": 8, "dp": 2, "hardware": "h100_sxm"}
        sent, time = ask("net_bytes, net_ms", "module_roofline", "AND module = 'optimizer'", **work)
        assert sent == pytest.approx(4 * 70.55e9 / 8, rel=0.001)
        assert time == pytest.approx(sent / 50e9 * 1e3 + 2 * 5e-3)

    def test_gradients_are_summed_up_within_nodes_first(self, ask):
        """16 replicas in two nodes: 7/8 of the gradients over the links twice, then an eighth of half over the net."""
        work = {"model": "qwen3-8b", "phase": "training", "seq_len": 128, "dp": 16}
        gradients = 4 * QWEN3_8B
        sent, time = ask("net_bytes, net_ms", "module_roofline", "AND module = 'optimizer'", **work)
        assert sent == 2 * gradients * 15 / 16
        links, network = 2 * gradients * 7 / 8 / 450e9, 2 * gradients / 8 / 2 / 50e9
        assert time == pytest.approx(max(links, network) * 1e3 + 2 * 5e-3)

    def test_experts_without_a_second_copy_are_not_summed_up(self, ask):
        work = {"model": "qwen3-30b-a3b", "phase": "training", "seq_len": 128, "dp": 8, "ep": 8}
        expert_bytes, other_bytes = ask("expert_bytes, other_weight_bytes", "memory_per_gpu", **work, zero_stage=3)
        whole_experts, whole_others = ask("expert_bytes, other_weight_bytes", "memory_per_gpu", **work)
        assert (expert_bytes, other_bytes) == (whole_experts, whole_others / 8)
        assert whole_experts == 48 * 128 / 8 * 3 * 2048 * 768 * 2
        (sent,) = ask("net_bytes", "module_roofline", "AND module = 'optimizer'", **work)
        assert sent == pytest.approx(8 * whole_others / 2 * 7 / 8)

    def test_ranks_of_a_context_are_replicas_of_the_weights(self, ask):
        work = {**self.work, "dp": 2, "cp": 4}
        assert ask("optimizer_bytes", "memory_per_gpu", **work, zero_stage=1) == (12 * QWEN3_8B / 8,)


class TestPipeline:
    work: ClassVar = {"model": "qwen3-8b", "phase": "training", "seq_len": 128, "pp": 4, "microbatches": 8}

    @pytest.mark.parametrize(("virtual_stages", "waits"), [(1, 3), (2, 1.5)])
    def test_a_stage_waits_while_the_pipeline_fills_and_empties(self, ask, virtual_stages, waits):
        work = {**self.work, "virtual_stages": virtual_stages}
        [time] = ask("time_ms", **work)
        # A microbatch of very many carries nothing of the optimizer's step.
        [slot] = ask("time_ms", **{**work, "microbatches": 2**40})
        found = ask("chips, bubble_share, step_ms, chip_tokens_per_s", **work)
        assert found[:2] == (4, pytest.approx(waits / (8 + waits)))
        assert found[2] == pytest.approx(8 * time + waits * slot)
        assert found[3] == pytest.approx(128 * 8 / found[2] * 1e3 / 4)

    def test_nobody_waits_for_what_is_done_once_a_step(self, ask):
        """Gradients of a single microbatch take longer than it does; the three waits are of microbatches alone."""
        work = {"model": "llama-3-70b", "phase": "training", "seq_len": 8192, "tp": 8, "pp": 4, "dp": 8}
        compute, net, step = ask("compute_ms, net_ms, step_ms", **work)
        assert net > 3 * compute
        assert step == pytest.approx(net + 3 * compute)
        # ZeRO 3 gathers weights and reduces gradients with each microbatch: they do wait for these.
        net, step = ask("net_ms, step_ms", **work, zero_stage=3)
        assert step == pytest.approx(4 * net)

    def test_the_last_stage_has_the_head_and_as_many_layers_as_any(self, ask):
        """36 layers in 5 stages: 8, 7, 7, 7, 7 or so; a layer is 192,937,984 weights, the head 151,936 x 4096."""
        work = {"model": "qwen3-8b", "phase": "decode", "batch": 1, "kv_len": 1023}
        table = 151_936 * 4096 * 2
        for pp, layers in ((1, 36), (4, 9), (5, 8)):
            weights, kept = ask("weight_bytes, kv_bytes", "memory_per_gpu", **work, pp=pp)
            tables = 2 if pp == 1 else 1
            assert weights == pytest.approx(layers * 192_937_984 * 2 + tables * table, rel=2e-4)  # norms besides
            assert kept == pp * layers * 2 * 8 * 128 * 2 * 1024  # a batch in every stage
            read, keys = ask("weight_bytes, kv_bytes", **work, pp=pp)
            assert read == pytest.approx(layers * 192_937_984 * 2 + table, rel=2e-4)
            assert keys == layers * 2 * 8 * 128 * 2 * 1024

    def test_the_last_stage_of_deepseek_v3_has_no_dense_layer(self, ask):
        """61 layers, the first 3 dense, in 4 stages: 16 layers with experts in the last."""
        work = {"model": "deepseek-v3", "phase": "decode", "kv_len": 9, "pp": 4}
        assert ask("expert_bytes", "memory_per_gpu", **work, weight_dtype="fp8") == (16 * 256 * 3 * 7168 * 2048,)
        assert ask("flop", "module_roofline", "AND module = 'layers.*.mlp.down_proj'", **work) == (0,)

    def test_the_last_stage_of_layers_that_take_turns_has_those_that_it_has(self, ask):
        """gpt-oss-20b: 24 layers, windowed ones first, in 5 stages: of the last five three see all 4096 keys.

        They hold these of five batches, one in every stage.
        """
        work = {"model": "gpt-oss-20b", "phase": "decode", "kv_len": 4095, "pp": 5}
        [kept] = ask("kv_bytes", "memory_per_gpu", **work)
        assert kept == 5 * (3 * 4096 + 2 * 128) * 2 * 8 * 64 * 2

    @pytest.mark.parametrize("degree", DEGREES)
    def test_a_degree_of_nothing_is_a_fault_and_no_error(self, beside_nothing, degree):
        """And the others keep their answers."""
        [(alone,)], [(beside,)], faults = beside_nothing
        assert beside == pytest.approx(alone)
        assert "a degree below 1" in faults[degree]

    def test_more_parts_send_more_often(self, ask):
        where = "AND op = 'pipeline_send'"
        sent = [ask("net_bytes", "operators", where, **self.work, virtual_stages=parts)[0] for parts in (1, 3)]
        assert sent == [2 * 128 * 4096 * 2, 3 * 2 * 128 * 4096 * 2]

    def test_other_passes_fill_the_pipeline_of_an_engine(self, ask):
        work = {"model": "qwen3-8b", "phase": "decode", "batch": 8, "kv_len": 100, "pp": 4}
        time, tokens = ask("time_ms, tokens_per_s", **work)
        found = ask("bubble_share, step_ms, chip_tokens_per_s", **work)
        assert found == (0, pytest.approx(4 * time), pytest.approx(tokens / 4))


class TestScales:
    """Quantised weights carry scales: as published, not where another type is asked for."""

    columns = "expert_bytes, other_weight_bytes"

    def test_blocks_of_128_by_128_have_four_bytes(self, ask):
        work = {"model": "deepseek-v3", "phase": "decode", "kv_len": 9}
        experts, others = ask(self.columns, "memory_per_gpu", **work)
        assert experts == 653_908_770_816 * (1 + 4 / 128**2)
        bare_experts, bare_others = ask(self.columns, "memory_per_gpu", **work, weight_dtype="fp8")
        assert bare_experts == 653_908_770_816
        assert bare_others < others < bare_others * (1 + 4 / 128**2)

    def test_blocks_of_32_have_one(self, ask):
        """gpt-oss-20b: the experts of MXFP4 alone have them."""
        work = {"model": "gpt-oss-20b", "phase": "decode", "kv_len": 9}
        experts, _ = ask(self.columns, "memory_per_gpu", **work)
        assert experts == 24 * 32 * 3 * 2880 * 2880 * (1 / 2 + 1 / 32)

    def test_experts_in_fp4_have_blocks_of_32_and_linear_layers_those_of_fp8(self, ask):
        """DeepSeek-V4-Flash: 43 layers of 256 experts of 3 x 4096 x 2048. Its base model is in FP8 throughout."""
        work = {"phase": "decode", "kv_len": 9}
        (experts, others), (base_experts, base_others) = (
            ask(self.columns, "memory_per_gpu", model=model, **work)
            for model in ("deepseek-v4-flash", "deepseek-v4-flash-base")
        )
        routed = 43 * 256 * 3 * 4096 * 2048
        assert (experts, base_experts) == (routed * (1 / 2 + 1 / 32), routed * (1 + 4 / 128**2))
        assert others == base_others

    @pytest.mark.parametrize(
        ("said", "scales"),
        [
            ({"quant_method": "fp8", "weight_block_size": [64, 32]}, 4 / 64 / 32),
            ({"quant_method": "fp8"}, None),
            ({"quant_method": "gptq", "group_size": 64}, 2.5 / 64),
            ({"quant_method": "awq"}, 2.5 / 128),
            ({"quant_method": "gptq", "group_size": -1}, 2.5 / 128),
            (
                {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"group_size": 32}}}},
                2 / 32,
            ),
            ({"quant_method": "nvfp4"}, 1 / 16),
        ],
    )
    def test_a_config_says_how_many_weights_share_one(self, lake, tmp_path, said, scales):
        config = {
            "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
            "intermediate_size": 128, "vocab_size": 100, "quantization_config": said,
        }  # fmt: skip
        path = tmp_path / "quantised.json"
        path.write_text(json.dumps(config))
        name = lake.know_model(path)
        assert lake.rows("SELECT weight_scale_bytes FROM architectures WHERE model = $1", [name]) == [(scales,)]


class TestBridges:
    """Cards of which a bridge joins two, 300 GB/s per direction: more than two send over PCIe."""

    @pytest.mark.parametrize(("card", "pcie"), [("a100_pcie_80gb", 32e9), ("h100_pcie", 64e9), ("h100_nvl", 64e9)])
    def test_four_cards_are_two_pairs(self, ask, card, pcie):
        """An all-reduce of 256 x 4096 values in BF16: half of them are summed over PCIe, there and back, in 2 hops."""
        work = {"model": "qwen3-8b", "phase": "prefill", "batch": 2, "seq_len": 128, "hardware": card}
        values, where = 256 * 4096 * 2, "AND op = 'attn_all_reduce'"
        pair, four = (ask("net_us", "operators", where, **work, tp=tp)[0] for tp in (2, 4))
        assert pair == pytest.approx(values / 300e9 * 1e6 + 2 * 0.6)
        assert four == pytest.approx(values / 2 / pcie * 1e6 + 2 * 1)


class TestUnknownLinks:
    """An L40S, whose row has no link_gbps: what is sent takes an unknown time, and never none."""

    work: ClassVar = {"model": "qwen3-8b", "phase": "prefill", "batch": 2, "seq_len": 128, "hardware": "l40s"}
    fault = "no bandwidth of the chip's links is known"

    @pytest.mark.parametrize(
        "degrees",
        [
            {"tp": 2}, {"pp": 2}, {"cp": 2}, {"model": "qwen3-30b-a3b", "ep": 2, "dp": 2},
            {"phase": "training", "dp": 2}, {"phase": "training", "dp": 2, "zero_stage": 3},
        ],
    )  # fmt: skip
    def test_what_is_sent_leaves_no_time(self, ask, lake, degrees):
        found = ask("net_ms, time_ms, serial_ms, step_ms, chip_tokens_per_s, mfu, bound", **self.work | degrees)
        assert found == (None,) * 7
        assert self.fault in lake.faults("asked")
        assert ask("sum(net_ms), sum(net_bytes) > 0", "module_roofline", **self.work | degrees) == (0, True)
        assert lake.rows("SELECT scenario FROM phase_energy WHERE scenario = 'asked'") == []

    @pytest.mark.parametrize("degrees", [{}, {"dp": 2}, {"phase": "training"}])
    def test_ranks_that_send_nothing_need_no_links(self, ask, lake, degrees):
        net, time = ask("net_ms, time_ms", **self.work | degrees)
        assert (net, self.fault in lake.faults("asked")) == (0, False)
        assert time > 0

    def test_an_operator_has_no_roof_either(self, ask):
        where = "AND op = 'attn_all_reduce'"
        assert ask("net_us, roof_us, bound", "operators", where, **self.work, tp=2) == (None, None, None)

    def test_a_chip_alone_in_its_domain_needs_the_network_beyond_it(self, ask, lake):
        """An all-reduce of two at 32 GB/s: 72 of 256 x 4096 values in BF16, each sent once, after two hops of 1 us."""
        lake.rows("INSERT INTO topologies (hardware, domain_size, scaleout_gbps, latency_us) VALUES ('l40s', 1, 32, 1)")
        try:
            where = "AND op IN ('attn_all_reduce', 'mlp_all_reduce')"
            times = ask("sum(net_us * layers)", "operators", where, **self.work, tp=2)
            assert times == (pytest.approx(72 * (256 * 4096 * 2 / 32e3 + 2)),)
            assert self.fault not in lake.faults("asked")
        finally:
            lake.rows("DELETE FROM topologies WHERE hardware = 'l40s'")
