"""A synthetic trace of one prefill whose kernels reach chosen shares of their chip's peaks: Llama 3 8B on an H100.

Two prompts of 2048 tokens, engine and operators named as in vLLM, shapes as PyTorch's profiler prints them. A kernel
takes as long as its FLOP take at 60 % of 989 TFLOP/s (attention: 40 %), or its bytes at 50 % of 3350 GB/s, so the
expected results are known. Between kernels the device idles for 2 us; times are whole nanoseconds.
"""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROMPTS, PROMPT = 2, 2048
LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, WIDTH, VOCAB = 32, 4096, 32, 8, 128, 14336, 128256
PEAK_TFLOPS, HBM_GBPS = 989, 3350
PRODUCTS, ATTENTION, BYTES = 0.60, 0.40, 0.50
IDLE_US = 2
#: Tokens in a block of the cache.
BLOCK = 16

MODEL = "llama-3-8b"
#: Each token of a prompt attends to the keys up to its own.
PAIRS = PROMPTS * PROMPT * (PROMPT + 1) // 2
_GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel"
_FLASH = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>>"


def prefill_trace() -> dict[str, Any]:
    """Return the trace as a Chrome trace object."""
    trace = _Trace()
    tokens, qkv, attended = PROMPTS * PROMPT, (HEADS + 2 * KV_HEADS) * HEAD, HEADS * HEAD
    tall = [tokens, HIDDEN]
    trace.moves("aten::embedding", [[VOCAB, HIDDEN], [tokens]], "void vectorized_gather_kernel<16, long>", 2 * HIDDEN)
    for _ in range(LAYERS):
        trace.moves("_C::fused_add_rms_norm", [tall, tall, [HIDDEN], []], "vllm::fused_add_rms_norm_kernel", 4 * HIDDEN)
        trace.multiplies(tokens, HIDDEN, qkv)
        rotated = (HEADS + KV_HEADS) * HEAD
        trace.moves(
            "_C::rotary_embedding", [[tokens], [tokens, attended], [tokens, KV_HEADS * HEAD], [], [], []],
            "vllm::rotary_embedding_kernel", 2 * rotated,
        )  # fmt: skip
        keys, cache = [tokens, KV_HEADS, HEAD], [tokens // BLOCK, BLOCK, KV_HEADS, HEAD]
        trace.moves(
            "_C_cache_ops::reshape_and_cache_flash", [keys, keys, cache, cache, [tokens], [], [], []],
            "vllm::reshape_and_cache_flash_kernel", 4 * KV_HEADS * HEAD,
        )  # fmt: skip
        trace.runs(
            "vllm::unified_attention", [[tokens, HEADS, HEAD], keys, keys, []], _FLASH,
            4 * PAIRS * HEADS * HEAD / (PEAK_TFLOPS * 1e6) / ATTENTION,
        )  # fmt: skip
        trace.multiplies(tokens, attended, HIDDEN)
        trace.moves("_C::fused_add_rms_norm", [tall, tall, [HIDDEN], []], "vllm::fused_add_rms_norm_kernel", 4 * HIDDEN)
        trace.multiplies(tokens, HIDDEN, 2 * WIDTH)
        trace.moves(
            "_C::silu_and_mul", [[tokens, WIDTH], [tokens, 2 * WIDTH]], "vllm::act_and_mul_kernel<silu>", 3 * WIDTH
        )
        trace.multiplies(tokens, WIDTH, HIDDEN)
    trace.moves("_C::rms_norm", [tall, tall, [HIDDEN], []], "vllm::rms_norm_kernel", 2 * HIDDEN)
    trace.multiplies(PROMPTS, HIDDEN, VOCAB)
    trace.runs("aten::argmax", [[PROMPTS, VOCAB], [], []], "at::native::reduce_kernel<512, 1, ArgMaxOps>", 12)
    return trace.finished()


def write_prefill(path: Path) -> None:
    """Write the trace to ``path``, gzipped when its name ends in ``.gz``."""
    data = json.dumps(prefill_trace()).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


class _Trace:
    """Events of a host that launches one kernel after the other, and of the device that runs them."""

    def __init__(self) -> None:
        self._events: list[dict[str, Any]] = []
        self._host_us = 10
        self._device_ns = 1_000_000
        self._ids = 0

    def multiplies(self, rows: int, inner: int, columns: int) -> None:
        """Add a matrix product, bound by compute or memory, whichever takes longer."""
        flop_us = 2 * rows * inner * columns / (PEAK_TFLOPS * 1e6)
        bytes_us = 2 * (rows * inner + inner * columns + rows * columns) / (HBM_GBPS * 1e3)
        roof = flop_us / PRODUCTS if flop_us > bytes_us else bytes_us / BYTES
        self.runs("aten::mm", [[rows, inner], [inner, columns]], _GEMM, roof)

    def moves(self, op: str, dims: Sequence[Any], kernel: str, elements: int) -> None:
        """Add a kernel that reads and writes this many two-byte elements for each token."""
        self.runs(op, dims, kernel, 2 * PROMPTS * PROMPT * elements / (HBM_GBPS * 1e3) / BYTES)

    def runs(self, op: str, dims: Sequence[Any], kernel: str, took_us: float) -> None:
        """Add an operator, the call that launches its kernel, and the kernel."""
        self._ids += 1
        shared = {"External id": self._ids, "correlation": self._ids}
        shapes = {"Input Dims": dims, "Input type": ["c10::BFloat16" if shape else "Scalar" for shape in dims]}
        self._add("cpu_op", op, self._host_us, 8, {"External id": self._ids, **shapes})
        self._add("cuda_runtime", "cudaLaunchKernel", self._host_us + 2, 1, shared)
        took_ns = round(1e3 * took_us)
        self._events.append(
            {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": self._device_ns / 1e3,
             "dur": took_ns / 1e3, "args": {"device": 0, "stream": 7, **shared}}
        )  # fmt: skip
        self._host_us += 10
        self._device_ns += took_ns + 1000 * IDLE_US

    def finished(self) -> dict[str, Any]:
        """Return the trace, with the engine's annotation around the launches."""
        tokens, squares = PROMPTS * PROMPT, PROMPTS * PROMPT**2
        requests = f"context_{PROMPTS}(sq{tokens}sk{tokens}sqsq{squares}sqsk{squares})"
        note = f"execute_{tokens}_{requests}_generation_0(sq0sk0sqsq0sqsk0)"
        self._add("user_annotation", note, 0, self._host_us + 10, {})
        device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0, "numSms": 132}
        return {"deviceProperties": [device], "traceEvents": self._events}

    def _add(self, category: str, name: str, ts: float, dur: float, args: dict[str, Any]) -> None:
        self._events.append(
            {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}
        )
