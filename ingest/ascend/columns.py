"""The columns of a table of kernels, and their names in each writer and version.

`kernel_details.csv` of torch_npu and MindSpore, `op_summary_*.csv` of CANN and the export of msprof-analyze name the
same columns differently. A column without a canonical name (mostly counters of the chip) keeps its header.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Canonical column -> headers, as `_plain` writes them.
ALIASES = {
    "step_id": ("step id",),
    "device_id": ("device id",),
    "model_name": ("model name",),
    "infer_id": ("infer id",),
    "model_id": ("model id",),
    "task_id": ("task id",),
    "stream_id": ("stream id",),
    "context_id": ("context id",),
    "name": ("name", "op name"),
    "op_type": ("type", "op type"),
    "op_state": ("op state",),
    "core": ("accelerator core", "task type"),
    "start": ("start time(us)", "task start time(us)", "task start time", "start time"),
    "dur": ("duration(us)", "task duration(us)", "task duration"),
    "wait": ("wait time(us)", "task wait time(us)"),
    # Of msprof-analyze: from the start of the task before, not from its end.
    "wait_from_start": ("task wait time",),
    "block_num": ("block dim", "block num"),
    "mix_block_num": ("mix block dim", "mix block num"),
    "hf32": ("hf32 eligible",),
    "input_shapes": ("input shapes",),
    "input_dtypes": ("input data types",),
    "input_formats": ("input formats",),
    "output_shapes": ("output shapes",),
    "output_dtypes": ("output data types",),
    "output_formats": ("output formats",),
}
_CANONICAL = {header: key for key, headers in ALIASES.items() for header in headers}
_STRIPPED = ' \t\r\n"'


@dataclass(frozen=True)
class Columns:
    """The header of one table.

    Attributes:
        header: the columns' names in the file.
        keys: their names in the lake: the canonical name, or the header if there is none.
    """

    header: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def counters(self) -> list[int]:
        """Positions of the columns without a canonical name: counters of the chip, and additions of later writers."""
        return [place for place, key in enumerate(self.keys) if key not in ALIASES]

    @property
    def missing(self) -> list[str]:
        """Required columns that the table lacks, named as in `kernel_details.csv`."""
        needed = [("start", "Start Time(us)"), ("dur", "Duration(us)")]
        lacking = [shown for key, shown in needed if key not in self.keys]
        return lacking if {"name", "op_type"} & set(self.keys) else ["Name or Type", *lacking]

    @property
    def start_lacks_unit(self) -> bool:
        """Whether starts have no unit beside durations in µs, as CANN and torch_npu wrote them until 2023."""
        start, dur = self.position("start"), self.position("dur")
        return (
            start is not None
            and dur is not None
            and [_plain(self.header[place])[-4:] == "(us)" for place in (start, dur)] == [False, True]
        )

    @property
    def start_is_of_torch_npu(self) -> bool:
        """Whether starts have the name without a unit of torch_npu: one copied CANN's ns, the next wrote µs."""
        start = self.position("start")
        return start is not None and _plain(self.header[start]) == "start time"

    def position(self, key: str) -> int | None:
        """Return the position of a column, None if the table lacks it."""
        return self.keys.index(key) if key in self.keys else None


def columns_of(header: list[str]) -> Columns:
    """Return the columns that a header names. A repeated name gets a number."""
    keys: list[str] = []
    for position, text in enumerate(header):
        key = _CANONICAL.get(_plain(text)) or text.strip(_STRIPPED) or f"column {position + 1}"
        nth, unique = 1, key
        while unique in keys:
            nth += 1
            unique = f"{key} {nth}"
        keys.append(unique)
    return Columns(tuple(header), tuple(keys))


def _plain(header: str) -> str:
    """Normalise a header: without case, underscores, and spaces before a unit, which differ between writers."""
    words = header.strip(_STRIPPED).lower().replace("_", " ").split()
    return " ".join(words).replace(" (", "(").replace("( ", "(")
