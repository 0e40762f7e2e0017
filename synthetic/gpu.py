"""A small synthetic trace with known figures: five forward passes of a six-layer model.

The kernels carry the names of a DeepSeek-V4 server, one stream, no overlap. The first passes are
shorter (warm-up), the last three alike. All times are whole microseconds, so each sum can be
checked by hand: 695 kernels, 310500 us of work, the last kernel ends at 322440 us.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMPRESS_RATIOS = (0, 0, 4, 128, 4, 128)
PASS_SCALES = (1, 3, 4, 4, 4)
UNIT_US = 100
SPACING_US = 10
PAUSE_US = 1000

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
MLA = "void sm90::decode::sparse_fp8::flash_fwd_splitkv_mla_fp8_sparse_kernel<1>"
HALF_OPENING = (
    ("mhc_pre_gemm_sqrsum_tilelang_kernel", 2),
    ("mhc_pre_big_fuse_tilelang_kernel", 1),
    ("norm::RMSNormKernel", 1),
)
HALF_CLOSING = ((ALL_REDUCE, 4), ("mhc_post_tilelang_kernel", 1))
# Additional work of attention by compression ratio: an indexer picks keys, or a dense prefix.
COMPRESSION = {
    0: (),
    4: (
        ("fast_hadamard_transform_kernel", 2),
        ("fused_store_indexer_cache", 1),
        ("void deep_gemm::sm90_fp8_paged_mqa_logits<1>", 3),
        ("topk_transform_512", 2),
    ),
    128: (("c128_prefill", 1),),
}

Kernel = tuple[str, int]


def gpu_trace() -> dict[str, Any]:
    """Return the trace as a Chrome trace object.

    The object only has the key ``traceEvents``: one host operator, then 695 kernels in time order.
    """
    host: dict[str, Any] = {
        "ph": "X", "cat": "cpu_op", "name": "aten::start", "pid": 1, "tid": 1, "ts": 0, "dur": 1,
    }  # fmt: skip
    return {"traceEvents": [host, *_kernel_events()]}


def gpu_config() -> dict[str, Any]:
    """Return the ``config.json`` of the model: six layers, one draft layer, two hash layers."""
    return {
        "num_hidden_layers": len(COMPRESS_RATIOS),
        "num_nextn_predict_layers": 1,
        "num_hash_layers": 2,
        "compress_ratios": [*COMPRESS_RATIOS, 0],
    }


def write_gpu(path: Path, *, truncated: bool = False) -> None:
    """Write the trace to ``path``, gzipped when its name ends in ``.gz``.

    With ``truncated`` the text stops inside an event near its end, as when a
    profiled process dies: the gzip container stays whole, the JSON does not.
    """
    text = json.dumps(gpu_trace())
    if truncated:
        last_events = text.index('"cat"', len(text) * 9 // 10)
        text = text[:last_events]
    data = text.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _kernel_events() -> Iterator[dict[str, Any]]:
    now = 1000
    for scale in PASS_SCALES:
        for name, units in _pass_kernels(scale):
            yield {
                "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7,
                "ts": now, "dur": units * UNIT_US, "args": {"device": 0, "stream": 7},
            }  # fmt: skip
            now += units * UNIT_US + SPACING_US
        now += PAUSE_US


def _pass_kernels(scale: int) -> Iterator[Kernel]:
    yield "embedding_kernel", 2
    for ratio in COMPRESS_RATIOS:
        yield from _attention(ratio, scale)
        yield from _feed_forward(scale)
    yield "nvjet_lm_head", 20
    yield "sampling_kernel", 5


def _attention(ratio: int, scale: int) -> Iterator[Kernel]:
    yield from HALF_OPENING
    yield "void deep_gemm::sm90_fp8_gemm_1d2d_impl<1>", 5
    yield from COMPRESSION[ratio]
    yield MLA, 10 * scale
    yield "void smxx::decode::flash_fwd_mla_combine_kernel<1>", 1
    yield "nvjet_tst_64x8", 3
    yield from HALF_CLOSING


def _feed_forward(scale: int) -> Iterator[Kernel]:
    yield from HALF_OPENING
    yield "moe_fused_gate", 1
    yield "moe_align_block_size_kernel", 1
    yield "count_and_sort_expert_tokens_kernel", 1
    yield "void per_token_group_quant_8bit_kernel<1>", 1
    yield "fused_moe_kernel", 6 * scale
    yield "act_and_mul_kernel", 1
    yield "fused_moe_kernel", 4 * scale
    yield from HALF_CLOSING
