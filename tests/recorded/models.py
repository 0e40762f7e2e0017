"""Forward passes, decodes and training of models of known size."""

import json
from collections.abc import Callable

import torch
from torch.profiler import profile, record_function, schedule

from .recorder import (
    ACTIVITIES,
    DEVICE,
    TINY,
    built,
    flop,
    llama,
    part,
    prefill_decode,
    recorded,
    save,
    seconds,
    sync,
    tokens,
)


@part
def llama_prefill() -> None:
    """Four eager prefills of 2 x 1024 tokens; the same once more with stacks and modules."""
    model, facts = llama()
    given = tokens(model, 2, 64 if TINY else 1024)
    with torch.no_grad():

        def run() -> None:
            model(given, use_cache=False)

        run()
        facts |= {
            "flop_pass": flop(run),
            "seconds_pass": seconds(run),
            "batch": 2,
            "length": given.shape[1],
            "passes": 4,
        }
        with recorded("llama_prefill", dict(facts)):
            for _ in range(4):
                run()
        with recorded("llama_prefill_modules", facts | {"passes": 2}, with_stack=True, with_modules=True):
            for _ in range(2):
                run()


@part
def llama_decode() -> None:
    """A prefill of 8 x 512 tokens and 6 decode steps, eager."""
    model, facts = llama()
    prefill_decode("llama_decode", model, facts, 8, 16 if TINY else 512, 6)


@part
def llama_eager() -> None:
    """The same with attention as products and a softmax, 4 layers."""
    model, facts = llama(attention="eager", num_hidden_layers=2 if TINY else 4)
    prefill_decode("llama_eager", model, facts, 4, 16 if TINY else 512, 4)


@part
def llama_generate() -> None:
    """`generate` as people call it: a prompt of 128 tokens, 6 new ones, greedy, with stacks."""
    model, facts = llama(num_hidden_layers=2 if TINY else 4)
    given = tokens(model, 1, 128)

    def run() -> None:
        model.generate(given, attention_mask=torch.ones_like(given), max_new_tokens=6, do_sample=False, pad_token_id=0)

    run()
    with recorded("llama_generate", facts | {"batch": 1, "length": 128, "passes": 6}, with_stack=True):
        run()


@part
def gpt2() -> None:
    """An older architecture: LayerNorm, one product for queries, keys and values, learned positions."""
    model, facts = built("gpt2", n_embd=1024, n_layer=6, n_head=16) if not TINY else built("gpt2", n_layer=2)
    prefill_decode("gpt2", model, facts, 4, 256, 4)


@part
def llama_graph() -> None:
    """A decode step captured as CUDA graph, under the profiler; then 6 replays under another."""
    from transformers import StaticCache

    model, facts = llama()
    batch, length = 8, 512
    cache = StaticCache(config=model.config, max_cache_len=1024)
    given = tokens(model, batch, length)
    with torch.no_grad():
        model(given, past_key_values=cache, use_cache=True)
        one = tokens(model, batch, 1)
        position = torch.full((batch, 1), length, device=DEVICE)

        def step() -> torch.Tensor:
            return model(one, past_key_values=cache, position_ids=position, use_cache=True).logits

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        facts |= {"flop_pass": flop(step), "seconds_eager": seconds(step), "batch": batch, "cache": 1024}
        graph = torch.cuda.CUDAGraph()
        with recorded("llama_graph_capture", dict(facts)), torch.cuda.graph(graph):
            step()
        graph.replay()
        sync()
        with recorded("llama_graph_replay", facts | {"passes": 6, "seconds_pass": seconds(graph.replay)}):
            for number in range(6):
                with record_function(f"decode_{number}"):
                    graph.replay()
                sync()


def training(name: str, steps: int, model: torch.nn.Module, facts: dict) -> None:
    """Record steps of training: forward, backward, AdamW."""
    model.train().requires_grad_(True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=DEVICE == "cuda")
    given = tokens(model, 2, 64 if TINY else 1024)

    def run() -> None:
        loss = model(given, labels=given, use_cache=False).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(2):
        run()
    facts |= {
        "flop_step": flop(run) if name != "llama_compiled_train" else None,
        "seconds_step": seconds(run),
        "batch": 2,
        "length": given.shape[1],
        "steps": steps,
    }
    record_steps(name, steps, run, facts)


