"""Recognises files beside traces that are not traces, by their first bytes, and advises what to do instead.

Databases and archives of profilers are distinguished by the names of tables and members near their beginning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Suffixes of such files in folders of traces.
ENDINGS = (
    ".nsys-rep", ".qdrep", ".ncu-rep", ".sqlite", ".db", ".rpd", ".pt", ".pickle", ".zip", ".tar",
    ".tar.gz", ".tgz", ".pftrace", ".pftrace.gz", ".csv",
)  # fmt: skip


@dataclass(frozen=True)
class _Kind:
    """A kind of file.

    Attributes:
        begins: a pattern of its first bytes; if empty, any binary content.
        holds: a text near its beginning; empty if the first bytes suffice.
        what: the name of the kind.
        advice: what to do.
    """

    begins: bytes
    holds: tuple[bytes, ...]
    what: str
    advice: str


_CHROME = "tracelake reads Chrome traces (JSON), exports of Nsight Systems and Ascend's tables"
#: What to do about other output of AMD's profilers.
ROCPD = "record with `rocprofv3 --output-format rocpd`, and give the database (.db) that it writes."
_ZIP = rb"PK(\x03\x04|\x05\x06)"
#: The first match applies.
_KINDS = (
    _Kind(
        rb"", (b"QuadDCommon", b"QuadDAnalysis", b"QDSTRM"), "a report of Nsight Systems (.nsys-rep)",
        "export it, and give the file that comes out: nsys export --type sqlite FILE.nsys-rep",
    ),
    _Kind(
        rb"NVR\x00", (), "a report of Nsight Compute (.ncu-rep)",
        f"{_CHROME}: profile with torch.profiler and export_chrome_trace().",
    ),
    _Kind(
        _ZIP, (b"/data.pkl", b"/constants.pkl", b"/.format_version"), "a file of torch.save() (.pt)",
        "it holds tensors or a model. A trace is what profiler.export_chrome_trace() writes.",
    ),
    _Kind(_ZIP, (), "a zip archive", "unpack it, and give the traces in it or their folder."),
    _Kind(rb".{257}ustar", (), "a tar archive", "unpack it (tar xf), and give the traces in it or their folder."),
    _Kind(
        rb"\x80[\x02-\x05](\x95.{8}|\x8a\x0al\xfc\x9c|[\x7d\x5d\x63\x28\x58])", (), "a Python pickle",
        "it holds Python objects, such as a model or a snapshot of memory. A trace is what "
        "profiler.export_chrome_trace() writes.",
    ),
    _Kind(
        rb"\x1f\x8b\x08|\x28\xb5\x2f\xfd", (), "compressed twice",
        "decompress it once (gzip -dk FILE, zstd -d FILE), and give the file that comes out.",
    ),
    _Kind(rb"\xfd7zXZ\x00", (), "compressed with xz", "decompress it: xz -dk FILE. gzip can be read."),
    _Kind(rb"BZh[1-9]1AY", (), "compressed with bzip2", "decompress it: bzip2 -dk FILE. gzip can be read."),
    _Kind(rb"\x04\x22\x4d\x18", (), "compressed with lz4", "decompress it: lz4 -dk FILE. gzip can be read."),
    _Kind(rb"7z\xbc\xaf\x27\x1c", (), "a 7z archive", "unpack it, and give the traces in it or their folder."),
    _Kind(
        rb"PAR1", (), "a Parquet file", "a trace is ingested as its profiler wrote it; query a lake's tables with "
        "`tracelake sql`.",
    ),
    _Kind(rb"\x89HDF\r\n", (), "an HDF5 file", f"{_CHROME}."),
    _Kind(
        rb'"?(Kind|Domain)"?,[^\n]*Start_Timestamp"?,"?End_Timestamp', (), "a table of rocprofv3, as CSV", ROCPD,
    ),
    _Kind(
        rb'"?Index"?,"?KernelName"?,|"?Dispatch_ID"?,[^\n]*,"?Kernel_Name"?,', (),
        "a table of rocprof or rocprofv2, as CSV", ROCPD,
    ),
    _Kind(
        rb'"?(Start \(ns\)"?,"?Duration|Time \(%\)"?,"?Total Time)', (),
        "a table of `nsys stats`, as CSV", "export the report, and give the file that comes out: "
        "nsys export --type sqlite FILE.nsys-rep",
    ),
    _Kind(rb'\s*\{\s*"rocprofiler-sdk-tool"', (), "output of rocprofv3, as JSON", ROCPD),
)  # fmt: skip
#: traceconv keeps the categories of rocprofv3, of which none is that of a kernel in Chrome traces.
_PERFETTO = (
    "a trace of Perfetto in its binary form; if it is of AMD's profilers, have them write a database "
    "(`rocprofv3 --output-format rocpd`, ROCPROFSYS_USE_ROCPD=ON); else `traceconv json FILE` makes a Chrome trace"
)
#: By name only, for binary content that is not otherwise recognised.
_BY_NAME = {
    ".nsys-rep": "a report of Nsight Systems; export it (nsys export --type sqlite FILE.nsys-rep)",
    ".qdrep": "a report of Nsight Systems; export it: nsys export --type sqlite FILE.qdrep",
    ".pftrace": _PERFETTO,
    ".perfetto-trace": _PERFETTO,
    ".proto": _PERFETTO,
}


def foreign(head: bytes, name: str) -> str | None:
    """Return what a file is if not a trace, and what to do, as a sentence; None if it may be a trace.

    Args:
        head: its first bytes, decompressed.
        name: its name.
    """
    for kind in _KINDS:
        begins = re.match(kind.begins, head, re.DOTALL) if kind.begins else _is_binary(head)
        if begins and (not kind.holds or any(mark in head for mark in kind.holds)):
            return f"{kind.what}: {kind.advice}"
    if _is_binary(head):
        for ending, what in _BY_NAME.items():
            if name.lower().removesuffix(".gz").endswith(ending):
                return f"{what}. {_CHROME}."
    return None


def _is_binary(head: bytes) -> bool:
    return b"\0" in head[:4096]
