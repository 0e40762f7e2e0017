"""Compiled programs in an XSpace: the HLO proto of each as one row, rendered as text as far as possible.

The text has computations, instructions, shapes with layouts, operands, called computations and the source location
of instructions. It has no literals (weights are among them), windows, dimension numbers and backend settings: it is
for reading, and XLA's own parser would not accept it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..notes import Notes
from .wire import BYTES, Bytes, Field, WireError, fields_of, signed, varint_at

#: Maximum characters of a program's text; of larger programs the first computations are rendered.
LONGEST_TEXT = 8 << 20
#: Maximum bytes of an instruction's description.
_LARGEST = 1 << 20
#: Maximum nesting of shapes.
_DEEPEST = 32
_TUPLE = 13
#: Names of the enumeration PrimitiveType.
_TYPES = {
    1: "pred", 2: "s8", 3: "s16", 4: "s32", 5: "s64", 6: "u8", 7: "u16", 8: "u32", 9: "u64", 10: "f16", 11: "f32",
    12: "f64", 14: "opaque", 15: "c64", 16: "bf16", 17: "token", 18: "c128", 19: "f8e5m2", 20: "f8e4m3fn", 21: "s4",
    22: "u4", 23: "f8e4m3b11fnuz", 24: "f8e5m2fnuz", 25: "f8e4m3fnuz", 26: "s2", 27: "u2", 28: "f8e4m3", 29: "f8e3m4",
    30: "s1", 31: "u1", 32: "f4e2m1fn", 33: "f8e8m0fnu",
}  # fmt: skip
#: Fields of the messages HloProto, HloModuleProto, HloComputationProto and HloInstructionProto.
_MODULE = 1
_MODULE_NAME, _ENTRY_NAME, _COMPUTATIONS = 1, 2, 3
_NAME, _INSTRUCTIONS, _COMPUTATION_ID, _ROOT = 1, 2, 5, 6
_OPCODE, _SHAPE, _METADATA, _PARAMETER, _INDEX, _DIMENSIONS, _TARGET = 2, 3, 7, 9, 13, 14, 28
_ID, _OPERANDS, _CALLED = 35, 36, 38
_READ = frozenset({
    _NAME, _OPCODE, _SHAPE, _METADATA, _PARAMETER, _INDEX, _DIMENSIONS, _TARGET, _ID, _OPERANDS, _CALLED,
})  # fmt: skip


@dataclass
class _Program:
    """The parsed parts of a program."""

    name: str = ""
    entry: str = ""
    computations: int = 0
    instructions: int = 0
    parts: list[str] = field(default_factory=list)
    size: int = 0

    def is_whole(self) -> bool:
        """Return whether the text has all instructions."""
        return self.size <= LONGEST_TEXT


def program_rows(file: Bytes, programs: list[tuple[int, str, Field]], notes: Notes, event: int) -> Iterator[str]:
    """Yield the arguments of a row for each program, as JSON text.

    Args:
        file: the file.
        programs: number, name and location of each HLO proto.
        notes: collects those that cannot be read.
        event: the number of the next event.
    """
    for number, name, place in programs:
        program = _Program()
        try:
            for one in file.fields(place.start, place.end):
                if one.number == _MODULE and one.wire == BYTES:
                    _read_module(file, one, program)
            if not program.name:
                raise WireError("no module in it")
        except WireError as error:
            notes.reject(event, f"the HLO of {name} is damaged: {error}", "")
            continue
        text = f"HloModule {program.name}\n\n" + "\n\n".join(program.parts)
        match = re.search(r"\((\d+)\)$", name)
        yield json.dumps(
            {
                "name": program.name,
                "program_id": match[1] if match else str(number),
                "entry": program.entry,
                "computations": program.computations,
                "instructions": program.instructions,
                "proto_bytes": place.end - place.start,
                "is_whole": program.is_whole(),
                "text": text,
            },
            ensure_ascii=False,
        )


def _read_module(file: Bytes, module: Field, program: _Program) -> None:
    computations, names = [], dict[int, str]()
    for one in file.fields(module.start, module.end):
        if one.wire != BYTES:
            continue
        if one.number == _MODULE_NAME:
            program.name = _text(file, one)
        elif one.number == _ENTRY_NAME:
            program.entry = _text(file, one)
        elif one.number == _COMPUTATIONS:
            number, name = 0, ""
            for inner in file.fields(one.start, one.end):
                if inner.number == _NAME and inner.wire == BYTES:
                    name = _text(file, inner)
                elif inner.number == _COMPUTATION_ID:
                    number = inner.value
            names[number] = name
            computations.append((one, number))
    for one, number in computations:
        program.computations += 1
        _read_computation(file, one, names, names[number], program)


def _read_computation(file: Bytes, place: Field, names: dict[int, str], name: str, program: _Program) -> None:
    fields = list(file.fields(place.start, place.end))
    root = next((one.value for one in fields if one.number == _ROOT), 0)
    instructions = [one for one in fields if one.number == _INSTRUCTIONS and one.wire == BYTES]
    program.instructions += len(instructions)
    if not program.is_whole():
        return
    entry = "ENTRY " if name == program.entry else ""
    lines, known = [f"{entry}%{name} {{"], dict[int, str]()
    for one in instructions:
        line = _instruction(file, one, root, known, names)
        program.size += len(line)
        if not program.is_whole():
            lines.append("  ...")
            break
        lines.append(line)
    program.parts.append("\n".join([*lines, "}"]))


def _instruction(file: Bytes, place: Field, root: int, known: dict[int, str], names: dict[int, str]) -> str:
    """Return an instruction as a line of text."""
    name = opcode = shape = target = origin = ""
    number = parameter = index = 0
    operands, called, dimensions = list[int](), list[int](), list[int]()
    for one in file.fields(place.start, place.end):
        if one.number not in _READ:
            continue
        data = file.read(one.start, min(one.end, one.start + _LARGEST)) if one.wire == BYTES else b""
        if one.number == _NAME:
            name = data.decode("utf-8", "replace")
        elif one.number == _OPCODE:
            opcode = data.decode("utf-8", "replace")
        elif one.number == _SHAPE:
            shape = shape_text(data)
        elif one.number == _METADATA:
            origin = _origin(data)
        elif one.number == _TARGET:
            target = data.decode("utf-8", "replace")
        elif one.number == _ID:
            number = one.value
        elif one.number == _PARAMETER:
            parameter = one.value
        elif one.number == _INDEX:
            index = one.value
        else:
            {_OPERANDS: operands, _CALLED: called, _DIMENSIONS: dimensions}[one.number].extend(_numbers(one, data))
    known[number] = name
    inside = {"parameter": str(parameter), "constant": "..."}.get(
        opcode, ", ".join(f"%{known.get(one, one)}" for one in operands)
    )
    more = [f"dimensions={{{','.join(map(str, dimensions))}}}"] if dimensions else []
    more += [f"index={index}"] if opcode == "get-tuple-element" else []
    more += [f'custom_call_target="{target}"'] if target else []
    more += [f"calls={', '.join('%' + names.get(one, str(one)) for one in called)}"] if called else []
    more += [origin] if origin else []
    first = "ROOT " if number == root else ""
    return f"  {first}%{name} = {shape} {opcode}({inside})" + "".join(f", {text}" for text in more)


def shape_text(data: bytes, depth: int = 0) -> str:
    """Return a ShapeProto as HLO text: `bf16[8,128]{1,0}`, `(f32[], s32[4]{0})`.

    Raises:
        WireError: it is invalid, or nested too deeply.
    """
    if depth > _DEEPEST:
        raise WireError("a shape is too deep")
    kind, dimensions, layout, inner = 0, list[int](), list[int](), list[str]()
    for one, text in fields_of(data):
        if one.number == 2:
            kind = one.value
        elif one.number == 3:
            dimensions += _numbers(one, text)
        elif one.number == 4:
            inner.append(shape_text(text, depth + 1))
        elif one.number == 5:
            for part, order in fields_of(text):
                if part.number == 1:
                    layout += _numbers(part, order)
    if kind == _TUPLE:
        return f"({', '.join(inner)})"
    order_text = f"{{{','.join(map(str, layout))}}}" if layout else ""
    return f"{_TYPES.get(kind, f'type{kind}')}[{','.join(map(str, dimensions))}]{order_text}"


def _numbers(one: Field, data: bytes) -> list[int]:
    """Return the numbers of a repeated field, single or packed."""
    if one.wire != BYTES:
        return [signed(one.value)]
    found, at = [], 0
    while at < len(data):
        value, at = varint_at(data, at)
        found.append(signed(value))
    return found


def _origin(data: bytes) -> str:
    """Return the source location in an instruction's metadata."""
    texts = {one.number: text.decode("utf-8", "replace") if text else str(one.value) for one, text in fields_of(data)}
    source = ":".join(texts[key] for key in (3, 4) if key in texts)
    parts = [f'op_name="{texts[2]}"'] if 2 in texts else []
    parts += [f'source="{source}"'] if 3 in texts else []
    return f"metadata={{{' '.join(parts)}}}" if parts else ""


def _text(file: Bytes, one: Field) -> str:
    return file.read(one.start, min(one.end, one.start + _LARGEST)).decode("utf-8", "replace")
