"""Tables of Ascend kernels with counters and shapes, for the tests of what is calculated from them."""

import csv
import json
from pathlib import Path
from typing import Any

from tracelake.lake import Lake

#: What a row says that a test does not.
USUAL = {
    "Device_id": "0", "Task ID": "7", "Stream ID": "2", "Name": "Add", "Type": "Add",
    "Accelerator Core": "AI_VECTOR_CORE", "Start Time(us)": "0", "Duration(us)": "1", "Wait Time(us)": "0",
    "Block Num": "8", "Mix Block Num": "0", "Input Shapes": "N/A", "Input Data Types": "N/A", "Input Formats": "N/A",
    "Output Shapes": "N/A", "Output Data Types": "N/A", "Output Formats": "N/A",
}  # fmt: skip


def write_table(path: Path, *rows: dict[str, str], missing: str = "N/A") -> Path:
    """Write a table of kernels. A column that only some rows name is `missing` in the others."""
    columns = list(dict.fromkeys([*USUAL, *(column for row in rows for column in row)]))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval=missing, lineterminator="\n")
        writer.writeheader()
        for place, row in enumerate(rows):
            # Kernels follow each other, each after a microsecond of nothing, unless the test says otherwise.
            writer.writerow(USUAL | {"Start Time(us)": f"{1000 * place}.000"} | row)
    return path


def product(op_type: str, inputs: str, outputs: str, *, dtype: str = "DT_BF16", **more: str) -> dict[str, str]:
    """Return a row of the cube cores: `product("MatMulV2", "16,5120;5120,640", "16,640")`."""
    ins, outs = (";".join([dtype] * len(shapes.split(";"))) for shapes in (inputs, outputs))
    formats = (";".join(["ND"] * len(shapes.split(";"))) for shapes in (inputs, outputs))
    return {
        "Name": op_type, "Type": op_type, "Accelerator Core": "AI_CORE", "Block Num": "20",
        "Input Shapes": f'"{inputs}"', "Input Data Types": ins, "Input Formats": next(formats),
        "Output Shapes": f'"{outputs}"', "Output Data Types": outs, "Output Formats": next(formats), **more,
    }  # fmt: skip


def write_trace(path: Path, events: list[dict[str, Any]]) -> Path:
    """Write a Chrome trace."""
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def ask(lake: Lake, query: str) -> list[tuple]:
    """Return the rows of a question."""
    return lake.sql(query).fetchall()


def ask_one(lake: Lake, query: str) -> dict[str, Any]:
    """Return the one row of a question, by column."""
    answer = lake.sql(query)
    [row] = answer.fetchall()
    return dict(zip(answer.columns, row, strict=True))
