"""Input that is no trace is refused in a sentence that names the file, and costs nothing but itself."""

import errno
import gzip
import json
import os
from pathlib import Path

import pytest
import zstandard

from tracelake.engine.errors import InputError, UsageError
from tracelake.engine.storage.layout import FORMAT_VERSION
from tracelake.ingest import source
from tracelake.lake import Lake
from tracelake.synthetic import gpu

from .. import support
from ..support import bound_by_modes, ingest_into, needs_modes, run_cli, trace_bytes

SPAN = {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "name": "span"}
TRACE = trace_bytes([SPAN])
SPANS = trace_bytes([{**SPAN, "ts": nth} for nth in range(20_000)])
CHAKRA = {
    "schema": "1.1.1-chakra.0.0.4",
    "pid": 1,
    "time": "now",
    "start_ts": 0,
    "nodes": [{"id": 1, "name": "[pytorch]"}],
}

# What is in the file, and what the message must say of it.
NOT_TRACES = {
    "empty": (b"", "empty"),
    "whitespace": (b" \n\t \n", "empty"),
    "empty_object": (b"{}", "without a \"traceEvents\" array (keys: none)"),
    "other_json": (b'{"nodes": [], "kind": "graph"}', "(keys: nodes, kind)"),
    "chakra": (json.dumps(CHAKRA).encode(), "execution trace (Chakra)"),
    "trace_events_no_array": (b'{"traceEvents": {"a": 1}}', "(keys: traceEvents)"),
    "binary": (bytes(range(256)) * 20, "binary data"),
    "elf": (b"\x7fELF\x02\x01\x01\x00" + bytes(400), "binary data"),
    "utf16": (TRACE.decode().encode("utf-16"), "UTF-16"),
    "utf32": (TRACE.decode().encode("utf-32"), "iconv -f utf-32"),
    "utf32_without_mark": (TRACE.decode().encode("utf-32-be"), "iconv -f utf-32"),
    "utf16_without_mark": (TRACE.decode().encode("utf-16-le"), "UTF-16"),
    "text": (b"step 1 took 5 ms\n" * 50, "text beginning 'step 1 took 5 ms"),
    "csv": (b"Step Id,Name\n1,MatMul\n", "lacks Start Time(us), Duration(us)"),
    "deep_objects": (b'{"a":' * 100_000, "traceEvents"),
    "deep_arrays": (b"[" * 100_000, "no complete event"),
    "number": (b"17", "text beginning '17'"),
    "only_garbage": (b"[1, 2, null]", "no complete event"),
    "no_times": (b'[{"ph": "X", "name": "a"}]', "no time"),
    "gzip_of_nothing": (gzip.compress(b""), "empty"),
    "corrupt_gzip": (gzip.compress(TRACE)[:12] + b"\xff" * 200, "compressed stream"),
    "gzip_header_only": (gzip.compress(TRACE)[:10], "compressed stream"),
    "zstandard_damaged": (b"\x28\xb5\x2f\xfd" + b"\xff" * 200, "compressed stream"),
}  # fmt: skip


@pytest.mark.parametrize("kind", NOT_TRACES)
def test_what_is_no_trace_is_refused_with_a_reason_and_leaves_the_lake_as_it_was(tmp_path, kind):
    content, reason = NOT_TRACES[kind]
    path = tmp_path / f"{kind}.json"
    path.write_bytes(content)
    good = tmp_path / "good.json"
    good.write_bytes(TRACE)
    lake = Lake(tmp_path / "lake")
    [failed, fine] = ingest_into(lake, path, good)
    assert failed.reason.startswith(f"{path}: ")
    assert reason in failed.reason
    assert failed.reason.endswith(".")
    assert len(failed.reason) < len(str(path)) + 400
    assert fine.events == 1
    assert [name for (name,) in lake.sql("SELECT trace FROM traces").fetchall()] == ["good"]
    assert not list((lake.path / ".staging").iterdir())
    assert [folder.name for folder in lake.layout.events.iterdir()] == [f"trace_id={fine.trace_id}"]


def test_an_event_of_100_000_brackets_costs_at_most_itself(tmp_path):
    deep = b'{"ph": "X", "ts": 1, "pid": 1, "tid": 1, "args": %s1%s}' % (b"[" * 100_000, b"]" * 100_000)
    path = tmp_path / "deep.json"
    path.write_bytes(b'{"traceEvents": [%s, %s, %s]}' % (json.dumps(SPAN).encode(), deep, json.dumps(SPAN).encode()))
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, path)
    assert result.events + result.rejected == 3
    assert lake.sql("SELECT count(*) FROM events WHERE name = 'span'").fetchall() == [(2,)]
    assert lake.sql("SELECT count(*) FROM health").fetchall()[0][0] > 0