def record_steps(name: str, steps: int, run: Callable[[], None], facts: dict) -> None:
    """Record steps of training, each of the profiler's schedule."""
    sync()
    plan = schedule(wait=0, warmup=1, active=steps)
    with profile(
        activities=ACTIVITIES, record_shapes=True, schedule=plan, on_trace_ready=lambda done: save(done, name, **facts)
    ) as profiler:
        for _ in range(steps + 1):
            run()
            sync()
            profiler.step()


@part
def llama_train() -> None:
    """Three steps of training."""
    training("llama_train", 3, *llama())


@part
def llama_train_checkpointed() -> None:
    """Two steps of training that computes activations again."""
    model, facts = llama(num_hidden_layers=2 if TINY else 4)
    model.gradient_checkpointing_enable()
    training("llama_train_checkpointed", 2, model, facts)


@part
def bert_train() -> None:
    """Two steps of training an encoder of 4 layers on 16 x 128 tokens, gradients clipped."""
    from transformers import AutoConfig, AutoModelForMaskedLM

    sizes = {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 2048}
    config = AutoConfig.for_model("bert", **sizes)
    model = AutoModelForMaskedLM.from_config(config, dtype=torch.bfloat16).to(DEVICE).train()
    optimizer = torch.optim.AdamW(model.parameters())
    given = tokens(model, 16, 128)

    def run() -> None:
        model(given, labels=given).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    run()
    facts = {"steps": 2, "seconds_step": seconds(run), "flop_step": flop(run)}
    record_steps("bert_train", 2, run, facts)


@part
def llama_compiled() -> None:
    """Three prefills of 2 x 1024 tokens by torch.compile."""
    model, facts = llama()
    given = tokens(model, 2, 1024)
    with torch.no_grad():
        facts |= {"flop_pass": flop(lambda: model(given, use_cache=False)), "batch": 2, "length": 1024, "passes": 3}
        compiled = torch.compile(model)

        def run() -> None:
            compiled(given, use_cache=False)

        for _ in range(3):
            run()
        facts |= {"seconds_pass": seconds(run)}
        with recorded("llama_compiled", facts):
            for _ in range(3):
                run()


@part
def llama_autotuned() -> None:
    """Three prefills of 2 x 512 tokens by torch.compile with its own templates of products, 3 layers."""
    import torch._inductor.config as inductor

    model, facts = llama(num_hidden_layers=3)
    given = tokens(model, 2, 512)
    backends, inductor.max_autotune_gemm_backends = inductor.max_autotune_gemm_backends, "TRITON"
    with torch.no_grad():
        facts |= {"flop_pass": flop(lambda: model(given, use_cache=False)), "passes": 3}
        compiled = torch.compile(model, mode="max-autotune-no-cudagraphs")

        def run() -> None:
            compiled(given, use_cache=False)

        for _ in range(3):
            run()
        with recorded("llama_autotuned", facts):
            for _ in range(3):
                run()
    inductor.max_autotune_gemm_backends = backends


@part
def llama_reduced_overhead() -> None:
    """Three prefills of 2 x 512 tokens by torch.compile with CUDA graphs, 4 layers."""
    model, facts = llama(num_hidden_layers=4)
    given = tokens(model, 2, 512)
    with torch.no_grad():
        compiled = torch.compile(model, mode="reduce-overhead")

        def run() -> None:
            compiled(given, use_cache=False)

        for _ in range(4):
            run()
        with recorded("llama_reduced_overhead", facts | {"seconds_pass": seconds(run), "passes": 3}):
            for _ in range(3):
                run()


@part
def llama_compiled_train() -> None:
    """Two steps of training by torch.compile, 3 layers."""
    model, facts = llama(num_hidden_layers=3)
    model.forward = torch.compile(model.forward)
    training("llama_compiled_train", 2, model, facts)


