"""Records traces of work that is known: `python record.py FOLDER [PART …]`, on one GPU.

Each part writes `<name>.json.gz` and its entry in `truth.json`: what was run, the FLOP that PyTorch's own counter gives,
and times by the device's events, outside the profiler. Models are small, of known size, with random weights. A part that
fails is named in `truth.json` and the others go on.
"""

import gzip
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

OUT = Path(sys.argv[1])
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TINY = DEVICE == "cpu"
TRUTH: dict[str, dict] = {}
PARTS: dict[str, Callable[[], None]] = {}


def part(function: Callable[[], None]) -> Callable[[], None]:
    """Register a part under the name of its function."""
    PARTS[function.__name__] = function
    return function


def sync() -> None:
    """Wait for the device."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def save(profiler: profile, name: str, **truth: object) -> None:
    """Write a profile as gzip, and what is true of it."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(plain))
        with plain.open("rb") as source, gzip.open(OUT / f"{name}.json.gz", "wb", 6) as target:
            shutil.copyfileobj(source, target)
    TRUTH[name] = truth


@contextmanager
def recorded(name: str, truth: dict, **options: object) -> Iterator[profile]:
    """Profile what runs inside, shapes recorded."""
    sync()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])]
    with profile(activities=activities, record_shapes=True, **options) as profiler:
        yield profiler
        sync()
    save(profiler, name, **truth)


