"""What reading a large XSpace costs, beside protobuf's own parse of the same bytes.

    python benchmarks/xspace.py CAPTURE.xplane.pb --megabytes 100 400 1000

The events of every line of a capture are repeated, each time later by the length of the capture, until the file is that
large. The yardstick parses the file into protobuf's messages (upb, in C) and looks at none of them. Seconds are of CPU,
of fresh processes, since other work on a machine lengthens the time of both.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from nsys import READ, measure  # type: ignore[import-not-found]

from tracelake.ingest.xspace.wire import BYTES, fields_of
from tracelake.synthetic.xspace import message, varint

#: Fields of the messages XSpace, XPlane, XLine and XEvent.
PLANES, LINES, EVENTS, OFFSET, DURATION = 1, 3, 4, 2, 3
#: Bytes of an offset: enough for nearly all of them in a large file.
SLOT = 8
#: The schema, as far as captures use it, with protobuf's type numbers.
SCHEMA = {
    "Stat": [("id", 1, 3), ("d", 2, 1), ("u", 3, 4), ("i", 4, 3), ("s", 5, 9), ("b", 6, 12), ("r", 7, 4)],
    "Event": [("id", 1, 3), ("offset", 2, 3), ("duration", 3, 3), ("stats", 4, "Stat"), ("count", 5, 3)],
    "Line": [
        ("id", 1, 3), ("name", 2, 9), ("start", 3, 3), ("events", 4, "Event"), ("duration", 9, 3),
        ("display_id", 10, 3), ("display_name", 11, 9),
    ],
    "EventName": [("id", 1, 3), ("name", 2, 9), ("metadata", 3, 12), ("display", 4, 9), ("stats", 5, "Stat")],
    "StatName": [("id", 1, 3), ("name", 2, 9), ("description", 3, 9)],
    "EventNames": [("key", 1, 3), ("value", 2, "EventName")],
    "StatNames": [("key", 1, 3), ("value", 2, "StatName")],
    "Plane": [
        ("id", 1, 3), ("name", 2, 9), ("lines", 3, "Line"), ("events", 4, "EventNames"), ("keys", 5, "StatNames"),
        ("stats", 6, "Stat"),
    ],
    "Space": [("planes", 1, "Plane"), ("errors", 2, 9), ("warnings", 3, 9), ("hosts", 4, 9)],
}  # fmt: skip
PARSE = f"""
import sys
from pathlib import Path
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
file = descriptor_pb2.FileDescriptorProto(name="x.proto", package="x", syntax="proto3")
for name, fields in {SCHEMA!r}.items():
    made = file.message_type.add(name=name)
    for field, number, kind in fields:
        one = made.field.add(name=field, number=number, label=1 if isinstance(kind, int) else 3)
        if isinstance(kind, int):
            one.type = kind
        else:
            one.type, one.type_name = 11, ".x." + kind
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
space = message_factory.GetMessageClass(pool.FindMessageTypeByName("x.Space"))()
space.ParseFromString(Path(sys.argv[1]).read_bytes())
"""


def within(data: bytes, number: int) -> Iterator[bytes]:
    """Yield the content of a message's fields with this number."""
    return (inner for one, inner in fields_of(data) if one.number == number)


def lines_of(capture: bytes) -> Iterator[bytes]:
    """Yield the lines of all planes."""
    return (line for plane in within(capture, PLANES) for line in within(plane, LINES))


def longest(capture: bytes) -> int:
    """Return the end of a capture's last event, from the start of its line, ps."""
    last = 0
    for line in lines_of(capture):
        for event in within(line, EVENTS):
            found = {field.number: field.value for field, _ in fields_of(event)}
            last = max(last, found.get(OFFSET, 0) + found.get(DURATION, 0))
    return last


def repeated(line: bytes, length: int, count: int) -> bytes:
    """Return a line with its events `count` times, each time later by `length` ps."""
    around, template, offsets, slots, at = b"", bytearray(), [], [], 0
    for one, event in fields_of(line):
        if one.number == EVENTS:
            fields = [(field, event[field.start : field.end]) for field, _ in fields_of(event)]
            offset = next((field.value for field, _ in fields if field.number == OFFSET), 0)
            cut = [field.end for field, _ in fields]
            begins = [0, *cut]
            kept = [event[begins[nth] : cut[nth]] for nth, (field, _) in enumerate(fields) if field.number != OFFSET]
            body = kept[0] + varint(OFFSET << 3) + bytes(SLOT) + b"".join(kept[1:])
            slots.append(len(template) + 1 + len(varint(len(body))) + len(kept[0]) + 1)
            template += message(EVENTS, body)
            offsets.append(offset)
        else:
            around += line[at : one.end]
        at = one.end
    if not offsets:
        return line
    copies = np.tile(np.frombuffer(template, np.uint8), (count, 1))
    later = np.array(offsets, np.int64) + np.arange(count)[:, None] * length
    for byte in range(SLOT):
        last = byte == SLOT - 1
        copies[:, np.array(slots) + byte] = later >> (7 * byte) & 127 | (0 if last else 128)
    return around + copies.tobytes()


def enlarge(capture: bytes, path: Path, size: int) -> None:
    """Write a capture with its events repeated until the file has about the given size."""
    length = longest(capture)
    lines = list(lines_of(capture))
    first = sum(len(repeated(line, length, 1)) for line in lines)
    each = sum(len(repeated(line, length, 2)) for line in lines) - first
    count = max(1, round((size - len(capture)) / each))
    with path.open("wb") as out:
        for plane in within(capture, PLANES):
            parts, at = [], 0
            for inner, line in fields_of(plane):
                whole = (
                    message(LINES, repeated(line, length, count)) if inner.number == LINES else plane[at : inner.end]
                )
                parts.append(whole)
                at = inner.end
            out.write(varint(PLANES << 3 | BYTES) + varint(sum(map(len, parts))))
            out.writelines(parts)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[100, 400, 1000])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="xspace-") as folder:
        for size in given.megabytes:
            path = Path(folder, f"{size}.xplane.pb")
            # In a separate process: this one's memory would count towards the peak of its children.
            maker = multiprocessing.get_context("spawn").Process(
                target=enlarge, args=(given.capture.read_bytes(), path, size * 1_000_000)
            )
            maker.start()
            maker.join()
            parsed, read = measure(PARSE, str(path)), measure(READ, str(path), folder)
            print(f"{path.stat().st_size / 1e6:.0f} MB")
            for name, (cpu, seconds, peak) in (("parse", parsed), ("read", read)):
                print(f"{name:6} {cpu:7.1f} s of CPU  {seconds:7.1f} s  {peak:6.0f} MB  {cpu / parsed[0]:5.1f} x")
            path.unlink()


if __name__ == "__main__":
    main()
