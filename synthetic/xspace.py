"""Small XSpace files (`.xplane.pb`) with known figures, written in protobuf's wire format.

`tpu_space` is two steps of a program on a device that calls itself a TPU v6 Lite (918 TFLOP/s in BF16, 1638 GB/s):

    operation      us  FLOP        bytes       category
    fusion.1      200  91_800_000_000 (half of the peak)  163_800_000 (half of the bandwidth)  convolution fusion
    all-reduce.2  100  0           1_000_000   all-reduce
    copy.3         50  0           40_950_000 (half of the bandwidth)                          data formatting

A step takes 400 us, its operations follow each other from its start. Its HLO has the three instructions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Value = int | float | str | bytes
STEPS, STEP_US = 2, 400
#: Name, category, us, FLOP, bytes.
OPERATIONS = (
    ("fusion.1", "convolution fusion", 200, 91_800_000_000, 163_800_000),
    ("all-reduce.2", "all-reduce", 100, 0, 1_000_000),
    ("copy.3", "data formatting", 50, 0, 40_950_000),
)
PROGRAM = 77
#: 2026-01-02 03:04:05 UTC.
BEGAN_NS = 1_767_323_045_000_000_000


@dataclass(frozen=True)
class Event:
    """An event of a line.

    Attributes:
        name: its name.
        offset_ps: start from the line's, ps.
        duration_ps: duration, ps; 0 is not written.
        stats: its own.
        about: those of all events of this name; taken from the first one.
        shown: the name to show, where it has another.
    """

    name: str
    offset_ps: int
    duration_ps: int = 0
    stats: Mapping[str, Value] = field(default_factory=dict)
    about: Mapping[str, Value] = field(default_factory=dict)
    shown: str = ""


@dataclass(frozen=True)
class Line:
    """A line: its name, its number, where the offsets of its events count from, and these."""

    name: str
    number: int
    events: Sequence[Event]
    start_ns: int = 0


def varint(value: int) -> bytes:
    """Return a number as a varint; a negative one as a 64-bit two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def number(key: int, value: int) -> bytes:
    """Return a numeric field, nothing for 0."""
    return varint(key << 3) + varint(value) if value else b""


def message(key: int, *parts: bytes) -> bytes:
    """Return a field of bytes."""
    content = b"".join(parts)
    return varint(key << 3 | 2) + varint(len(content)) + content


def text(key: int, value: str) -> bytes:
    """Return a text field."""
    return message(key, value.encode())


def space(*planes: bytes, host: str = "") -> bytes:
    """Return an XSpace of planes, with a host name."""
    return b"".join(message(1, plane) for plane in planes) + (text(4, host) if host else b"")


def plane(name: str, lines: Iterable[Line] = (), number_: int = 0, stats: Mapping[str, Value] | None = None) -> bytes:
    """Return a plane: lines first, then the names of their events and stats, as profilers write it."""
    keys: dict[str, int] = {}
    events: dict[str, tuple[int, Event]] = {}

    def stat(key: int, named: str, value: Value) -> bytes:
        held = number(1, keys.setdefault(named, len(keys) + 1))
        if isinstance(value, float):
            return message(key, held, varint(2 << 3 | 1), struct.pack("<d", value))
        if isinstance(value, bytes):
            return message(key, held, message(6, value))
        if isinstance(value, str):
            return message(key, held, number(7, keys.setdefault(value, len(keys) + 1)))
        return message(key, held, varint(4 << 3), varint(value))

    def event(one: Event) -> bytes:
        known = events.setdefault(one.name, (len(events) + 1, one))[0]
        own = [stat(4, key, value) for key, value in one.stats.items()]
        return message(4, number(1, known), number(2, one.offset_ps), number(3, one.duration_ps), *own)

    def described(known: int, one: Event) -> bytes:
        about = [stat(5, key, value) for key, value in one.about.items()]
        shown = [text(4, one.shown)] if one.shown else []
        return message(4, number(1, known), message(2, number(1, known), text(2, one.name), *shown, *about))

    content = number(1, number_) + text(2, name)
    for line in lines:
        parts = [number(1, line.number), text(2, line.name), number(3, line.start_ns)]
        content += message(3, *parts, *map(event, line.events))
    content += b"".join(described(*one) for one in events.values())
    own = b"".join(stat(6, key, value) for key, value in (stats or {}).items())
    names = [message(5, number(1, known), message(2, number(1, known), text(2, key))) for key, known in keys.items()]
    return content + b"".join(names) + own


