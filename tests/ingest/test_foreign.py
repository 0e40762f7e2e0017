"""Files of other kinds that lie beside traces are told by their content, named, and stop nobody."""

import gzip
import io
import pickle
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tracelake.ingest.foreign import foreign
from tracelake.lake import Lake

from ..support import DATA, ingest_into, run_cli, trace_bytes

TRACE = trace_bytes([{"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "name": "span"}])


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, TRACE)
    return out.getvalue()


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        about = tarfile.TarInfo("rank0.json")
        about.size = len(TRACE)
        archive.addfile(about, io.BytesIO(TRACE))
    return out.getvalue()


def database(folder: Path, *tables: str) -> bytes:
    path = folder / "made.db"
    connection = sqlite3.connect(path)
    for table in tables:
        connection.execute(f"CREATE TABLE {table} (start INTEGER, name TEXT)")
    connection.commit()
    connection.close()
    content = path.read_bytes()
    path.unlink()
    return content


# What is in a file, and what must be said of it: what it is, and what to do.
KINDS: dict[str, tuple[Callable[[Path], bytes], str, str]] = {
    "run.nsys-rep": (
        lambda _: b"\x08\x01" + bytes(30) + b"QuadDCommon.StreamSectionsManager" + bytes(300),
        "a report of Nsight Systems", "nsys export --type sqlite FILE.nsys-rep",
    ),
    "unknown.nsys-rep": (lambda _: b"\x07\0\1" + bytes(300), "a report of Nsight Systems", "nsys export"),
    "old.rpd": (
        lambda folder: database(folder, "rocpd_api", "rocpd_op"), "a database of RPD",
        "rocprofv3 --output-format rocpd",
    ),
    "nvprof.db": (
        lambda folder: database(folder, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "StringTable"),
        "a database of nvprof", "nsys profile",
    ),
    "other.db": (lambda folder: database(folder, "mine"), "a SQLite database", "export"),
    "model.pt": (lambda _: zipped("model/data.pkl"), "torch.save()", "export_chrome_trace()"),
    "snapshot.pickle": (lambda _: pickle.dumps({"segments": []}), "a Python pickle", "export_chrome_trace()"),
    "runs.zip": (lambda _: zipped("rank0.json"), "a zip archive", "unpack it"),
    "runs.tar": (lambda _: tarred(), "a tar archive", "unpack it (tar xf)"),
    "runs.tar.gz": (lambda _: gzip.compress(tarred()), "a tar archive", "unpack it (tar xf)"),
    "trace.json.gz": (lambda _: gzip.compress(gzip.compress(TRACE)), "compressed twice", "gzip -dk FILE"),
    "trace.json.xz": (lambda _: b"\xfd7zXZ\x00" + bytes(40), "xz", "xz -dk"),
    "part.parquet": (lambda _: b"PAR1" + bytes(40), "a Parquet file", "tracelake sql"),
    # The first columns of its tables of kernels and of calls.
    "1_kernel_trace.csv": (
        lambda _: b'"Kind","Agent_Id","Dispatch_Id","Kernel_Name","Start_Timestamp","End_Timestamp","LDS_Block_Size"\n',
        "a table of rocprofv3", "--output-format rocpd",
    ),
    "1_hip_api_trace.csv": (
        lambda _: b'"Domain","Function","Process_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n',
        "a table of rocprofv3", "--output-format rocpd",
    ),
    "results.csv": (
        lambda _: b'"Index","KernelName","gpu-id","queue-id","DispatchNs","BeginNs","EndNs","CompleteNs"\n',
        "a table of rocprof", "rocprofv3 --output-format rocpd",
    ),
    "results_1.csv": (
        lambda _: b"Dispatch_ID,GPU_ID,Queue_ID,Grid_Size,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID\n",
        "a table of rocprof", "rocprofv3 --output-format rocpd",
    ),
    "unknown.pftrace.gz": (
        lambda _: gzip.compress(b"\x0a\x10\0" + bytes(300)), "a trace of Perfetto", "--output-format rocpd",
    ),
    "unknown-perfetto-trace-7.proto": (
        lambda _: b"\x0a\x10\0" + bytes(300), "a trace of Perfetto", "ROCPROFSYS_USE_ROCPD=ON",
    ),
    "cuda_gpu_trace.csv": (
        lambda _: b"Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB)\n",
        "a table of `nsys stats`", "nsys export",
    ),
    "1_results.json": (
        lambda _: b'{"rocprofiler-sdk-tool": [{"metadata": {}, "buffer_records": {"kernel_dispatch": []}}]}',
        "output of rocprofv3", "--output-format rocpd",
    ),
    "kernels.ncu-rep": (lambda _: b"NVR\x00" + bytes(40), "a report of Nsight Compute", "torch.profiler"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_another_kind_is_named_whatever_its_name_says(tmp_path, name):
    make, what, advice = KINDS[name]
    content = make(tmp_path)
    own = tmp_path / name
    own.write_bytes(content)
    paths = [own]
    if not name.startswith("unknown"):
        paths.append(tmp_path / "renamed.json")
        paths[1].write_bytes(content)
    (tmp_path / "good.json").write_bytes(TRACE)
    *failed, good = ingest_into(Lake(tmp_path / "lake"), *paths, tmp_path / "good.json")
    assert good.events == 1
    for path, result in zip(paths, failed, strict=True):
        assert result.reason.startswith(f"{path}: not a trace but ")
        assert what in result.reason
        assert advice in result.reason


def test_folders_without_traces_fail_by_themselves_and_tell_what_is_there(tmp_path):
    for name in ("empty", "other", "rocm", "good"):
        (tmp_path / name).mkdir()
    (tmp_path / "rocm" / "1_kernel_trace.csv").write_bytes(KINDS["1_kernel_trace.csv"][0](tmp_path))
    (tmp_path / "other" / "run.zip").write_bytes(zipped("rank0.json"))
    (tmp_path / "good" / "rank0.json").write_bytes(TRACE)
    (tmp_path / "bad.json").write_bytes(b"oops")
    ended = run_cli(
        "ingest", *(tmp_path / name for name in ("empty", "bad.json", "other", "rocm", "good")), lake=tmp_path / "l"
    )
    assert ended.returncode == 3
    lines = ended.stderr.splitlines()
    assert lines[0].startswith(f"tracelake: {tmp_path / 'empty'}: no traces in this folder")
    assert lines[1].startswith(f"tracelake: {tmp_path / 'bad.json'}: not a trace")
    assert lines[2].startswith(f"tracelake: {tmp_path / 'other'}: no traces in this folder")
    assert "run.zip is a zip archive" in lines[3]
    assert "1_kernel_trace.csv is a table of rocprofv3" in lines[5]
    assert lines[-1] == "tracelake: 5 files: 1 new, 0 known already, 4 failed."


def test_a_lake_among_its_traces_is_no_folder_of_traces(tmp_path):
    (tmp_path / "rank0").mkdir()
    (tmp_path / "rank0" / "trace.json").write_bytes(TRACE)
    # Somebody else's file of the name makes no lake.
    (tmp_path / "rank0" / "lake.json").write_bytes(TRACE.replace(b"{", b'{"format": 1, ', 1))
    for new in (True, False):
        ended = run_cli("ingest", tmp_path, lake=tmp_path / "tracelake")
        lines = ended.stderr.splitlines()
        assert (ended.returncode, len(lines)) == (0, 3), lines
        assert lines[-1] == f"tracelake: 2 files: {2 * new} new, {2 - 2 * new} known already, 0 failed."
    ended = run_cli("ingest", tmp_path / "tracelake", lake=tmp_path / "tracelake")
    assert ended.returncode == 3
    assert ended.stderr == f"tracelake: {tmp_path / 'tracelake'}: is a lake; what is in it was ingested already.\n"


def test_a_file_that_fails_as_nobody_foresaw_does_not_stop_the_others(tmp_path, monkeypatch):
    monkeypatch.delenv("TRACELAKE_DEBUG", raising=False)
    monkeypatch.setattr(
        "tracelake.ingest.one.describe", lambda reading, name, devices: 1 / 0 if name == "b.json" else {}
    )
    for name in "abc":
        (tmp_path / f"{name}.json").write_bytes(TRACE.replace(b"span", name.encode()))
    paths = [tmp_path / f"{name}.json" for name in "abc"]
    before, failed, after = ingest_into(Lake(tmp_path / "lake"), *paths)
    assert (before.events, after.events) == (1, 1)
    assert failed.reason.startswith(f"{paths[1]}: ZeroDivisionError")


@pytest.mark.skipif(not DATA.is_dir(), reason=f"needs the traces in {DATA}")
def test_no_trace_of_the_shared_data_is_taken_for_another_kind():
    found = {}
    for path in sorted(file for file in DATA.rglob("*") if file.is_file() and file.suffix in (".gz", ".json", ".csv")):
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rb") as content:
            found[path] = foreign(content.read(1 << 16), path.name)
    assert {path: about for path, about in found.items() if about} == {}
