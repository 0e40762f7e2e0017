"""Captures of kernels alone that begin anywhere within a pass whose first norm is another kernel than the others."""

import json

import pytest

from ...lakes import in_one_lake

LAYERS = 5
#: A layer without its norms, and the kernels after the layers: name and microseconds.
ATTENTION = [("nvjet_tst_qkv", 20), ("void flash_fwd_splitkv_kernel<bf16>", 15), ("nvjet_tst_o", 10)]
FEED_FORWARD = [("nvjet_tst_up", 30), ("void vllm::act_and_mul_kernel<bf16>", 3), ("nvjet_tst_down", 20)]
HEAD = [("nvjet_tst_lm_head", 50), ("void at::native::reduce_kernel<512, 1, at::native::ArgMaxOps<float>>", 6)]
NORM = ("void flashinfer::norm::FusedAddRMSNormKernel<8u>", 4)


def one_pass(first_norm, last_norm, post_norm=None):
    """Return the kernels of a pass: name, microseconds, layer."""
    after = [(post_norm, 4)] if post_norm else []
    placed = [("void at::native::indexSelectSmallIndex<c10::BFloat16>", 5, None)]
    for layer in range(LAYERS):
        norm = NORM if layer else (first_norm, 4)
        placed += [(*kernel, layer) for kernel in [norm, *ATTENTION, *after, NORM, *FEED_FORWARD, *after]]
    return [*placed, (last_norm, 4, None), *((*kernel, None) for kernel in HEAD)]


def begun(folder, kernels):
    """Write a trace of kernels, one after the other."""
    events, start = [], 1000
    for name, dur, _ in kernels:
        at = {"pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}
        events.append({"ph": "X", "cat": "kernel", "name": name, "ts": start, "dur": dur, **at})
        start += dur + 1
    path = folder / "begun.json"
    path.write_text(json.dumps({"of": [kernels[0], kernels[-1], len(kernels)], "traceEvents": events}))
    return path


def layers_of(lake):
    """Return the layer of each kernel in order."""
    query = "SELECT kernel_id, layer_id FROM kernels LEFT JOIN layer_kernels USING (trace_id, kernel_id)"
    return [layer for _, layer in sorted(lake.rows(query))]


@pytest.mark.parametrize("cut", [*range(6), *range(8, 40, 4), 41, 42, 43])
@pytest.mark.parametrize(
    ("first_norm", "last_norm"),
    [
        ("void tensorrt_llm::kernels::generalRmsNorm<bf16>", NORM[0]),
        ("_layer_norm_fwd_1pass_kernel", NORM[0]),
        (NORM[0], "void tensorrt_llm::kernels::generalRmsNorm<bf16>"),
        (NORM[0], NORM[0]),
    ],
)
@in_one_lake
def test_each_kernel_is_of_its_layer_wherever_the_capture_begins(tmp_path, first_norm, last_norm, cut):
    kernels = [kernel for _ in range(4) for kernel in one_pass(first_norm, last_norm)][cut:]
    lake = yield begun(tmp_path, kernels)
    assert layers_of(lake) == [layer for _, _, layer in kernels]


@pytest.mark.parametrize("cut", [0, 1, *range(7, 50, 6)])
@in_one_lake
def test_a_first_norm_like_those_behind_the_halves_is_none_of_the_norms_before_them(tmp_path, cut):
    # Gemma 2: the norms before the halves add the residual, but for the first one.
    rms_norm = "void flashinfer::norm::RMSNormKernel<8u>"
    kernels = [kernel for _ in range(4) for kernel in one_pass(rms_norm, NORM[0], rms_norm)][cut:]
    lake = yield begun(tmp_path, kernels)
    assert layers_of(lake) == [layer for _, _, layer in kernels]
