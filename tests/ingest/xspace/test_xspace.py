"""XSpace files: the same rows as from the Chrome trace of the same capture, and what such a trace lacks."""

import gzip
import itertools
import json
from pathlib import Path

import pytest

from tracelake.engine.errors import InputError
from tracelake.ingest.xspace.wire import fields_of
from tracelake.lake import Lake
from tracelake.synthetic import xspace
from tracelake.synthetic.xspace import Event, Line, plane, space, tpu_space

from ...support import DATA, data_file, entry_of, ingest_bytes, ingest_into, new_lake, stored
from ..credentials import token
from ..test_secrets import everything_in

PAIR = Path(__file__).parent / "pair"
US = 1_000_000
GPUS = "xplane/jax_conv_mi300.xplane.pb"


def rows(layout, content, name="a.xplane.pb", columns="name, pid, tid, start_ns, end_ns, args"):
    """The events of a file in file order, without metadata."""
    result = ingest_bytes(layout, content, name)
    return [
        tuple(row.values()) for row in stored(layout, result.trace_id, f"ph, event_id, {columns}") if row["ph"] != "M"
    ]


def from_chrome(path: Path) -> bytes:
    """The events of a Chrome trace of JAX as an XSpace that has them: decimal microseconds as picoseconds."""
    events = json.loads(gzip.decompress(path.read_bytes()), parse_float=str)["traceEvents"]
    timed = [event for event in events if event.get("ph") == "X"]
    names = {(event["pid"], event["tid"]): "" for event in timed} | {
        (event["pid"], event.get("tid")): event["args"]["name"]
        for event in events
        if event.get("ph") == "M" and event["name"] in ("process_name", "thread_name")
    }

    def picoseconds(text: object) -> int:
        whole, _, places = f"{float(str(text)):.6f}".partition(".")
        return int(whole + places)

    planes = []
    for (pid, tid), process in names.items():
        if tid is not None:
            continue
        lines = []
        for (other, thread), name in names.items():
            if other == pid and thread is not None:
                held = [event for event in timed if (event["pid"], event["tid"]) == (pid, thread)]
                made = [Event(e["name"], picoseconds(e["ts"]), picoseconds(e["dur"]), e.get("args", {})) for e in held]
                lines.append(Line(name, thread, made))
        planes.append(plane(process, lines, pid - 1 if process.startswith("/device:") else 0))
    return space(*planes)


def test_jax_writes_the_same_events_to_both_files_of_a_capture(tmp_path):
    layout = new_lake(tmp_path / "lake")
    columns = "name, pid, tid, lane, start_ns, end_ns"
    found = {}
    for name in ("cpu.xplane.pb", "cpu.trace.json.gz"):
        result = ingest_bytes(layout, (PAIR / name).read_bytes(), name)
        found[name] = stored(layout, result.trace_id, f"event_id, ph, args, {columns}")
    timed = [
        sorted([[row[key] for key in columns.split(", ")] for row in rows if row["ph"] == "X"], key=str)
        for rows in found.values()
    ]
    assert timed[0] == timed[1]
    assert len(timed[0]) > 50
    threads = [
        {(row["pid"], row["tid"], row["args"]) for row in rows if row["name"] in ("process_name", "thread_name")}
        for rows in found.values()
    ]
    assert threads[0] == threads[1]
    # Chrome's writer leaves out what only its own viewer needs, and never says another value.
    ours, theirs = (
        {
            (row["tid"], row["name"], row["start_ns"]): json.loads(row["args"] or "{}")
            for row in rows
            if row["ph"] == "X"
        }
        for rows in found.values()
    )
    assert [key for key in theirs if theirs[key].items() - ours[key].items()] == []
    assert any("program_id" in args for args in ours.values())


def test_device_operations_of_a_tpu_are_those_of_the_chrome_trace_to_the_nanosecond(tmp_path):
    path = data_file("jax/tpu_inference_k1.trace.json.gz")
    layout = new_lake(tmp_path / "lake")
    columns = "name, pid, tid, lane, start_ns, end_ns, args->>'$.hlo_category', args->>'$.bytes_accessed'"
    chrome, xplane = (
        sorted(rows(layout, content, name, columns), key=lambda row: str(row[2:]))
        for name, content in (("a.json.gz", path.read_bytes()), ("a.xplane.pb", from_chrome(path)))
    )
    assert [row[2:] for row in chrome] == [row[2:] for row in xplane]
    assert sum(row[5] == "device" for row in xplane) == 6926


