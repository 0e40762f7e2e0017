"""Write a large, deterministic Kineto trace of an LLM server: mostly Python frames, as real ones are.

    python benchmarks/generate.py OUT.json.gz --events 1930000

The mix copies a real eager serving trace recorded with stacks: 88 % Python frames, 5 % CPU operators, 2.5 % flow
events, 2 % runtime calls, 1.3 % memory instants and 1 % kernels. The order in the file is the profiler's own:
operators, then memory instants, then frames, then device activity with its launches and flows. As in real ones, what
a thread calls lies in what calls it, and one frame in a hundred is a call of a module. No random source is used: the
same size gives the same bytes on every machine.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path

LAYERS = 36
KERNELS_PER_LAYER = 14
FRAMES_PER_KERNEL = 88
OPS_PER_KERNEL = 5
#: Events of one forward pass: frames, operators, instants, and launch + kernel + two flow ends for each kernel.
EVENTS_PER_PASS = LAYERS * KERNELS_PER_LAYER * (FRAMES_PER_KERNEL + OPS_PER_KERNEL + 1 + 4)

KERNELS = (
    ("void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, __hip_bfloat16, 256, 16, true, 1>(int, float)", 118),
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1", 1465),
    ("void at::native::elementwise_kernel_manual_unroll<128, 8, at::native::direct_copy_kernel_cuda>(int)", 68),
    ("void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, __hip_bfloat16, 64, 8, true, 1>(int, float)", 392),
    ("void at::native::elementwise_kernel_manual_unroll<128, 8, at::native::direct_copy_kernel_cuda>(int)", 23),
    ("void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, __hip_bfloat16, 64, 8, false, 1>(int, float)", 100),
    ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, int, int)", 132),
    ("void store_kvcache<1024l>(char*, char*, long*, char const*, char const*, long, unsigned int)", 37),
    ("void ck_tile::kentry<FmhaBatchPrefillWithPagedKVCacheKernel, 256, 2>(FmhaBatchPrefillKargs)", 536),
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1", 823),
    ("void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, __hip_bfloat16, 256, 16, true, 1>(int, float)", 118),
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x320x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1", 6783),
    ("void sgl_hip::activation::act_and_mul_kernel<__hip_bfloat16, &silu>(__hip_bfloat16*, int)", 459),
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x224x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1", 2634),
)
OPS = ("aten::linear", "aten::matmul", "aten::mm", "aten::empty_strided", "aten::as_strided")
FILES = (
    "sglang/srt/managers/scheduler.py(%d): event_loop_overlap",
    "sglang/srt/model_executor/model_runner.py(%d): forward_extend",
    "torch/nn/modules/module.py(%d): _wrapped_call_impl",
    "torch/nn/modules/module.py(%d): _call_impl",
    "sglang/srt/models/qwen3.py(%d): forward",
    "sglang/srt/layers/linear.py(%d): apply",
    "<built-in function linear>",
    "<built-in method empty_strided of type object at 0x7f4c2a>",
    "aiter/jit/core.py(%d): wrapper",
    "typing.py(%d): inner",
)
#: The modules of a layer: name, depth below the layer, first and last of the kernels that they launch, instances.
MODULES = (
    ("RMSNorm", 1, 0, 0, 2),
    ("Qwen3Attention", 1, 1, 9, 1),
    ("QKVParallelLinear", 2, 1, 2, 1),
    ("RMSNorm", 2, 3, 4, 2),
    ("RMSNorm", 2, 5, 5, 2),
    ("RotaryEmbedding", 2, 6, 6, 1),
    ("RadixAttention", 2, 7, 8, 1),
    ("RowParallelLinear", 2, 9, 9, 2),
    ("RMSNorm", 1, 10, 10, 2),
    ("Qwen2MLP", 1, 11, 13, 1),
    ("MergedColumnParallelLinear", 2, 11, 11, 1),
    ("SiluAndMul", 2, 12, 12, 1),
    ("RowParallelLinear", 2, 13, 13, 2),
)

# Kineto prints its profile on several lines with this indentation; the byte mix matters for a parser's speed.
FRAME = """  {
    "ph": "X", "cat": "python_function", "name": "%s", "pid": 251, "tid": 251,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "Python parent id": %d, "Python id": %d, "Ev Idx": %d
    }
  },
"""
OP = """  {
    "ph": "X", "cat": "cpu_op", "name": "%s", "pid": 251, "tid": 251,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d,"Record function id": 0, "Concrete Inputs": ["", "", ""], "Input type": ["c10::BFloat16", \
"c10::BFloat16", ""], "Input Strides": [[4096, 1], [4096, 1], []], "Input Dims": [[15360, 4096], [%d, 4096], []], \
"Ev Idx": %d
    }
  },
"""
INSTANT = """  {
    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",
    "pid": 251, "tid": 251,
    "ts": %d.%03d,
    "args": {
      "Total Reserved": 152171446272, "Total Allocated": 151811957760, "Bytes": 262144, "Device Id": 0, \
"Device Type": 6, "Addr": %d, "Ev Idx": %d
    }
  },
"""
KERNEL = """  {
    "ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 3,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d,"device": 0, "stream": 3, "correlation": %d, "kind": "Dispatch Kernel", \
"grid": [1024, 1, 1], "block": [256, 1, 1]
    }
  },
  {
    "ph": "f", "id": %d, "pid": 0, "tid": 3, "ts": %d.%03d,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 251, "tid": 251,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d,"kernel": "%s", "cid": 107, "correlation": %d, "grid": [1024, 1, 1], "block": [256, 1, 1], \
"shared memory": 0
    }
  },
  {
    "ph": "s", "id": %d, "pid": 251, "tid": 251, "ts": %d.%03d,
    "cat": "ac2g", "name": "ac2g"
  },
