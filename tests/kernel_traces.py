"""Small PyTorch traces made by hand: operators with shapes, the calls that launch kernels, the kernels, and modules.

Times are in microseconds. What encloses what follows from them, as in a real trace.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

H100 = {"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0}]}
BF16 = "c10::BFloat16"
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas"


class Trace:
    """A trace that grows by operators and kernels."""

    def __init__(self, **around: Any) -> None:
        self.events: list[dict[str, Any]] = []
        self.around = H100 | around
        self._ids = 0
        self._replays: set[int] = set()

    def op(
        self,
        name: str,
        ts: float,
        dur: float,
        dims: Sequence[Any] | None = None,
        types: Sequence[str] | None = None,
        values: Sequence[str] | None = None,
        *,
        tid: int = 1,
        **args: Any,
    ) -> int:
        """Add an operator and return its external id; inputs with a shape are BF16 unless said."""
        self._ids += 1
        if dims is not None:
            args["Input Dims"] = list(dims)
            args["Input type"] = list(types) if types else [BF16 if shape else "Scalar" for shape in dims]
        if values is not None:
            args["Concrete Inputs"] = list(values)
        args["External id"] = self._ids
        self._add("cpu_op", name, ts, dur, tid, args)
        return self._ids

    def module(self, name: str, ts: float, dur: float, *, tid: int = 1) -> None:
        """Add the call of a module."""
        self._add("python_function", f"nn.Module: {name}", ts, dur, tid, {})

    def note(self, name: str, ts: float, dur: float) -> None:
        """Add an annotation of the user."""
        self._add("user_annotation", name, ts, dur, 1, {})

    def kernel(
        self,
        name: str,
        launched: float,
        start: float,
        dur: float,
        op: int | None = None,
        *,
        cat: str = "kernel",
        tid: int = 1,
        **args: Any,
    ) -> None:
        """Add a kernel on device 0, and the call that launched it at a moment of the host's time."""
        self._ids += 1
        shared = {"correlation": self._ids} | ({} if op is None else {"External id": op})
        self._add("cuda_runtime", "cudaLaunchKernel", launched, 1, tid, shared)
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": start, "dur": dur,
             "args": {"device": 0, "stream": 7, **shared, **args}}
        )  # fmt: skip

    def replayed(self, name: str, launched: float, start: float, dur: float, replay: int, **args: Any) -> None:
        """Add a kernel of the graph that one call launches; the first kernel of a replay adds the call."""
        shared = {"correlation": 1_000_000 + replay}
        if replay not in self._replays:
            self._replays.add(replay)
            self._add("cuda_runtime", "cudaGraphLaunch", launched, 1, 1, shared)
        self.events.append(
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": dur,
             "args": {"device": 0, "stream": 7, **shared, **args}}
        )  # fmt: skip

    def write(self, path: Path) -> Path:
        """Write the trace and return its path."""
        path.write_text(json.dumps({"traceEvents": self.events, **self.around}))
        return path

    def _add(self, cat: str, name: str, ts: float, dur: float, tid: int, args: dict[str, Any]) -> None:
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}
        )


def one_layer_model(
    folder: Path,
    name: str = "tiny",
    *,
    layers: int = 2,
    tokens: int = 64,
    cached: int = 0,
    hidden: int = 256,
    ffn: int = 512,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 64,
    vocab: int = 1000,
    head_rows: Sequence[int] = (1,),
    with_shapes: bool = True,
    with_adapters: bool = False,
    ffn_in_trace: int | None = None,
    note: str | None = None,
    attention: tuple[str, str, Sequence[Any], Sequence[str] | None, Sequence[str] | None] | None = None,
    rotation: str | None = None,
) -> Path:
    """Write the prefill of one request by a decoder whose layers have five kernels, engine and modules as in vLLM.

    Args:
        folder: where to.
        name: of the file.
        layers: of the model.
        tokens: new tokens.
        cached: tokens in the cache before.
        hidden: width of the residual stream.
        ffn: width of the MLP.
        heads: query heads.
        kv_heads: key and value heads.
        head_dim: width of a head.
        vocab: columns of the head.
        head_rows: rows of each product of the head.
        with_shapes: operators tell shapes; without them there are only kernels.
        with_adapters: two kernels of LoRA adapters follow each product of a layer.
        ffn_in_trace: another width of the MLP in the trace.
        note: annotation of the engine; nothing for an empty one.
        attention: another kernel of the attention, its operator, and the operator's inputs: shapes, types and values.
        rotation: a kernel before the attention that rotates queries and keys.
    """
    trace = Trace()
    wide = ffn_in_trace or ffn
    keys = tokens + cached
    if note is None:
        note = f"execute_{tokens}_context_1(sq{tokens}sk{keys}sqsq{tokens**2}sqsk{tokens * keys})"
        note += "_generation_0(sq0sk0sqsq0sqsk0)"
    if note:
        trace.note(note, 0, 100_000)
    host, device = 10.0, 1000.0

    def run(
        op: str,
        dims: Sequence[Any],
        kernel: str,
        dur: float,
        types: Sequence[str] | None = None,
        values: Sequence[str] | None = None,
    ) -> None:
        nonlocal host, device
        said = trace.op(op, host, 8, dims, types, values) if with_shapes else None
        trace.kernel(kernel, host + 2, device, dur, said)
        host, device = host + 10, device + dur + 1
        if with_adapters and kernel == GEMM and dims[1][1] != vocab:
            for adapter in ("_lora_shrink_kernel", "_lora_expand_kernel"):
                trace.kernel(adapter, host + 2, device, 2)
                host, device = host + 10, device + 3

    qkv = (heads + 2 * kv_heads) * head_dim
    kernel, op, dims, types, values = attention or (
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, bfloat16_t>>",
        "vllm::unified_attention",
        [[tokens, heads, head_dim], [tokens, kv_heads, head_dim], [tokens, kv_heads, head_dim], []], None, None,
    )  # fmt: skip
    for layer in range(layers):
        begin = host
        run("_C::fused_add_rms_norm", [[tokens, hidden], [tokens, hidden], [hidden], []], "vllm::rms_norm_kernel", 3)
        run("aten::mm", [[tokens, hidden], [hidden, qkv]], GEMM, 10)
        if rotation:
            run("_C::rotate", [[tokens, qkv]], rotation, 2)
        run(op, dims, kernel, 20, types, values)
        run("aten::mm", [[tokens, heads * head_dim], [heads * head_dim, hidden]], GEMM, 8)
        run("aten::mm", [[tokens, hidden], [hidden, 2 * wide]], GEMM, 12)
        run("_C::silu_and_mul", [[tokens, wide], [tokens, 2 * wide]], "vllm::act_and_mul_kernel", 4)
        run("aten::mm", [[tokens, wide], [wide, hidden]], GEMM, 9)
        trace.module(f"TinyDecoderLayer_{layer}", begin - 1, host - begin)
    for rows in head_rows:
        run("aten::mm", [[rows, hidden], [hidden, vocab]], GEMM, 5)
    return trace.write(folder / f"{name}.json")


def tiny_config(folder: Path, **said: Any) -> Path:
    """Write the config.json of the model that `one_layer_model` traces."""
    config = {
        "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "intermediate_size": 512,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 1000,
        "torch_dtype": "bfloat16", "tie_word_embeddings": False,
    }  # fmt: skip
    path = folder / "tiny.json"
    path.write_text(json.dumps(config | said))
    return path
