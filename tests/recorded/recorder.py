"""What the parts of a recording share: profiles, times, FLOP, models of random weights."""

import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

OUT = Path(sys.argv[1])
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TINY = DEVICE == "cpu"
ACTIVITIES = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])]
TRUTH: dict[str, dict] = {}
PARTS: dict[str, Callable[[], None]] = {}
DROPPED = {
    *("Ev Idx", "Record function id", "Input Strides", "queued", "context", "cbid", "grid", "block", "shared memory"),
    *("registers per thread", "blocks per SM", "warps per SM", "est. achieved occupancy %", "memory bandwidth (GB/s)"),
    *("kernel_file", "kernel_hash", "kernel_kwargs", "kernel_backend", "kernel_name"),
}


def part(function: Callable[[], None]) -> Callable[[], None]:
    """Register a part under the name of its function."""
    PARTS[function.__name__] = function
    return function


def sync() -> None:
    """Wait for the device."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def save(profiler: profile, name: str, **truth: object) -> None:
    """Write a profile, and what is true of it."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(plain))
        write(json.loads(plain.read_bytes()), OUT / f"{name}.json.gz")
    TRUTH[name] = truth


def write(trace: dict, path: Path) -> None:
    """Write a trace as gzip, without paths of this machine and arguments that say nothing of times or shapes."""
    for key in ("traceName", "trace_id"):
        trace.pop(key, None)
    for event in trace["traceEvents"]:
        for key in DROPPED & set(event.get("args", {})):
            del event["args"][key]
    path.write_bytes(gzip.compress(json.dumps(trace, separators=(",", ":")).encode(), 9, mtime=0))


@contextmanager
def recorded(name: str, truth: dict, **options: object) -> Iterator[profile]:
    """Profile what runs inside, shapes recorded."""
    sync()
    with profile(activities=ACTIVITIES, record_shapes=True, **options) as profiler:
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