"""
HEADER = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 206141652992,
      "computeMajor": 9, "computeMinor": 4, "warpSize": 64, "numSms": 304
    }
  ],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
  "with_stack": 1, "record_shapes": 1,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1759300074000000000,
  "traceEvents": [
"""
FOOTER = """  {
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": %d.000
  }
  ],
  "traceName": "synthetic.json"
}
"""
ORIGIN_NS = 4909733314686437
PASS_NS = 520_000_000
#: The host's work for a kernel takes as long as the kernel, and starts this much earlier.
HOST_AHEAD_NS = 1_000_000
LAUNCH_NS = 8_000


def kernel_slots(passes: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (slot, kernel in layer, start ns, duration ns) of every kernel, in time order and without overlap."""
    slot = 0
    for index in range(passes):
        clock = ORIGIN_NS + index * PASS_NS + 2_000_000
        for layer in range(LAYERS):
            for position, (_, mean_us) in enumerate(KERNELS):
                dur = mean_us * 1000 + (slot * 7919 + layer * 104729) % (mean_us * 40)
                yield slot, position, clock, dur
                clock += dur + 1
                slot += 1


def modules(slots: list[tuple[int, int, int, int]]) -> Iterator[tuple[int, str, int, int]]:
    """Yield (first slot, name, start ns, end ns) of the module calls that launch a pass's kernels."""

    def call(name: str, depth: int, first: int, last: int) -> tuple[int, str, int, int]:
        (slot, _, begin, _), (_, _, start, dur) = slots[first], slots[last]
        return slot, f"nn.Module: {name}", begin - HOST_AHEAD_NS + depth * 20, start + dur - HOST_AHEAD_NS - depth * 20

    yield call("Qwen3Model_0", 0, 0, len(slots) - 1)
    for layer in range(LAYERS):
        base, seen = layer * KERNELS_PER_LAYER, dict[str, int]()
        yield call(f"Qwen3DecoderLayer_{layer}", 1, base, base + KERNELS_PER_LAYER - 1)
        for name, depth, first, last, in_layer in MODULES:
            nth = seen[name] = seen.get(name, -1) + 1
            yield call(f"{name}_{layer * in_layer + nth}", depth + 1, base + first, base + last)


def frames(passes: int) -> Iterator[tuple[int, str, int, int]]:
    """Yield (slot, name, start ns, end ns) of all Python frames, slot by slot, each nested in the one before."""
    slots = list(kernel_slots(passes))
    per_pass = LAYERS * KERNELS_PER_LAYER
    for begin in range(0, len(slots), per_pass):
        calls: dict[int, list[tuple[int, str, int, int]]] = {}
        for made in modules(slots[begin : begin + per_pass]):
            calls.setdefault(made[0], []).append(made)
        for slot, _, start, dur in slots[begin : begin + per_pass]:
            own = calls.get(slot, [])
            yield from own
            for nth in range(FRAMES_PER_KERNEL - len(own)):
                name = FILES[(slot * 3 + nth) % len(FILES)]
                if "%d" in name:
                    name %= (nth * 37 + 11) % 1900
                inset = 100 + nth * 60 + slot % 13
                yield slot, name, start - HOST_AHEAD_NS + inset, start + dur - HOST_AHEAD_NS - inset


def chunks(passes: int) -> Iterator[str]:
    """Yield the text of the trace piece by piece."""
    yield HEADER
    event = 0
    for slot, position, start, dur in kernel_slots(passes):
        out = []
        for nth in range(OPS_PER_KERNEL):
            # Each operator calls the next, except the last two, which are siblings; the launch follows, in the third.
            t = start - HOST_AHEAD_NS + (6_000 + nth * 300 if nth < 3 else 6_000 + nth * 400 - dur % 97)
            length = 9_500 - nth * 600 + dur % 97 if nth < 3 else 300
            out.append(
                OP % (OPS[nth], *divmod(t, 1000), *divmod(length, 1000), slot * OPS_PER_KERNEL + nth,
                      4096 + 128 * position, event)
            )  # fmt: skip
            event += 1
        yield "".join(out)
    for slot, _, start, _ in kernel_slots(passes):
        yield INSTANT % (*divmod(start - HOST_AHEAD_NS + 500, 1000), 139443981778944 + slot * 512, event)
        event += 1
    for python_id, (_, name, start, end) in enumerate(frames(passes), 1):
        yield FRAME % (name, *divmod(start, 1000), *divmod(end - start, 1000), python_id - 1, python_id, event)
        event += 1
    end = ORIGIN_NS
    for slot, position, start, dur in kernel_slots(passes):
        name = KERNELS[position][0]
        launch = start - HOST_AHEAD_NS + LAUNCH_NS
        external, correlation, end = slot * OPS_PER_KERNEL + 2, 66148 + slot, start + dur
        yield KERNEL % (
            name, *divmod(start, 1000), *divmod(dur, 1000), external, correlation,
            correlation, *divmod(start, 1000),
            *divmod(launch, 1000), *divmod(4_000 + slot % 900, 1000), external, name, correlation,
            correlation, *divmod(launch, 1000),
        )  # fmt: skip
    yield FOOTER % (end // 1000 + 10)


def write(path: Path, events: int) -> None:
    """Write a trace of about `events` events to `path`, gzipped when the name ends in .gz."""
    passes = max(1, round(events / EVENTS_PER_PASS))
    with gzip.open(path, "wt", compresslevel=6) if path.suffix == ".gz" else path.open("w") as out:
        for text in chunks(passes):
            out.write(text)


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("path", type=Path)
    parser.add_argument("--events", type=int, default=1_930_000)
    options = parser.parse_args()
    write(options.path, options.events)


if __name__ == "__main__":
    main()