def seconds(run: Callable[[], object], times: int = 5) -> float:
    """Median seconds of a run by the device's events."""
    taken = []
    for _ in range(times):
        if DEVICE == "cuda":
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            end.record()
            sync()
            taken.append(start.elapsed_time(end) / 1e3)
        else:
            began = time.perf_counter()
            run()
            taken.append(time.perf_counter() - began)
    return sorted(taken)[times // 2]


def flop(run: Callable[[], object]) -> dict[str, int]:
    """FLOP of a run by PyTorch's counter: of all, and by operator."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    # The counter takes no fused attention with fewer heads of keys; the plain one has the same FLOP, of whole squares.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        run()
    sync()
    return {"total": counter.get_total_flops()} | {
        str(operator): value for operator, value in counter.get_flop_counts()["Global"].items()
    }


def built(kind: str, attention: str = "sdpa", **sizes: object) -> tuple[torch.nn.Module, dict]:
    """A causal model of transformers with random weights in bf16, and its config."""
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **sizes)
    attention = "eager" if kind == "gpt_oss" else attention
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation=attention)
    model = model.to(DEVICE).eval().requires_grad_(False)
    parameters = sum(p.numel() for p in model.parameters())
    return model, {"config": json.loads(config.to_json_string()), "parameters": parameters}


SIZES = {
    "hidden_size": 128 if TINY else 2048,
    "intermediate_size": 256 if TINY else 5632,
    "num_hidden_layers": 2 if TINY else 10,
    "num_attention_heads": 4 if TINY else 16,
    "num_key_value_heads": 2 if TINY else 4,
    "vocab_size": 512 if TINY else 32000,
    "max_position_embeddings": 4096,
}


def llama(**sizes: object) -> tuple[torch.nn.Module, dict]:
    """The Llama most parts use: 2048 wide, 10 layers."""
    return built("llama", **(SIZES | sizes))


def tokens(model: torch.nn.Module, batch: int, length: int) -> torch.Tensor:
    """Random ids of tokens."""
    return torch.randint(0, model.config.vocab_size, (batch, length), device=DEVICE)


def prefill_decode(name: str, model: torch.nn.Module, facts: dict, batch: int, length: int, steps: int) -> None:
    """Record a prefill and decode steps on a growing cache."""

    def run(count: int) -> None:
        given = tokens(model, batch, length)
        cache = None
        for _ in range(count + 1):
            out = model(given, past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            given = out.logits[:, -1:].argmax(-1)

    with torch.no_grad():
        run(2)
        facts |= {"flop_prefill": flop(lambda: run(0)), "flop_all": flop(lambda: run(steps))}
        facts |= {"seconds_prefill": seconds(lambda: run(0)), "seconds_all": seconds(lambda: run(steps))}
        facts |= {"batch": batch, "length": length, "decode_steps": steps}
        with recorded(name, facts):
            run(steps)


@part
def llama_prefill() -> None:
    """Four eager prefills of 2 × 1024 tokens; the same once more with stacks and modules."""
    model, facts = llama()
    given = tokens(model, 2, 64 if TINY else 1024)
    with torch.no_grad():

        def run() -> None:
            model(given, use_cache=False)

        run()
        facts |= {"flop_pass": flop(run), "seconds_pass": seconds(run), "batch": 2, "length": given.shape[1], "passes": 4}
        with recorded("llama_prefill", dict(facts)):
            for _ in range(4):
                run()
        with recorded("llama_prefill_modules", facts | {"passes": 2}, with_stack=True, with_modules=True):
            for _ in range(2):
                run()


@part
def llama_decode() -> None:
    """A prefill of 8 × 512 tokens and 6 decode steps, eager."""
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


def training(name: str, steps: int, **sizes: object) -> None:
    """Record steps of training: forward, backward, AdamW."""
    model, facts = llama(**sizes)
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
    facts |= {"flop_step": flop(run) if name != "llama_compiled_train" else None, "seconds_step": seconds(run), "batch": 2, "length": given.shape[1], "steps": steps}
    sync()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])]
    plan = schedule(wait=0, warmup=1, active=steps)
    with profile(
        activities=activities, record_shapes=True, schedule=plan, on_trace_ready=lambda done: save(done, name, **facts)
    ) as profiler:
        for _ in range(steps + 1):
            run()
            sync()
            profiler.step()


@part
def llama_train() -> None:
    """Three steps of training."""
    training("llama_train", 3)


@part
def llama_train_checkpointed() -> None:
    """Two steps of training that computes activations again."""
    original = torch.nn.Module.train

    def train(self: torch.nn.Module, mode: bool = True) -> torch.nn.Module:
        if mode and hasattr(self, "gradient_checkpointing_enable"):
            self.gradient_checkpointing_enable()
        return original(self, mode)

    torch.nn.Module.train = train
    try:
        training("llama_train_checkpointed", 2, num_hidden_layers=2 if TINY else 4)
    finally:
        torch.nn.Module.train = original


@part
def llama_compiled() -> None:
    """Three prefills of 2 × 1024 tokens by torch.compile."""
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
def llama_reduced_overhead() -> None:
    """Three prefills of 2 × 512 tokens by torch.compile with CUDA graphs, 4 layers."""
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
    original = llama

    def compiled(**sizes: object) -> tuple[torch.nn.Module, dict]:
        model, facts = original(**sizes)
        model.forward = torch.compile(model.forward)
        return model, facts

    globals()["llama"] = compiled
    try:
        training("llama_compiled_train", 2, num_hidden_layers=3)
    finally:
        globals()["llama"] = original


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
        "gpt_oss": small | {"num_hidden_layers": 6, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 128},
        "gemma3_text": small | {"num_hidden_layers": 12, "sliding_window": 128},
        "qwen3_next": small
        | experts
        | {"num_hidden_layers": 8, "num_experts": 16, "shared_expert_intermediate_size": 704}
        | {"linear_num_key_heads": 4, "linear_num_value_heads": 8, "linear_key_head_dim": 64, "linear_value_head_dim": 64},
    }


def other(kind: str) -> Callable[[], None]:
    """The part of an architecture: a prefill of 4 × 256 tokens and 3 decode steps."""

    def run() -> None:
        model, facts = built(kind, **others()[kind])
        prefill_decode(kind, model, facts, 4, 32 if TINY else 256, 3)

    run.__name__ = kind
    return run


for _kind in ("qwen3_moe", "mixtral", "deepseek_v3", "gpt_oss", "gemma3_text", "qwen3_next"):
    part(other(_kind))


@part
def bert() -> None:
    """Four runs of an encoder of 6 layers over 16 × 256 tokens, fp16."""
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


@part
def operators() -> None:
    """Products, convolutions and attention of known FLOP and types, three runs of each."""
    import torch.nn.functional as F

    size = 64 if TINY else 2048

    def normal(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
        return torch.randn(*shape, device=DEVICE, dtype=torch.float32).to(dtype)

    m, n, k = size, size * 2, size // 2
    cases: dict[str, tuple[Callable[[], object], int]] = {}
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        a, b, bias = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype), normal(n, dtype=dtype)
        cases[f"mm_{dtype}"] = (lambda a=a, b=b: a @ b, 2 * m * n * k)
        cases[f"addmm_{dtype}"] = (lambda a=a, b=b, c=bias: torch.addmm(c, a, b), 2 * m * n * k)
    linear, wide = normal(n, k), normal(4, m // 4, k)
    cases["linear"] = (lambda: F.linear(wide, linear), 2 * m * n * k)
    left, right = normal(16, 256, 128), normal(16, 128, 512)
    cases["bmm"] = (lambda: torch.bmm(left, right), 2 * 16 * 256 * 128 * 512)
    cases["baddbmm"] = (
        lambda c=normal(16, 256, 512): torch.baddbmm(c, left, right),
        2 * 16 * 256 * 128 * 512,
    )
    cases["einsum"] = (lambda: torch.einsum("bmk,bkn->bmn", left, right), 2 * 16 * 256 * 128 * 512)
    cases["mv"] = (lambda a=normal(m, k), x=normal(k): a @ x, 2 * m * k)
    image, weight = normal(8, 64, 56, 56), normal(128, 64, 3, 3)
    cases["conv2d"] = (lambda: F.conv2d(image, weight, padding=1), 2 * 8 * 128 * 56 * 56 * 64 * 9)
    cases["conv2d_stride"] = (lambda: F.conv2d(image, weight, padding=1, stride=2), 2 * 8 * 128 * 28 * 28 * 64 * 9)
    groups = normal(64, 1, 3, 3)
    cases["conv2d_depthwise"] = (lambda: F.conv2d(image, groups, padding=1, groups=64), 2 * 8 * 64 * 56 * 56 * 9)
    sound, narrow = normal(8, 64, 1024), normal(128, 64, 5)
    cases["conv1d"] = (lambda: F.conv1d(sound, narrow, padding=2), 2 * 8 * 128 * 1024 * 64 * 5)
    turned = normal(64, 32, 4, 4)
    cases["conv_transpose2d"] = (lambda: F.conv_transpose2d(image, turned, stride=4), 2 * 8 * 64 * 56 * 56 * 32 * 16)
    q, kk, v = (normal(4, 16, 1024, 64) for _ in range(3))
    full = 4 * 4 * 16 * 1024 * 1024 * 64
    cases["sdpa"] = (lambda: F.scaled_dot_product_attention(q, kk, v), full)
    cases["sdpa_causal"] = (lambda: F.scaled_dot_product_attention(q, kk, v, is_causal=True), full)
    kg, vg = normal(4, 4, 1024, 64), normal(4, 4, 1024, 64)
    cases["sdpa_gqa"] = (lambda: F.scaled_dot_product_attention(q, kg, vg, is_causal=True, enable_gqa=True), full)
    mask = torch.ones(4, 1, 1024, 1024, device=DEVICE, dtype=torch.bool).tril()
    cases["sdpa_mask"] = (lambda: F.scaled_dot_product_attention(q, kk, v, attn_mask=mask), full)
    if DEVICE == "cuda":
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def by(backend: SDPBackend) -> Callable[[], object]:
            def run() -> object:
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(q, kk, v, is_causal=True)

            return run

        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            cases[f"sdpa_{backend.name}"] = (by(backend), full)
        cases["sdpa_math"] = (by(SDPBackend.MATH), full)
        a8, b8 = normal(m, k).to(torch.float8_e4m3fn), normal(n, k).to(torch.float8_e4m3fn)
        one = torch.ones((), device=DEVICE)
        cases["scaled_mm"] = (
            lambda: torch._scaled_mm(a8, b8.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16),
            2 * m * n * k,
        )
        ai, bi = (torch.randint(-8, 8, s, device=DEVICE, dtype=torch.int8) for s in ((m, k), (n, k)))
        cases["int_mm"] = (lambda: torch._int_mm(ai, bi.t()), 2 * m * n * k)
        rows, weights = normal(m, k), normal(8, k, n)
        ends = torch.tensor([m // 8 * (i + 1) for i in range(8)], device=DEVICE, dtype=torch.int32)
        cases["grouped_mm"] = (lambda: torch._grouped_mm(rows, weights, offs=ends), 2 * m * n * k)
    known, run_of = {}, {}
    for name, (run, count) in cases.items():
        try:
            run()
            sync()
            known[name] = {"flop": count, "seconds": seconds(run, 9), "counted": flop(run)}
            run_of[name] = run
        except Exception as error:
            known[name] = {"failed": str(error)[:300]}
    torch.backends.cuda.matmul.allow_tf32 = True
    a, b = normal(m, k, dtype=torch.float32), normal(k, n, dtype=torch.float32)
    (a @ b).sum()
    run_of["mm_tf32"] = lambda: a @ b
    known["mm_tf32"] = {"flop": 2 * m * n * k}
    with recorded("operators", {"operators": known}):
        for name, run in run_of.items():
            torch.backends.cuda.matmul.allow_tf32 = name == "mm_tf32"
            for _ in range(3):
                with record_function(f"case_{name}"):
                    run()


@part
def waits() -> None:
    """Known idle time and overlap: sleeps on the host, kernels of known length on two streams, copies."""
    if DEVICE == "cpu":
        return
    cycles = 1_000_000
    torch.cuda._sleep(cycles)
    spin = seconds(lambda: torch.cuda._sleep(cycles), 9)
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    host = torch.empty(1 << 24, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(1 << 24, dtype=torch.uint8, device=DEVICE)
    facts = {"spin_seconds": spin, "sleep_seconds": 0.005, "rounds": 5, "copy_bytes": 1 << 24}
    facts |= {"copy_seconds": seconds(lambda: there.copy_(host, non_blocking=True), 9)}
    with recorded("waits", facts):
        for _ in range(5):
            with record_function("alone"):
                torch.cuda._sleep(cycles)
                sync()
            time.sleep(0.005)
            with record_function("both"):
                with torch.cuda.stream(first):
                    torch.cuda._sleep(cycles)
                with torch.cuda.stream(second):
                    torch.cuda._sleep(cycles)
                sync()
            time.sleep(0.005)
            with record_function("copies"):
                there.copy_(host, non_blocking=True)
                host.copy_(there, non_blocking=True)
                there.zero_()
                sync()
            time.sleep(0.005)


KERNEL = '''
import triton
import triton.language as tl


@triton.jit
def scaled_rms_norm_kernel(x, w, y, width, eps, AGAIN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < width
    weight = tl.load(w + at, mask=inside)
    for again in range(AGAIN):
        v = tl.load(x + row * width + at, mask=inside, cache_modifier=".cv").to(tl.float32)
        scale = tl.rsqrt(tl.sum(v * v) / width + eps)
        tl.store(y + row * width + at, (v * scale * weight).to(tl.bfloat16), mask=inside)
'''


@part
def slower() -> None:
    """Two traces of one model: in the second the norm's kernel does its work 4 times."""
    if DEVICE == "cpu":
        return
    folder = tempfile.mkdtemp()
    Path(folder, "norm_kernel.py").write_text(KERNEL)
    sys.path.insert(0, folder)
    import norm_kernel

    model, facts = llama()
    again = 1

    def forward(self: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        y, width = torch.empty_like(x), x.shape[-1]
        eps = self.variance_epsilon
        norm_kernel.scaled_rms_norm_kernel[(x.numel() // width,)](x, self.weight, y, width, eps, AGAIN=again, BLOCK=2048)
        return y

    kind = type(model.model.norm)
    original, kind.forward = kind.forward, forward
    try:
        given = tokens(model, 2, 1024)
        with torch.no_grad():
            x = torch.randn(2, 1024, 2048, device=DEVICE, dtype=torch.bfloat16)
            for name, again in (("slower_before", 1), ("slower_after", 4)):
                for _ in range(3):
                    model(given, use_cache=False)
                own = {"seconds_norm": seconds(lambda: model.model.norm(x), 21)}
                own |= {"seconds_pass": seconds(lambda: model(given, use_cache=False)), "passes": 4, "norms_pass": 21}
                with recorded(name, facts | own):
                    for _ in range(4):
                        model(given, use_cache=False)
    finally:
        kind.forward = original


def main() -> None:
    """Run the parts."""
    OUT.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    for name in sys.argv[2:] or list(PARTS):
        began = time.perf_counter()
        try:
            PARTS[name]()
            print(name, f"{time.perf_counter() - began:.1f} s", flush=True)
        except Exception:
            TRUTH[name] = {"failed": traceback.format_exc()}
            print(name, "failed", traceback.format_exc()[-1500:], flush=True)
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
        about = {"device": torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu", "torch": torch.__version__}
        (OUT / "truth.json").write_text(json.dumps({"about": about} | TRUTH, indent=1, default=str))


if __name__ == "__main__":
    main()