def others() -> dict[str, dict]:
    """Other architectures, each with what differs from its default."""
    small = {
        "hidden_size": 64 if TINY else 1024,
        "intermediate_size": 128 if TINY else 2816,
        "num_attention_heads": 4 if TINY else 16,
        "num_key_value_heads": 2 if TINY else 4,
        "head_dim": 16 if TINY else 64,
        "vocab_size": 512 if TINY else 32000,
    }
    experts = {"moe_intermediate_size": 64 if TINY else 704, "num_experts_per_tok": 4}
    return {
        "qwen3_moe": small | experts | {"num_hidden_layers": 6, "num_experts": 16, "decoder_sparse_step": 1},
        "mixtral": small | {"num_hidden_layers": 4, "num_local_experts": 8, "num_experts_per_tok": 2},
        "deepseek_v3": {k: v for k, v in small.items() if k != "head_dim"}
        | experts
        | {"num_hidden_layers": 5, "first_k_dense_replace": 1, "n_routed_experts": 16, "n_group": 1, "topk_group": 1}
        | {"q_lora_rank": 384, "kv_lora_rank": 128, "qk_nope_head_dim": 32, "qk_rope_head_dim": 32, "v_head_dim": 64}
        | {"num_key_value_heads": 4 if TINY else 16},
        "gpt_oss": small
        | {"num_hidden_layers": 6, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 128},
        # Experts in every second layer.
        "llama4_text": small
        | {
            "num_hidden_layers": 8,
            "num_local_experts": 8,
            "interleave_moe_layer_step": 2,
            "intermediate_size_mlp": 2048,
        },
        # Sliding and full attention in turns.
        "gemma2": small | {"num_hidden_layers": 6, "sliding_window": 128},
        "gemma3_text": small | {"num_hidden_layers": 12, "sliding_window": 128},
        "qwen3_next": small
        | experts
        | {"num_hidden_layers": 8, "num_experts": 16, "shared_expert_intermediate_size": 704}
        | {
            "linear_num_key_heads": 4,
            "linear_num_value_heads": 8,
            "linear_key_head_dim": 64,
            "linear_value_head_dim": 64,
        },
    }


def other(kind: str) -> Callable[[], None]:
    """The part of an architecture: a prefill of 4 x 256 tokens and 3 decode steps."""

    def run() -> None:
        model, facts = built(kind, **others()[kind])
        prefill_decode(kind, model, facts, 4, 32 if TINY else 256, 3)

    run.__name__ = kind
    return run


for _kind in others():
    part(other(_kind))


@part
def bert() -> None:
    """Four runs of an encoder of 6 layers over 16 x 256 tokens, fp16."""
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.for_model("bert", num_hidden_layers=6)
    model = AutoModel.from_config(config, dtype=torch.float16 if DEVICE == "cuda" else None).to(DEVICE).eval()
    given = tokens(model, 16, 256)
    with torch.no_grad():

        def run() -> None:
            model(given)

        run()
        facts = {"config": json.loads(config.to_json_string()), "flop_pass": flop(run), "seconds_pass": seconds(run)}
        with recorded("bert", facts | {"batch": 16, "length": 256, "passes": 4}):
            for _ in range(4):
                run()


@part
def t5() -> None:
    """An encoder-decoder: 4 layers each, 3 runs."""
    from transformers import AutoConfig, AutoModelForSeq2SeqLM

    config = AutoConfig.for_model("t5", num_layers=4, num_decoder_layers=4)
    model = AutoModelForSeq2SeqLM.from_config(config, dtype=torch.bfloat16).to(DEVICE).eval()
    given, answer = tokens(model, 8, 256), tokens(model, 8, 64)
    with torch.no_grad():

        def run() -> None:
            model(input_ids=given, decoder_input_ids=answer, use_cache=False)

        run()
        facts = {"config": json.loads(config.to_json_string()), "flop_pass": flop(run), "seconds_pass": seconds(run)}
        with recorded("t5", facts | {"passes": 3}):
            for _ in range(3):
                run()