@pytest.fixture(scope="module")
def tpu(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tpu")
    (folder / "tpu.xplane.pb").write_bytes(tpu_space(host="s3cr3t-host"))
    lake = Lake(folder / "lake")
    [result, *_] = ingest_into(lake, folder / "tpu.xplane.pb", *[path for path in [DATA / GPUS] if path.is_file()])
    assert (result.events, result.rejected, result.truncated) == (18, 0, False)
    yield lake
    lake.close()


def test_kernels_of_eight_gpus_are_those_that_xprof_shows_of_the_file(tpu):
    # Counts and sums: xprof 2.24.2, tool trace_viewer, over the lines of streams.
    data_file(GPUS)
    where = "JOIN (SELECT trace_id FROM traces WHERE trace = 'jax_conv_mi300') USING (trace_id)"
    assert tpu.rows(f"SELECT count(*), sum(dur_ns), min(start_ns), max(end_ns) FROM kernels {where}") == [
        (235, 28137077, 1611362, 140082194)
    ]
    assert tpu.rows(f"SELECT compute_us FROM time_breakdown {where} ORDER BY device") == [
        (us,) for us in (3436.644, 3345.845, 3524.285, 3403.364, 3493.365, 3464.884, 3403.004, 3502.165)
    ]
    assert tpu.rows(f"SELECT hardware, hardware_match, recorded_at_source FROM traces {where}") == [
        ("mi300x", "properties", "clock")
    ]
    # TraceLens' table of another capture of the program, of its last device: five runs, the convolution two kernels.
    runs = "SELECT hlo_op, kernel_count FROM hlo_ops WHERE device = 7 AND program = 'jit_forward_3d_conv' ORDER BY ALL"
    assert tpu.rows(runs) == [
        ("cudnn-conv.1", 10), ("input_transpose_fusion", 5), ("input_transpose_fusion.1", 5),
        ("loop_transpose_fusion", 5),
    ]  # fmt: skip
    assert tpu.rows(f"SELECT count(*), count(launch_id) FROM kernels {where}") == [(235, 235)]


def test_xla_s_flop_and_bytes_stand_beside_the_roofline_of_the_chip(tpu):
    # By hand: 918 TFLOP/s and 1638 GB/s; two runs of 200, 100 and 50 us.
    columns = "hlo_op, program, kernel_count, sum_us, xla_flop, xla_bytes, xla_tflops, gbps, roofline_eff, bound"
    found = tpu.rows(f"SELECT {columns} FROM hlo_ops WHERE hlo_category IS NOT NULL ORDER BY sum_us DESC")
    assert found[0] == ("fusion.1", "jit_step", 2, 400, 183.6e9, 327.6e6, 459, 819, 0.5, "compute")
    assert found[1][:6] == ("all-reduce.2", "jit_step", 2, 200, 0, 2e6)
    assert found[2] == ("copy.3", "jit_step", 2, 100, 0, 81.9e6, 0, 819, 0.5, "memory")
    columns = "vendor, hardware, hardware_match, CAST(recorded_at AS VARCHAR), recorded_at_source"
    assert tpu.rows(f"SELECT {columns} FROM traces WHERE trace = 'tpu'") == [
        ("google", "tpu_v6e", "name", "2026-01-02 03:04:05", "clock")
    ]
    columns = "device, device_type, profiler_tflops, peak_tflops, profiler_gbps"
    assert tpu.rows(f"SELECT {columns} FROM profiled_devices WHERE hardware = 'tpu_v6e'") == [
        (0, "TPU v6 Lite", 918, 918, 1638)
    ]
    assert tpu.rows("SELECT program, fingerprint, dur_us FROM programs") == [("jit_step", "77", 400)] * 2


def test_the_hlo_of_a_program_is_text_that_sql_reaches(tpu):
    [(text,)] = tpu.rows("SELECT text FROM hlo_modules WHERE program = 'jit_step' AND program_number = '77'")
    assert text.splitlines()[2:4] == [
        "ENTRY %main {",
        '  %fusion.1 = bf16[8,128]{1,0} fusion(), metadata={op_name="jit(jit_step)/fusion" source="model.py:1"}',
    ]
    assert "  ROOT %copy.3 = bf16[8,128]{1,0} copy(%all-reduce.2), " in text
    assert tpu.rows(
        "SELECT computation_count, instruction_count, is_whole FROM hlo_modules WHERE program = 'jit_step'"
    ) == [(1, 3, True)]


def test_the_host_s_name_is_nowhere_in_the_lake_and_credentials_are_replaced(tpu, tmp_path):
    assert "s3cr3t" not in everything_in(tpu.path)
    secret = token("h" + "f_", 34)
    content = space(
        plane("/host:CPU", [Line("main", 1, [Event(f"load {secret}", 0, US, {"arg": secret})])]),
        plane("/device:TPU:0", stats={"hostname": "s3cr3t-1", "environment": secret}),
        xspace.programs(("jit_f(1)", xspace.hlo(secret, [("a", "parameter", ())]))),
    )
    lake = Lake(tmp_path / "lake")
    path = tmp_path / "secret.xplane.pb"
    path.write_bytes(content)
    [result] = ingest_into(lake, path)
    assert result.redacted >= 3
    written = everything_in(lake.path)
    assert "[redacted:huggingface_token]" in written
    assert [word for word in (secret, "s3cr3t") if word in written] == []


def test_what_an_event_says_and_what_its_description_says_are_one_set_of_arguments(tmp_path):
    events = [
        Event("a", 500, 499, {"n": -1, "x": 0.1, "u": "text"}, {"u": "general", "blob": b"\xff\0"}, shown='A "b"\n'),
        Event("a", 1499, 2, {"step_name": "named"}),
    ]
    layout = new_lake(tmp_path / "lake")
    found = [row[2:] for row in rows(layout, space(plane("/device:GPU:3", [Line("Stream #1", 2**33 + 7, events)], 3)))]
    assert [row[:5] for row in found] == [('A "b"\n', "4", "7", 1, 1), ("named", "4", "7", 1, 2)]
    # The event's own value is the later one, as in Chrome traces, and bytes are shown as there.
    assert [json.loads(row[5]) for row in found] == [
        {"long_name": "a", "u": "text", "blob": "<opaque bytes>", "n": "-1", "x": "0.1"},
        {"long_name": "a", "u": "general", "blob": "<opaque bytes>", "step_name": "named"},
    ]


def test_gzip_or_not_and_twice_are_one_trace(tmp_path):
    layout = new_lake(tmp_path / "lake")
    first = ingest_bytes(layout, tpu_space(), "a.xplane.pb")
    for content, name in ((gzip.compress(tpu_space()), "b.xplane.pb.gz"), (tpu_space(), "c.bin")):
        again = ingest_bytes(layout, content, name)
        assert (again.trace_id, again.new) == (first.trace_id, False)
    assert entry_of(layout, first.trace_id, "source_bytes, content_bytes") == (len(tpu_space()),) * 2
    assert not list(layout.staging.iterdir())


@pytest.mark.parametrize("steps", [1, 3000], ids=["name at hand", "name beyond what is looked at"])
def test_the_fields_of_a_plane_may_come_in_any_order(tmp_path, steps):
    events = [Event(f"step {nth % 7}", nth * US, US, {"group_id": nth}) for nth in range(steps)]
    usual = plane("/host:CPU", [Line("python", 9, events, 5)])
    fields = list(fields_of(usual))
    starts = [0, *(field.end for field, _ in fields)]
    turned = b"".join(usual[start:end] for start, end in reversed(list(itertools.pairwise(starts))))
    layout = new_lake(tmp_path / "lake")
    assert rows(layout, space(turned), "b.xplane.pb") == rows(layout, space(usual))


def test_an_event_without_a_name_or_a_time_is_rejected_and_counted(tmp_path):
    good, bad = xspace.message(4, xspace.number(1, 1), xspace.number(3, US)), xspace.message(4, xspace.number(1, 9))
    beyond = xspace.message(4, xspace.number(1, 1), xspace.number(2, 2**63 - 1), xspace.number(3, 2**63 - 1))
    damaged = xspace.message(4, xspace.number(1, 1), b"\x22\x7f")
    names = xspace.message(4, xspace.number(1, 1), xspace.message(2, xspace.number(1, 1), xspace.text(2, "a")))
    line = xspace.message(3, xspace.text(2, "main"), good, bad, beyond, damaged, good)
    layout = new_lake(tmp_path / "lake")
    result = ingest_bytes(layout, space(xspace.text(2, "/host:CPU") + line + names), "a.xplane.pb")
    assert (result.events, result.rejected) == (4, 3)
    [(samples,)] = [entry_of(layout, result.trace_id, "samples")]
    assert [(one["event"], one["reason"]) for one in json.loads(samples)["rejected"]] == [
        (3, "its name is missing"), (4, "no time that a number can hold"), (5, "damaged"),
    ]  # fmt: skip


def test_a_file_that_was_once_read_as_text_says_so(tmp_path):
    layout = new_lake(tmp_path / "lake")
    content = tpu_space().decode("utf-8", "replace").encode()
    with pytest.raises(InputError, match=r"once read as text: bytes are lost\. Copy it again, as binary"):
        ingest_bytes(layout, content, "a.xplane.pb")
    path = data_file("xplane/tpu_inference_2.xplane.pb")
    with pytest.raises(InputError, match="once read as text"):
        ingest_bytes(layout, path.read_bytes(), "b.xplane.pb")