def test_one_event_of_80_mb_is_stored_or_rejected_and_its_neighbours_stay(tmp_path):
    path = tmp_path / "large.json"
    huge = b'{"ph": "X", "ts": 1, "pid": 1, "tid": 1, "args": {"log": "' + b"x" * (80 << 20) + b'"}}'
    with path.open("wb") as out:
        out.write(b'{"traceEvents": [\n  ' + json.dumps(SPAN).encode() + b",\n  " + huge)
        out.write(b",\n  " + json.dumps(SPAN).encode() + b"\n]}")
    [result] = ingest_into(Lake(tmp_path / "lake"), path)
    assert result.events + result.rejected == 3
    assert result.events >= 2
    assert not result.truncated


def test_a_missing_file_a_folder_without_traces_and_a_folder_among_files_are_told_apart(tmp_path):
    lake = Lake(tmp_path / "lake")
    [failed] = ingest_into(lake, tmp_path / "absent.json")
    assert failed.reason == f"{tmp_path / 'absent.json'}: no such file."
    [failed] = lake.ingest("")
    assert failed.reason.startswith("an empty path")
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "config.json").write_text("{}")
    (empty / "readme.txt").write_text("no trace")
    [failed] = ingest_into(lake, empty)
    assert failed.reason.startswith(f"{empty}: no traces in this folder")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\nName,Duration(us)\nk,1\n", "it is blank."),
        (b"Name,Duration(us)\rk,1\r", "its lines end in CR alone; expected LF, or CR and LF."),
        (b"Name,\xff\nk,1\n", "the file is no text in UTF-8."),
        (b"", "the file is empty."),
    ],
)
def test_what_stands_in_the_place_of_a_header_is_named(tmp_path, content, reason):
    path = tmp_path / "kernel_details.csv"
    path.write_bytes(content)
    [failed] = ingest_into(Lake(tmp_path / "lake"), path)
    assert failed.reason == f"{path}: not a table: its first line is not a header; {reason}"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that can be opened and not read")
def test_a_file_that_fails_as_it_is_read_is_the_one_that_is_named(tmp_path):
    [failed] = ingest_into(Lake(tmp_path / "lake"), Path("/proc/self/mem"))
    assert failed.reason == "/proc/self/mem: cannot be read: Input/output error."


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_a_file_whose_disk_fails_half_way_is_no_truncated_trace(tmp_path, monkeypatch, compress):
    path = tmp_path / "trace.json"
    # Far more than a decompressor reads at once, also when it is compressed.
    path.write_bytes(
        compress(trace_bytes([{**SPAN, "name": os.urandom(50).hex(), "ts": nth} for nth in range(40_000)]))
    )
    half, readinto = path.stat().st_size // 2, source._HashedFile.readinto

    def failing(file, buffer):
        if file.consumed >= half:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return readinto(file, memoryview(buffer)[: 1 << 16])

    monkeypatch.setattr(source._HashedFile, "readinto", failing)
    with Lake(tmp_path / "lake") as lake:
        [failed] = ingest_into(lake, path)
        assert failed.reason == f"{path}: cannot be read: Input/output error."
        assert lake.rows("SELECT count(*) FROM traces") == [(0,)]
        assert lake.rows("SELECT count(*) FROM events") == [(0,)]


@pytest.mark.parametrize("mode", [0, 0o444])
def test_a_folder_below_that_may_not_be_read_is_named_and_the_others_are_read(tmp_path, mode):
    needs_modes(tmp_path / "mode")
    folder = tmp_path / "runs"
    (folder / "theirs").mkdir(parents=True)
    (folder / "rank0.json").write_bytes(TRACE)
    (folder / "theirs" / "rank1.json").write_bytes(TRACE.replace(b"span", b"other"))
    (folder / "theirs").chmod(mode)
    ended = run_cli("ingest", folder, "--events-only", lake=tmp_path / "lake", preexec_fn=bound_by_modes)
    alone = run_cli("ingest", folder / "theirs", lake=tmp_path / "lake", preexec_fn=bound_by_modes)
    (folder / "theirs").chmod(0o755)
    reason = f"tracelake: {folder / 'theirs'}: this folder cannot be read: Permission denied.\n"
    assert (ended.returncode, alone.returncode, alone.stderr) == (3, 3, reason)
    assert reason in ended.stderr
    assert "2 files: 1 new, 0 known already, 1 failed." in ended.stderr


def test_a_folder_stands_for_its_traces_and_one_bad_file_does_not_stop_the_others(tmp_path):
    folder = tmp_path / "runs"
    (folder / "deep").mkdir(parents=True)
    (folder / "rank0.json").write_bytes(TRACE)
    (folder / "deep" / "rank1.json.gz").write_bytes(gzip.compress(TRACE.replace(b"span", b"other")))
    (folder / "deep" / "broken.json").write_bytes(b"oops")
    (folder / "config.json").write_text('{"num_hidden_layers": 1}')
    lake = Lake(tmp_path / "lake")
    assert [type(result).__name__ for result in ingest_into(lake, folder)] == ["Failed", "Ingested", "Ingested"]
    assert lake.sql("SELECT trace, rank FROM traces ORDER BY trace").fetchall() == [("rank0", 0), ("rank1", 1)]


