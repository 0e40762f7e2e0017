"""Tables of kernels: every dialect is read alike, nothing is lost, and what is damaged is counted."""

import csv
import gzip
import json
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
import zstandard

from tracelake.ingest.ascend.lines import STYLES, quoted_line
from tracelake.lake import Lake

from ...support import data_file, ingest_into, pieces_of

FILES = (
    "kernel_details_training_910b_arithmetic",
    "kernel_details_excerpt_pipeutilization",
    "kernel_details_level0",
    "synthetic/hcom_pairs",
    "synthetic/forward_passes",
)
HEADER = "Name,Type,Stream ID,Start Time(us),Duration(us),Input Shapes,Input Data Types,mac_ratio"
ROW = 'aclnnMm_MatMulV2_MatMulV2,MatMulV2,2,100.5,10.25,"""4,8;8,2""",DT_BF16;DT_BF16,0.5'


def lake_of(folder: Path, text: str | bytes, name: str = "kernel_details.csv") -> Lake:
    """Ingest one file and return the lake; the result hangs on it."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    lake = Lake(folder / "lake")
    [lake.result] = ingest_into(lake, path)
    return lake


def events(lake: Lake, columns: str = "event_id, name, start_ns, end_ns") -> list[tuple]:
    return lake.sql(f"SELECT {columns} FROM events WHERE lane = 'device' ORDER BY event_id").fetchall()


def nanoseconds(*texts: str) -> int:
    return int(sum(Decimal(text.strip()) * 1000 for text in texts).quantize(Decimal(1), ROUND_HALF_UP))


@pytest.mark.parametrize("size", [1 << 12, 16 << 20])
@pytest.mark.parametrize("name", FILES)
def test_every_cell_of_a_real_table_is_in_the_lake(tmp_path, name, size):
    path = data_file(f"ascend/{name}.csv")
    lake = Lake(tmp_path / "lake")
    with pieces_of(size):
        [result] = ingest_into(lake, path)
    with path.open(encoding="utf-8", newline="") as file:
        [header, *rows] = list(csv.reader(file))
    assert (result.events, result.rejected, result.repaired, result.truncated) == (len(rows), 0, 0, False)
    [(metadata,)] = lake.sql("SELECT metadata FROM traces").fetchall()
    [about] = json.loads(metadata)["files"]
    assert about["header"] == ",".join(header)
    found = events(lake, "event_id, start_ns, end_ns, dur_ns, stream, args")
    assert [row[0] for row in found] == list(range(len(rows)))
    for row, (_, start, end, duration, stream, args) in zip(rows, found, strict=True):
        cells = dict(zip(about["keys"], row, strict=True))
        kept = json.loads(args)
        counters = dict(zip(about["counters"], kept.pop("counters", "").split("\t"), strict=False))
        assert kept | counters == cells
        assert start == nanoseconds(cells["start"])
        assert end == nanoseconds(cells["start"], cells["dur"])
        assert duration == end - start
        assert stream == (int(cells["stream_id"]) if cells.get("stream_id", "N/A") != "N/A" else None)


def test_a_slot_without_a_shape_is_a_scalar_where_it_has_a_type_and_no_tensor_where_it_has_none(tmp_path):
    shapes = {
        '"""4,8;8,2"""': ("DT_BF16;DT_BF16", [[4, 8], [8, 2]]),
        '"""4,1025;2;2"""': ("FLOAT;INT64;INT64", [[4, 1025], [2], [2]]),
        '""";"""': ("FLOAT;FLOAT", [[], []]),
        '""""""': ("FLOAT", [[]]),
        '"""8;;2"""': ("FLOAT;DT_UNDEFINED;INT8", [[8], None, [2]]),
        '"""8;;2;"""': ("FLOAT;UNDEFINED;INT8", [[8], None, [2]]),
        '"""8;2"""': ("FLOAT;INT8;DT_UNDEFINED", [[8], [2], None]),
        '"""8"""': ("FLOAT;FLOAT", [[8], []]),
        '"""();3"""': ("FLOAT;FLOAT", [[], [3]]),
        '"""-1,5"""': ("FLOAT", [[-1, 5]]),
        "N/A": ("N/A", None),
        "": ("", None),
        '"""a,b"""': ("FLOAT", None),
    }
    rows = [f"k{nth},T,2,{nth},1,{text},{types},0" for nth, (text, (types, _)) in enumerate(shapes.items())]
    lake = lake_of(tmp_path, "\n".join([HEADER, *rows]))
    found = [text and json.loads(text) for (text,) in events(lake, "input_dims")]
    assert found == [dims for _, dims in shapes.values()]
    assert events(lake, "input_types")[0] == ('["DT_BF16","DT_BF16"]',)
    assert lake.result.rejected == 0


HEADERS = {
    "torch_npu": "Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim",
    "newer": "Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num",
    "cann": "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Dim",
    "export": "op_name,op_type,task_type,task_start_time,task_duration,task_wait_time,block_dim",
    "spaced": " Name , Type,Accelerator  Core,Start Time (us),Duration( us),Wait Time(us),Block Num ",
}


@pytest.mark.parametrize("style", HEADERS)
def test_the_columns_of_every_writer_have_one_name(tmp_path, style):
    lake = lake_of(tmp_path, HEADERS[style] + "\nMatMul7,MatMul,AI_CORE,5.5,2,0.25,20\n")
    [(name, start, duration, args)] = events(lake, "name, start_ns, dur_ns, args")
    assert (name, start, duration) == ("MatMul7", 5500, 2000)
    known = {"name": "MatMul7", "op_type": "MatMul", "core": "AI_CORE", "start": "5.5", "dur": "2"}
    # msprof-analyze counts from the start of the task before, which is no wait.
    wait = "wait_from_start" if style == "export" else "wait"
    assert json.loads(args) == known | {wait: "0.25", "block_num": "20"}


OLD_HEADER = "Op Name,OP Type,Task Type,Task Start Time,Task Duration(us),Task Wait Time(us),Block Dim"
#: Of torch_npu's first kernel_details.csv.
NPU_HEADER = "Name,Type,Accelerator Core,Start Time,Duration(us),Wait Time(us),Block Dim"
OLD_ROWS = [("conv1", 1043640017380831, "82.11", "0"), ("relu1", 1043640017465831, "10.5", "2.89")]


@pytest.mark.parametrize(
    ("header", "per_start", "repaired"),
    [
        (OLD_HEADER, 1, 0),
        (OLD_HEADER, 1000, 0),  # the file has µs
        (OLD_HEADER.replace("Time,", "Time(us),", 1), 1000, 0),
        (NPU_HEADER, 1, 0),
        (NPU_HEADER, 1000, 0),
    ],
)  # fmt: skip
def test_starts_without_a_unit_have_the_one_that_fits_durations_and_waits(tmp_path, header, per_start, repaired):
    # 82.11 us, a wait of 2.89 us, 10.5 us: a window of 95.5 us, whichever unit the starts have.
    rows = [
        f"{name},T,AI_CORE,{start / per_start if per_start > 1 else start},{dur},{wait},8"
        for name, start, dur, wait in OLD_ROWS
    ]
    lake = lake_of(tmp_path, "\n".join([header, *rows, ""]))
    [(first, end)] = lake.sql("SELECT min(start_ns), max(end_ns) FROM events").fetchall()
    assert end - first == 95_500
    assert abs(first - 1043640017380831) < 200  # a double of µs has 125 ns here
    assert (lake.result.rejected, lake.result.repaired) == (0, repaired)


@pytest.mark.parametrize(
    ("unit", "starts"),
    [
        (1000, ["1704161511420000.125", "1704161511421000.000", "1704161511422000.500"]),
        (1, ["1704161511420000125", "1704161511420002125", "1704161511420004125"]),
        (1, ["1704161511420000125"]),
    ],
)
def test_decimals_of_starts_show_us_and_their_size_ns_however_long_the_device_idles(tmp_path, unit, starts):
    # In µs: 5 µs of work every 1000 µs, without waits. In ns: 50 µs of work begins every 2 µs, on many streams.
    lake = lake_of(
        tmp_path, "\n".join([OLD_HEADER, *(f"k,T,AI_CORE,{start},{5 if unit > 1 else 50},0,8" for start in starts), ""])
    )
    found = [start for (start,) in events(lake, "start_ns")]
    assert found == pytest.approx([float(start) * unit for start in starts], rel=0, abs=500)
    assert (lake.result.rejected, lake.result.repaired) == (0, 0)


def test_starts_without_a_unit_are_ns_where_no_other_row_shows_it_and_that_is_reported(tmp_path):
    lake = lake_of(tmp_path, f"{OLD_HEADER}\nconv1,T,AI_CORE,1043640017380831,82.11,0,8\nx,T,AI_CORE,1.2.3,1,0,8\n")
    assert events(lake, "start_ns, dur_ns")[0] == (1043640017380831, 82_110)
    assert (lake.result.rejected, lake.result.repaired) == (1, 1)


def test_starts_of_torch_npu_without_a_unit_are_refused_where_no_other_row_shows_it(tmp_path):
    lake = lake_of(tmp_path, f"{NPU_HEADER}\nconv1,T,AI_CORE,1043640017380831,82.11,0,8\n")
    assert "Start Time has no unit, and the rows do not show whether it is µs or ns" in lake.result.reason


DIALECTS = {
    "lf": lambda text: text,
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "bom": lambda text: "\ufeff" + text,
    "no_last_newline": lambda text: text.rstrip("\n"),
    "tabs": lambda text: text.replace("100.5,", "100.5\t,"),
    "quoted_tabs": lambda text: text.replace("100.5,", '"100.5\t",'),
    "blank_lines": lambda text: text.replace("\n", "\n\n"),
    "all_quoted": lambda text: "\n".join(
        quoted_line(row, STYLES[2]) for row in csv.reader(text.splitlines())
    ),
    "gzip": lambda text: gzip.compress(text.encode()),
    "zstandard": lambda text: zstandard.compress(text.encode()),
}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
def test_how_lines_end_and_fields_are_quoted_makes_no_difference(tmp_path, dialect):
    text = f"{HEADER}\n{ROW}\n{ROW.replace('100.5', '200.5')}\n"
    lake = lake_of(tmp_path, DIALECTS[dialect](text))
    found = events(lake, "name, start_ns, end_ns, stream, input_dims, args ->> '$.counters'")
    first = ("aclnnMm_MatMulV2_MatMulV2", 100_500, 110_750, 2, "[[4,8],[8,2]]", "0.5")
    assert found == [first, (first[0], 200_500, 210_750, *first[3:])]
    assert (lake.result.rejected, lake.result.repaired, lake.result.truncated) == (0, 0, False)


def test_missing_values_are_null_and_their_rows_stay(tmp_path):
    rows = [
        "a,N/A,N/A,1.5,2,N/A,N/A,N/A",
        "b,,,N/A,2,,,",
        "c,T,7,3.0005,0.0005,N/A,N/A,",
        "N/A,T,7,4,1,N/A,N/A,1e-3",
        "d,T,7,5,N/A,N/A,N/A,1",
    ]
    lake = lake_of(tmp_path, "\n".join([HEADER, *rows]))
    assert events(lake, "name, start_ns, end_ns, stream") == [
        ("a", 1500, 3500, None),
        ("b", None, None, None),
        ("c", 3001, 3001, 7),
        ("T", 4000, 5000, 7),
        ("d", 5000, None, 7),
    ]
    assert lake.result.rejected == 0


DAMAGED = {
    "too_few": ("x,T,2", "3 columns instead of 8"),
    "too_many": (ROW + ",1,2", "10 columns instead of 8"),
    "open_quote": ('"x,T,2,1,1,N/A,N/A,0', "a quote that is not closed"),
    "quote_inside": ('x"y"z,"T"u,2,1,1,N/A,N/A,0', "quotes in a wrong place"),
    "no_number": ("x,T,2,yesterday,1,N/A,N/A,0", "no time"),
    "no_duration": ("x,T,2,1,1.2.3,N/A,N/A,0", "no time"),
    "two_points": ("x,T,2,1.000,1.234.567,N/A,N/A,0", "no time"),
    "two_points_in_the_start": ("x,T,2,1.300.000,2.000,N/A,N/A,0", "no time"),
    "hexadecimal": ("x,T,2,1.000,0x10.000,N/A,N/A,0", "no time"),
    "underscore": ("x,T,2,1.000,1_0.000,N/A,N/A,0", "no time"),
    "too_large": ("x,T,2,99999999999999999999,1,N/A,N/A,0", "no time"),
    # The end, 9.2e18 ns, and the start fit 64 bits each; their difference does not.
    "too_long": ("x,T,2,-1000,9223372036854776,N/A,N/A,0", "no time"),
    "zero_byte": ("x\0,T,2,1,1,N/A,N/A,0", "a zero byte"),
    "all_empty": (",,,,,,,", "no time"),
    "long": ("x" * (10 << 20) + ",T,2,1,1,N/A,N/A,0", "a line of"),
}


@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_line_that_is_no_row_is_counted_and_its_neighbours_stay(tmp_path, kind, place):
    line, reason = DAMAGED[kind]
    rows = [ROW] * 6
    rows.insert({"first": 0, "middle": 3, "last": 6}[place], line)
    lake = lake_of(tmp_path, "\n".join([HEADER, *rows, ""]))
    assert (lake.result.events, lake.result.rejected) == (6, 1)
    assert not lake.result.truncated
    [(samples,)] = lake.sql("SELECT samples FROM traces").fetchall()
    [sample] = json.loads(samples)["rejected"]
    assert sample["reason"].startswith(reason)
    place_in_file = rows.index(line)
    assert sample["event"] == place_in_file
    assert [number for (number,) in events(lake, "event_id")] == [n for n in range(7) if n != place_in_file]


def test_a_line_longer_than_a_piece_is_counted_and_its_neighbours_stay(tmp_path):
    with pieces_of(1 << 12):
        lake = lake_of(tmp_path, "\n".join([HEADER, ROW, "x" * 20_000, ROW, ROW, ""]))
    assert (lake.result.events, lake.result.rejected) == (3, 1)
    assert events(lake, "event_id") == [(0,), (2,), (3,)]


@pytest.mark.parametrize("cut", [10, 40, len(ROW) - 4])
def test_a_table_that_ends_inside_a_row_says_so(tmp_path, cut):
    lake = lake_of(tmp_path, "\n".join([HEADER, ROW, ROW[:cut]]))
    assert (lake.result.events, lake.result.rejected, lake.result.truncated) == (1, 1, True)


def test_a_compressed_table_that_ends_early_says_so(tmp_path):
    whole = gzip.compress("\n".join([HEADER] + [ROW.replace("100.5", str(n)) for n in range(9000)]).encode())
    lake = lake_of(tmp_path, whole[: len(whole) // 2])
    assert lake.result.truncated
    assert 0 < lake.result.events < 9000


def test_bytes_that_are_not_utf_8_are_mended_and_counted(tmp_path):
    lake = lake_of(tmp_path, HEADER.encode() + b"\n" + ROW.encode().replace(b"aclnn", b"\xb5\xe7") + b"\n")
    assert (lake.result.events, lake.result.repaired) == (1, 1)


def test_quotes_and_backslashes_in_any_column_are_kept(tmp_path):
    odd = 'a\\b ""c"" \\t'
    lake = lake_of(tmp_path, "\n".join([HEADER, ROW.replace("aclnnMm_MatMulV2_MatMulV2", f'"{odd}"'), ROW]))
    [(name, args), _] = events(lake, "name, args")
    assert name == odd.replace('""', '"') == json.loads(args)["name"]


REFUSED = {
    "empty": (b"", "empty"),
    "binary": (bytes(range(256)) * 20, "no text in UTF-8"),
    "semicolons": (HEADER.replace(",", ";"), "separated by semicolons"),
    "tabs": (HEADER.replace(",", "\t"), "separated by tabs"),
    "no_duration": (HEADER.replace("Duration(us)", "Length(us)"), "lacks Duration(us)"),
    "no_name": ("Stream ID,Start Time(us),Duration(us)", "lacks Name or Type"),
    "something_else": ("a,b,c", "lacks Name or Type, Start Time(us), Duration(us)"),
    "utf16": (HEADER.encode("utf-16"), "no text in UTF-8"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_table_of_kernels_is_refused_with_a_reason(tmp_path, kind):
    text, reason = REFUSED[kind]
    result = lake_of(tmp_path, text).result
    assert reason in result.reason
    assert not hasattr(result, "events")


def test_a_table_without_rows_is_a_trace_without_events(tmp_path):
    lake = lake_of(tmp_path, HEADER + "\n")
    assert (lake.result.events, lake.result.rejected) == (0, 0)


def test_a_column_given_twice_keeps_both_values(tmp_path):
    lake = lake_of(tmp_path, "Name,Name,Start Time(us),Duration(us),x,x\na,b,1,1,3,4\n")
    [(name, args)] = events(lake, "name, args")
    assert name == "a"
    assert json.loads(args) == {"name": "a", "start": "1", "dur": "1", "counters": "b\t3\t4"}
