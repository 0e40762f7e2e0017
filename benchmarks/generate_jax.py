"""Write a large, deterministic JAX trace of a TPU whose operations lie in each other, as in a program of loops.

    python benchmarks/generate_jax.py OUT.json --events 1000000

Each run of the program is a loop around the layers of a model; each layer is a loop around its operations, a third of
which hold one more. Arguments are those of a real trace: category, instruction, path, counts, and the offset and
duration that differ from event to event. The same size gives the same bytes on every machine.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

LAYERS = 64
#: Name, category, operands in the instruction, last part of the path, operations, bytes.
OPS = (
    ("fusion", "loop fusion", "bf16[1024,5120]{1,0:T(8,128)(2,1)} %%param.%d", "mul", 10485760, 20971520),
    (
        "convolution_bitcast_fusion", "convolution fusion",
        "bf16[27648,5120]{1,0:T(16,128)(2,1)} %%param.%d, bf16[1024,5120]{1,0:T(8,128)(2,1)} %%all-reduce.4",
        "MergedColumnParallelLinear/mn,pn->mp/dot_general", 289941749760, 360724480,
    ),
    ("all-reduce", "all-reduce", "bf16[1024,5120]{1,0:T(8,128)(2,1)} %%fusion.%d", "psum", 0, 20971520),
    ("copy", "data formatting", "bf16[1024,64]{1,0:T(8,128)(2,1)S(1)} %%get-tuple-element.%d", "slice", 0, 262144),
    ("RPA-bq_32-bkvp_64", "custom-call", "s32[257]{0:T(512)} %%param.%d", "jit(_attn)/pallas_call", 0, 0),
    ("add_rsqrt_fusion", "loop fusion", "f32[1024]{0:T(1024)S(1)} %%fusion.%d", "rsqrt", 2048, 8192),
)  # fmt: skip
#: Events of a run of the program: the run, its loop, a loop per layer, operations and their nested ones.
EVENTS_PER_LAYER = 1 + 12 + 4
EVENTS_PER_RUN = 2 + LAYERS * EVENTS_PER_LAYER
OP_NS = 5_000
LAYER_NS = 13 * OP_NS
RUN_NS = (LAYERS + 2) * LAYER_NS
SOURCE = "/home/user/vllm/model_executor/models/qwen2.py"


def event(tid: int, name: str, start_ns: int, dur_ns: int, **args: str) -> str:
    """Return one event of the device's process as text."""
    found = {
        "ph": "X", "pid": 3, "tid": tid, "ts": start_ns / 1000, "dur": dur_ns / 1000, "name": name,
        "args": {"device_offset_ps": str(start_ns * 1000), "device_duration_ps": str(dur_ns * 1000), **args},
    }  # fmt: skip
    return json.dumps(found)


def instruction(name: str, category: str, operands: str, path: str, flops: int, moved: int, nth: int) -> dict[str, str]:
    """Return the arguments of an operation."""
    result = "bf16[1024,1,27648]{2,0,1:T(16,128)(2,1)}"
    return {
        "hlo_category": category,
        "long_name": f"%{name}.{nth} = {result} fusion({operands % nth}), kind=kOutput, calls=%fused.{nth}",
        "shape_with_layout": result,
        "deduplicated_name": f"{name}.1",
        "model_flops": str(flops),
        "bytes_accessed": str(moved),
        "raw_bytes_accessed": str(moved),
        "source": f"{SOURCE}:{nth % 400}",
        "source_stack": "\n".join(f"{SOURCE}:{line}:15" for line in range(nth % 400, nth % 400 + 7)),
        "tf_op": f"jit(step_fun)/jvp(Model)/layer_{nth % LAYERS}/{path}:",
    }


def layer(start: int, nth: int) -> Iterator[str]:
    """Yield the events of one layer: a loop, its operations, and those inside them."""
    yield event(3, f"while.{nth}", start, LAYER_NS - 100, hlo_category="while")
    for place in range(12):
        name, category, operands, path, flops, moved = OPS[place % len(OPS)]
        op = 12 * nth + place
        at = start + place * OP_NS
        args = instruction(name, category, operands, path, flops, moved, op)
        yield event(3, f"{name}.{op}", at, OP_NS - 1, **args)
        if place % 3 == 0:
            yield event(3, f"{name}.clone.{op}", at + 500, OP_NS - 1_000, **args)


def chunks(runs: int) -> Iterator[str]:
    """Yield the text of the trace piece by piece."""
    yield '{"displayTimeUnit": "ns", "traceEvents": [\n'
    for kind, tid, name in (("process", 0, "/device:TPU:0"), ("thread", 2, "XLA Modules"), ("thread", 3, "XLA Ops")):
        named = {"ph": "M", "pid": 3, "tid": tid, "name": f"{kind}_name", "args": {"name": name}}
        yield json.dumps(named) + ",\n"
    for run in range(runs):
        start = 1_000_000 + run * RUN_NS
        yield event(2, "jit_step_fun(42)", start, RUN_NS - LAYER_NS, run_id=str(run)) + ",\n"
        yield event(3, "while.99", start, RUN_NS - LAYER_NS - 10, hlo_category="while") + ",\n"
        for nth in range(LAYERS):
            yield "".join(text + ",\n" for text in layer(start + 50 + nth * LAYER_NS, nth))
    yield "{}]}\n"


def write(path: Path, events: int) -> None:
    """Write a trace of about `events` events to `path`."""
    with path.open("w") as out:
        for text in chunks(max(1, round(events / EVENTS_PER_RUN))):
            out.write(text)


def main() -> None:
    """Write the trace that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--events", type=int, default=1_000_000)
    options = parser.parse_args()
    write(options.path, options.events)


if __name__ == "__main__":
    main()
