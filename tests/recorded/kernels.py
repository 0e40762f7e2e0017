"""Operators of known FLOP, waits of known length, and a kernel that is slower by a known share."""

import importlib
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as nn
from torch.profiler import record_function

from .recorder import DEVICE, TINY, flop, llama, part, recorded, seconds, sync, tokens


@part
def operators() -> None:
    """Products, convolutions and attention of known FLOP and types, three runs of each."""
    size = 64 if TINY else 2048

    def normal(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
        return torch.randn(*shape, device=DEVICE, dtype=torch.float32).to(dtype)

    m, n, k = size, size * 2, size // 2
    cases: dict[str, tuple[Callable[[], object], int]] = {}
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        a, b, bias = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype), normal(n, dtype=dtype)
        cases[f"mm_{dtype}"] = partial(torch.mm, a, b), 2 * m * n * k
        cases[f"addmm_{dtype}"] = partial(torch.addmm, bias, a, b), 2 * m * n * k
    cases["linear"] = partial(nn.linear, normal(4, m // 4, k), normal(n, k)), 2 * m * n * k
    left, right = normal(16, 256, 128), normal(16, 128, 512)
    batched = 2 * 16 * 256 * 128 * 512
    cases["bmm"] = partial(torch.bmm, left, right), batched
    cases["baddbmm"] = partial(torch.baddbmm, normal(16, 256, 512), left, right), batched
    cases["einsum"] = partial(torch.einsum, "bmk,bkn->bmn", left, right), batched
    cases["mv"] = partial(torch.mv, normal(m, k), normal(k)), 2 * m * k
    image, weight = normal(8, 64, 56, 56), normal(128, 64, 3, 3)
    places = 2 * 8 * 64 * 56 * 56
    cases["conv2d"] = partial(nn.conv2d, image, weight, padding=1), places * 128 * 9
    cases["conv2d_stride"] = partial(nn.conv2d, image, weight, padding=1, stride=2), places * 128 * 9 // 4
    cases["conv2d_depthwise"] = partial(nn.conv2d, image, normal(64, 1, 3, 3), padding=1, groups=64), places * 9
    cases["conv1d"] = (
        partial(nn.conv1d, normal(8, 64, 1024), normal(128, 64, 5), padding=2),
        2 * 8 * 1024 * 64 * 128 * 5,
    )
    cases["conv_transpose2d"] = partial(nn.conv_transpose2d, image, normal(64, 32, 4, 4), stride=4), places * 32 * 16
    q, keys, values = (normal(4, 16, 1024, 64) for _ in range(3))
    attention = nn.scaled_dot_product_attention
    full = 4 * 4 * 16 * 1024 * 1024 * 64
    cases["sdpa"] = partial(attention, q, keys, values), full
    cases["sdpa_causal"] = partial(attention, q, keys, values, is_causal=True), full
    few = normal(4, 4, 1024, 64), normal(4, 4, 1024, 64)
    cases["sdpa_gqa"] = partial(attention, q, *few, is_causal=True, enable_gqa=True), full
    mask = torch.ones(4, 1, 1024, 1024, device=DEVICE, dtype=torch.bool).tril()
    cases["sdpa_mask"] = partial(attention, q, keys, values, attn_mask=mask), full
    if DEVICE == "cuda":
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def by(backend: SDPBackend) -> object:
            with sdpa_kernel(backend):
                return attention(q, keys, values, is_causal=True)

        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            cases[f"sdpa_{backend.name}"] = partial(by, backend), full
        cases["sdpa_math"] = partial(by, SDPBackend.MATH), full
        a8, b8 = normal(m, k).to(torch.float8_e4m3fn), normal(n, k).to(torch.float8_e4m3fn)
        one = torch.ones((), device=DEVICE)
        scaled = partial(torch._scaled_mm, a8, b8.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        cases["scaled_mm"] = scaled, 2 * m * n * k
        ai, bi = (torch.randint(-8, 8, s, device=DEVICE, dtype=torch.int8) for s in ((m, k), (n, k)))
        cases["int_mm"] = partial(torch._int_mm, ai, bi.t()), 2 * m * n * k
        ends = torch.tensor([m // 8 * (i + 1) for i in range(8)], device=DEVICE, dtype=torch.int32)
        cases["grouped_mm"] = partial(torch._grouped_mm, normal(m, k), normal(8, k, n), offs=ends), 2 * m * n * k
    known, run_of = {}, {}
    for name, (run, count) in cases.items():
        try:
            run()
            sync()
            known[name] = {"flop": count, "seconds": seconds(run, 9), "counted": flop(run)}
            run_of[name] = run
        except Exception as error:  # noqa: BLE001  (a card that lacks one has the others)
            known[name] = {"failed": str(error)[:300]}
    torch.backends.cuda.matmul.allow_tf32 = True
    a, b = normal(m, k, dtype=torch.float32), normal(k, n, dtype=torch.float32)
    (a @ b).sum()
    run_of["mm_tf32"] = partial(torch.mm, a, b)
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


KERNEL = """
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
"""


@part
def slower() -> None:
    """Two traces of one model: in the second the norm's kernel does its work 4 times."""
    if DEVICE == "cpu":
        return
    folder = tempfile.mkdtemp()
    Path(folder, "norm_kernel.py").write_text(KERNEL)
    sys.path.insert(0, folder)
    norm_kernel = importlib.import_module("norm_kernel")

    model, facts = llama()
    times = {"again": 1}

    def forward(self: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        y, width = torch.empty_like(x), x.shape[-1]
        eps = self.variance_epsilon
        norm_kernel.scaled_rms_norm_kernel[(x.numel() // width,)](
            x, self.weight, y, width, eps, AGAIN=times["again"], BLOCK=2048
        )
        return y

    kind = type(model.model.norm)
    original, kind.forward = kind.forward, forward
    try:
        given = tokens(model, 2, 1024)
        with torch.no_grad():
            x = torch.randn(2, 1024, 2048, device=DEVICE, dtype=torch.bfloat16)
            for name, times["again"] in (("slower_before", 1), ("slower_after", 4)):
                for _ in range(3):
                    model(given, use_cache=False)
                own = {"seconds_norm": seconds(lambda: model.model.norm(x), 21)}
                own |= {"seconds_pass": seconds(lambda: model(given, use_cache=False)), "passes": 4, "norms_pass": 21}
                with recorded(name, facts | own):
                    for _ in range(4):
                        model(given, use_cache=False)
    finally:
        kind.forward = original