def programs(*protos: tuple[str, bytes]) -> bytes:
    """Return the plane with the HLO protos of programs."""
    content = text(2, "/host:metadata")
    for nth, (name, proto) in enumerate(protos, 1):
        about = message(5, number(1, 1), message(6, proto))
        content += message(4, number(1, nth), message(2, number(1, nth), text(2, name), about))
    return content + message(5, number(1, 1), message(2, number(1, 1), text(2, "Hlo Proto")))


def hlo(name: str, instructions: Sequence[tuple[str, str, Sequence[int]]]) -> bytes:
    """Return an HLO proto of one computation `main`; for each instruction: name, opcode, operands by position from 1.

    All have the shape bf16[8,128]{1,0}; the last one is the root.
    """
    shape = message(3, number(2, 16), message(3, b"\x08\x80\x01"), message(5, message(1, b"\x01\x00")))
    lines = [
        message(
            2, text(1, named), text(2, opcode), shape, number(35, nth), message(36, *map(varint, operands)),
            message(7, text(2, f"jit({name})/{opcode}"), text(3, "model.py"), number(4, nth)),
        )
        for nth, (named, opcode, operands) in enumerate(instructions, 1)
    ]  # fmt: skip
    computation = message(3, text(1, "main"), *lines, number(5, 1), number(6, len(instructions)))
    return message(1, text(1, name), text(2, "main"), computation)


def tpu_space(host: str = "", device: int = 0) -> bytes:
    """Return the file described in the module's docstring, as written by one host with one device."""
    us = 1_000_000
    operations, modules, steps = [], [], []
    for step in range(STEPS):
        at = step * STEP_US * us
        steps.append(Event(str(step), at, STEP_US * us, {"group_id": step}))
        modules.append(Event(f"jit_step({PROGRAM})", at, STEP_US * us, {"run_id": step + 1}))
        for name, category, long, flop, size in OPERATIONS:
            about: dict[str, Value] = {
                "hlo_category": category, "flops": flop, "model_flops": flop, "bytes_accessed": size,
                "program_id": PROGRAM, "tf_op": f"jit(step)/layer_0/{name}", "source": "model.py:1",
            }  # fmt: skip
            operations.append(Event(f"%{name} = bf16[8,128]", at, long * us, {}, about, shown=name))
            at += long * us
    lines = [Line("Steps", 1, steps, 5), Line("XLA Modules", 2, modules, 5), Line("XLA Ops", 3, operations, 5)]
    kind: dict[str, Value] = {
        "device_type_string": "TPU v6 Lite", "peak_teraflops_per_second": 918.0,
        "peak_hbm_bw_gigabytes_per_second": 1638.0,
    }  # fmt: skip
    first, second, third = (name for name, *_ in OPERATIONS)
    proto = hlo("jit_step", [(first, "fusion", ()), (second, "all-reduce", (1,)), (third, "copy", (2,))])
    began: dict[str, Value] = {"profile_start_time": BEGAN_NS}
    return space(
        programs((f"jit_step({PROGRAM})", proto)),
        plane(f"/device:TPU:{device}", lines, 2 + device, kind),
        plane("/host:CPU", [Line("python", 9, [Event("step", 0, 900 * us)])]),
        plane("Task Environment", stats=began),
        host=host,
    )