def test_a_gzip_file_with_wrong_checksum_keeps_its_events_and_says_it_is_damaged(tmp_path):
    packed = bytearray(gzip.compress(SPANS))
    packed[-6] ^= 0xFF
    path = tmp_path / "sum.json.gz"
    path.write_bytes(packed)
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, path)
    assert result.truncated
    assert "damaged" in result.reason
    assert result.events > 0


def test_a_zstandard_file_cut_in_the_middle_keeps_the_events_that_can_be_had(tmp_path):
    packed = zstandard.compress(SPANS)
    path = tmp_path / "cut.json.zst"
    path.write_bytes(packed[: len(packed) // 2])
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, path)
    assert result.truncated
    assert 1000 < result.events < 20_000
    found = lake.sql("SELECT event_id * 1000 = start_ns, count(*) FROM events GROUP BY ALL").fetchall()
    assert found == [(True, result.events)]


@pytest.mark.parametrize(("marker", "message"), [
    (json.dumps({"format": "tracelake", "version": FORMAT_VERSION + 1}), "Upgrade tracelake"),
    ('{"version": "one"}', "cannot be read as a lake's marker"),
    ("not json", "cannot be read as a lake's marker"),
    ("[]", "cannot be read as a lake's marker"),
    ("", "cannot be read as a lake's marker"),
    ("\xff", "cannot be read as a lake's marker"),
])  # fmt: skip
def test_a_lake_of_another_version_or_with_a_damaged_marker_is_refused(tmp_path, marker, message):
    (tmp_path / "lake.json").write_bytes(marker.encode("latin-1"))
    with pytest.raises(InputError, match=message) as refused:
        Lake(tmp_path)
    assert str(tmp_path) in str(refused.value)


def test_a_folder_of_other_things_or_a_file_is_not_made_a_lake(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="not a lake, and not empty"):
        Lake(tmp_path)
    with pytest.raises(UsageError, match="is a file"):
        Lake(tmp_path / "mine.txt")
    with pytest.raises(UsageError, match="no lake in"):
        Lake(tmp_path / "absent", create=False)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_folder_with_a_user_s_own_rows_alone_becomes_a_lake(tmp_path):
    (tmp_path / "lookup").mkdir()
    (tmp_path / "lookup" / "prices.csv").write_text("hardware,usd_per_hour\n")
    with Lake(tmp_path) as lake:
        assert lake.traces().fetchall() == []


def test_a_damaged_catalog_row_is_named_and_the_command_ends_without_a_traceback(tmp_path):
    # In processes of their own: those store answers beside the catalog.
    trace = tmp_path / "good.json"
    trace.write_bytes(TRACE)
    assert support.run_cli("ingest", trace, lake=tmp_path / "lake").returncode == 0
    [row] = (tmp_path / "lake" / "tables" / "traces").glob("*.parquet")
    row.write_bytes(b"PAR1 no more")
    ended = support.run_cli("traces", lake=tmp_path / "lake")
    # The other traces of the lake are answered.
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr
    assert row.name in ended.stderr
    assert "tracelake remove" in ended.stderr


@pytest.mark.parametrize("kind", ["empty", "chakra", "binary", "deep_objects", "corrupt_gzip"])
def test_the_command_ends_with_3_and_one_line_that_names_the_file(tmp_path, kind, run_cli):
    path = tmp_path / f"{kind}.json"
    path.write_bytes(NOT_TRACES[kind][0])
    ended = run_cli("ingest", path, lake=tmp_path / "lake")
    assert ended.returncode == 3
    assert ended.stdout == ""
    assert ended.stderr.startswith(f"tracelake: {path}: ")
    assert len(ended.stderr.strip().splitlines()) <= 2
    assert "Traceback" not in ended.stderr


def test_every_way_to_name_a_wrong_lake_or_file_ends_with_its_code(tmp_path, run_cli):
    newer = tmp_path / "newer"
    newer.mkdir()
    (newer / "lake.json").write_text(json.dumps({"version": 99}))
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    cases: list[tuple[tuple[str | Path, ...], Path, int]] = [
        (("traces",), newer, 3),
        (("traces",), other, 2),
        (("ingest", tmp_path / "absent.json"), tmp_path / "lake", 3),
        (("ingest", other), tmp_path / "lake", 3),
        (("layers", tmp_path / "absent.json"), tmp_path / "lake", 3),
        (("layers", "absent"), tmp_path / "lake", 2),
    ]
    for words, lake, code in cases:
        ended = run_cli(*words, lake=lake)
        assert (words, ended.returncode, ended.stdout) == (words, code, "")
        assert "Traceback" not in ended.stderr
        assert str(tmp_path) in ended.stderr


def test_a_command_on_the_path_of_a_cut_file_says_what_is_missing(tmp_path, run_cli):
    whole, cut = tmp_path / "whole.json", tmp_path / "cut.json"
    gpu.write_gpu(whole)
    gpu.write_gpu(cut, truncated=True)
    for words in (("layers", cut), ("compare", whole, cut, "--anyway")):
        for _ in ("read now", "known already"):
            ran = run_cli(*words, lake=tmp_path / "lake")
            assert f"{cut}: rejected events: 1, truncated; answers are about the rest." in ran.stderr
            assert f"{whole}: rejected" not in ran.stderr
