"""Damaged text, a case at a time: the events beside the damage are stored, once each, and the rest is counted."""

import json
import re

import pytest
import zstandard

from tracelake.engine.errors import InputError
from tracelake.ingest.chrome import cutter
from tracelake.ingest.chrome import reader as chrome
from tracelake.lake import Lake

from ...support import (
    content_of,
    data_file,
    entry_of,
    ingest_bytes,
    ingest_into,
    new_lake,
    pieces_of,
    stored,
    trace_bytes,
)

SPAN = {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "name": "span"}
SECRET = "s3cr3t"
AROUND = f'"environ": {{"TOKEN": "{SECRET}", "list": [1, [2]]}}, "displayTimeUnit": "ms"'
SIZES = [700, 100_000]


def thirty(**fields):
    return [{"ph": "X", "name": f"n{nth}", "pid": 1, "tid": 1, "ts": nth, "dur": 2, **fields} for nth in range(30)]


def starts(lake, result):
    found = [row["start_ns"] // 1000 for row in stored(lake, result.trace_id)]
    assert len(found) == len(set(found)) == result.events
    return set(found)


@pytest.mark.parametrize("at", [300, 5000, 200_000, 2_000_000])
def test_a_brace_lost_in_a_trace_with_device_processes_costs_an_event_and_stores_none_twice(tmp_path, at):
    content = content_of(data_file("jax/tpu_inference_k1.trace.json.gz"))
    brace = content.index(b"}", at)
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, content[:brace] + content[brace + 1 :])
    rows = stored(lake, result.trace_id, "event_id, lane")
    assert 10_381 - 2 <= result.events <= 10_381
    assert [row["event_id"] for row in rows] == sorted({row["event_id"] for row in rows})
    assert result.rejected <= 2
    assert result.repaired == 0
    assert sum(row["lane"] == "device" for row in rows) > 3000


def test_the_lanes_of_a_damaged_first_piece_are_those_of_a_whole_one(tmp_path):
    content = content_of(data_file("jax/tpu_inference_k1.trace.json.gz"))
    lanes = []
    for name, text in (("whole", content), ("damaged", content.replace(b'"ts":', b'"ts":oops', 1))):
        lake = new_lake(tmp_path / name)
        rows = stored(lake, ingest_bytes(lake, text).trace_id, "event_id, lane")
        lanes.append({row["event_id"]: row["lane"] for row in rows})
    whole, damaged = lanes
    assert len(whole) == len(damaged) + 1
    assert {event: whole[event] for event in damaged} == damaged


# What is lost from the text of thirty events, and the events that it costs: those it stands in.
LOST = {
    "a brace in the first event": (r'("n0".*?)\}', {0}),
    "a brace in the middle": (r'("n14".*?)\}', {14}),
    "a brace in the last event": (r'("n29".*?)\}', {29}),
    "an opening brace": (r'()\{("ph": "X", "name": "n14")', {14}),
    "an opening quote": (r'("name": )"(n14)', {14}),
    "a closing quote": (r'("n14)"', {14}),
    "a closing quote at the end of an event": (r'("note": "14)"', {14}),
    "an opening quote at the end of an event": (r'("note": )"14', {14}),
    "a closing quote in the first event": (r'("n0)"', {0}),
    "a closing quote in the last event": (r'("n29)"', {29}),
    "a bracket of an argument": (r'("n14".*?"dims": \[14, 2)\]', {14}),
    "an opening bracket of an argument": (r'("n14".*?"dims": )\[', {14}),
    "a comma between keys": (r'("name": "n14"),', {14}),
    "a comma between events": (r'("note": "14"\}),', set()),
    "a colon": (r'("name"):( "n14")', {14}),
    "the array's end": (r'(\})\n\](, "env)', set()),
    "the last brace and the array's end": (r'\}\n\](, "env)', {29}),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("damage", LOST)
def test_what_is_lost_costs_the_events_it_stood_in_and_no_key_around_the_array_becomes_one(tmp_path, damage, size):
    pattern, cost = LOST[damage]
    events = [{**event, "dims": [nth, 2], "args": {"list": [{"a": 1}, {"b": [2]}]}, "note": str(nth)}
              for nth, event in enumerate(thirty())]  # fmt: skip
    text = trace_bytes(events).decode().removesuffix("}") + f", {AROUND}}}"
    damaged, count = re.subn(pattern, lambda match: "".join(match.groups()), text, count=1)
    assert count == 1
    lake = new_lake(tmp_path / "lake")
    with pieces_of(size):
        result = ingest_bytes(lake, damaged.encode())
    assert starts(lake, result) == set(range(30)) - cost
    assert result.rejected == len(cost)
    columns = "skipped_bytes, samples, metadata"
    skipped, samples, metadata = entry_of(lake, result.trace_id, columns)
    lines = text.split("\n  ")
    assert 0 <= skipped <= sum(len(lines[nth + 1]) for nth in cost)
    assert SECRET not in samples
    assert SECRET not in str(stored(lake, result.trace_id))
    for sample in json.loads(samples).get("rejected", []):
        assert sample["text"].count('"ph"') <= 1
        assert "environ" not in sample["text"]
    if damage != "the last brace and the array's end":
        assert json.loads(metadata) == {"displayTimeUnit": "ms"}


@pytest.mark.parametrize(("size", "bare"), [(700, False), (100_000, True)])
@pytest.mark.parametrize("extra", ["[", "]", "]}", "{", '"', "}", "],", "}}}", "][", "\\", "\0", '{"a":', "[["])
def test_what_is_put_between_two_events_costs_none_of_the_events(tmp_path, size, bare, extra):
    lines = [json.dumps(event) for event in thirty()]
    lines[15] = extra + lines[15]
    text = "[\n" + ",\n".join(lines) + "\n]"
    text = text if bare else f'{{"traceEvents": {text}, {AROUND}}}'
    lake = new_lake(tmp_path / "lake")
    with pieces_of(size):
        result = ingest_bytes(lake, text.encode())
    assert starts(lake, result) >= set(range(30)) - {15}
    assert result.rejected <= 2
    assert entry_of(lake, result.trace_id, "skipped_bytes")[0] <= len(lines[15])
    assert SECRET not in entry_of(lake, result.trace_id, "samples")[0]


def test_bytes_that_hold_no_event_are_counted_where_brackets_do_not_match(tmp_path):
    lines = [json.dumps(event) for event in thirty()]
    garbage = '{"ph": "X", {{{ "pid'
    text = f'{{"traceEvents": [{", ".join([*lines[:10], garbage, *lines[10:]])}]}}'
    lake = Lake(tmp_path / "lake")
    (tmp_path / "t.json").write_text(text)
    [result] = ingest_into(lake, tmp_path / "t.json")
    assert (result.events, result.rejected, result.skipped) == (30, 1, len(garbage))
    checks = dict(lake.sql('SELECT "check", severity FROM trace_checks WHERE "check" IN (\'skipped\')').fetchall())
    assert checks == {"skipped": "warning"}
    assert lake.sql("SELECT value FROM trace_checks WHERE \"check\" = 'skipped'").fetchall() == [(len(garbage),)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("between", [", ", f", {AROUND}, ", ', "x": {"traceEvents": [1]}, '])
def test_the_events_of_every_array_are_stored_and_the_arrays_counted(tmp_path, size, between):
    lines = [json.dumps(event) for event in thirty()]
    first, second = ",\n".join(lines[:18]), ",\n".join(lines[18:])
    lake = new_lake(tmp_path / "lake")
    text = f'{{"traceEvents": [{first}]{between}"trace\\u0045vents": [\n{second}\n], "with_stack": 1}}'
    with pieces_of(size):
        result = ingest_bytes(lake, text.encode())
    rows = stored(lake, result.trace_id)
    assert [row["start_ns"] for row in rows] == [1000 * nth for nth in range(30)]
    assert (result.rejected, result.truncated, result.skipped) == (0, False, 0)
    arrays, metadata = entry_of(lake, result.trace_id, "array_count, metadata")
    assert arrays == 2
    assert json.loads(metadata)["with_stack"] == 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("between", ["", "\n", " \r\n\t"])
def test_files_put_one_behind_the_other_are_read_each(tmp_path, size, between):
    events = thirty()
    around = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100"}]}
    head = json.dumps(around)[:-1]
    files = [f'{head}, "traceEvents": [{", ".join(map(json.dumps, part))}], "n": {len(part)}}}'
             for part in (events[:13], events[13:17], [], events[17:])]  # fmt: skip
    lake = new_lake(tmp_path / "lake")
    with pieces_of(size):
        result = ingest_bytes(lake, between.join(files).encode())
    assert [row["start_ns"] for row in stored(lake, result.trace_id)] == [1000 * nth for nth in range(30)]
    assert (result.rejected, result.truncated, result.skipped) == (0, False, 0)
    assert entry_of(lake, result.trace_id, "array_count") == (4,)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("between", ["", '\n{"deviceProperties": [{"id": 0, "name": "H100"}], "n": {"a": 1}, '])
@pytest.mark.parametrize(("cut", "rejected"), [
    ("", 0),
    (", ", 0),
    (', {"ph": "X", "name": "n1', 1),
    (', {"ph": "X", "name": "n1", ', 1),
    (', {"ph": "X", "name": "n1", "ts": 1, "args": {"device":', 1),
    (', {"ph": "X", "name": "n1", "ts": 1, "args": {"shape": [[1, ', 1),
])  # fmt: skip
def test_a_file_behind_one_that_was_cut_off_is_read_whole(tmp_path, size, between, cut, rejected):
    whole = [", ".join(map(json.dumps, part)) for part in (thirty()[:5], thirty()[5:17], thirty()[17:])]
    head = between or '{"schemaVersion": 1, '
    after = "".join(f'{head}"traceEvents": [{part}], "last": "x"}}' for part in whole[1:])
    lake = new_lake(tmp_path / "lake")
    with pieces_of(size):
        result = ingest_bytes(lake, f'{{"schemaVersion": 1, "traceEvents": [{whole[0]}{cut}{after}'.encode())
    assert starts(lake, result) == set(range(30))
    assert (result.events, result.rejected) == (30, rejected)
    # Where nothing is rejected, the end of the first array is what is missing.
    assert result.truncated or rejected


@pytest.mark.parametrize("size", SIZES)
def test_an_event_with_a_key_like_a_files_array_is_an_event_beside_damage_too(tmp_path, size):
    odd = {"name": "odd", "args": {"traceEvents": [{"a": 1}]}, "ph": "X", "pid": 1, "tid": 1, "ts": 30, "dur": 2}
    text = ", ".join(map(json.dumps, [*thirty()[:15], odd, *thirty()[15:]]))
    lake = new_lake(tmp_path / "lake")
    with pieces_of(size):
        result = ingest_bytes(lake, f'{{"traceEvents": [{text.replace("n20", "n20" + chr(34))}]}}'.encode())
    assert starts(lake, result) >= {*range(31)} - {20}
    assert (result.rejected, result.truncated) == (1, False)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("member", [[1, 2], [], [{"a": 1}], "x"])
@pytest.mark.parametrize("mark", ["", '"'])
def test_an_event_whose_first_key_is_like_a_files_array_is_an_event(tmp_path, size, member, mark):
    odd = {"traceEvents": member, "ph": "X", "name": "odd", "pid": 1, "tid": 1, "ts": 30, "dur": 2}
    text = ", ".join(map(json.dumps, [*thirty()[:15], odd, *thirty()[15:]]))
    lake = new_lake(tmp_path / "lake")
    with pieces_of(size):
        result = ingest_bytes(lake, f'{{"traceEvents": [{text.replace("n20", "n20" + mark)}]}}'.encode())
    assert starts(lake, result) >= {*range(31)} - ({20} if mark else set())
    assert (result.rejected, result.truncated) == (len(mark), False)


def test_a_file_whose_head_takes_hundreds_of_kilobytes_is_found_behind_one_that_was_cut_off(tmp_path):
    first, second = (", ".join(map(json.dumps, part)) for part in (thirty()[:5], thirty()[5:]))
    head = json.dumps({"schemaVersion": 1, "settings": ["x" * 80] * 6000})[:-1]
    lake = new_lake(tmp_path / "lake")
    text = f'{{"traceEvents": [{first}, {{"ph": "X", "na{head}, "traceEvents": [{second}]}}'
    result = ingest_bytes(lake, text.encode())
    assert starts(lake, result) == set(range(30))
    assert (result.events, result.rejected) == (30, 1)


def test_more_than_one_array_of_events_is_a_check(tmp_path):
    lake = Lake(tmp_path / "lake")
    (tmp_path / "two.json").write_text(f'{{"traceEvents": [{json.dumps(SPAN)}], "traceEvents": [{json.dumps(SPAN)}]}}')
    (tmp_path / "one.json").write_bytes(trace_bytes([SPAN]))
    ingest_into(lake, tmp_path / "one.json", tmp_path / "two.json")
    assert lake.sql(
        "SELECT trace, array_count, severity FROM traces JOIN trace_checks USING (trace_id)"
        " WHERE \"check\" = 'event_arrays' ORDER BY trace"
    ).fetchall() == [("one", 1, "ok"), ("two", 2, "info")]


@pytest.mark.parametrize("size", [700, 1 << 20])
@pytest.mark.parametrize("place", [0, 4000, 19_999])
def test_a_key_that_no_other_event_has_is_stored_wherever_it_stands(tmp_path, place, size):
    # More than is read before the first are parsed: nobody knows the keys of all of them.
    count = 20_000 if size > 1000 else 2000
    place = place * count // 20_000
    events = [{**SPAN, "ts": nth} for nth in range(count)]
    odd = {"occupancy": [1.50, {"a": None}], "Ts": "3", "": 1, 'say "hi"': 2, "é": 3, "x" * 100: 4}
    events[place] |= odd
    lake = new_lake(tmp_path / "lake")
    with pieces_of(size):
        result = ingest_bytes(lake, trace_bytes(events))
    rows = stored(lake, result.trace_id, "event_id, start_ns, extra")
    assert {row["event_id"]: json.loads(row["extra"]) for row in rows if row["extra"]} == {place: odd}
    assert [row["start_ns"] for row in rows] == [1000 * nth for nth in range(count)]
    assert (result.rejected, result.repaired, result.skipped) == (0, 0, 0)


def test_a_thousand_keys_that_no_other_event_has_are_stored(tmp_path):
    events = [{**SPAN, "ts": nth, f"key{nth}": nth} for nth in range(1000)]
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, trace_bytes(events))
    rows = stored(lake, result.trace_id, "event_id, extra")
    assert [json.loads(row["extra"]) for row in rows] == [{f"key{nth}": nth} for nth in range(1000)]


def test_numbers_of_a_mended_event_keep_their_text(tmp_path):
    args = '{"a": 1.25, "b": 1e400, "c": -0.0, "d": 12345678901234567890123, "e": {"x": 1, "x": 2}}'
    content = f'[{{"ph": "X", "ts": 1, "name": "bad \\ud800", "args": {args}}}]'.encode()
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, content)
    [row] = stored(lake, result.trace_id)
    assert (row["args"].replace(" ", ""), row["name"]) == (args.replace(" ", ""), "bad ?")
    assert result.repaired == 1


def test_a_pair_of_surrogates_is_mended_nowhere(tmp_path):
    lake = new_lake(tmp_path / "lake")
    text = b'[{"ph": "X", "ts": 1, "name": "\\ud83d\\ude00"}, {"ph": "X", "ts": 2, "name": "a\x01"}]'
    result = ingest_bytes(lake, text)
    assert [row["name"] for row in stored(lake, result.trace_id)] == ["😀", "a\x01"]
    assert result.repaired == 1


@pytest.mark.parametrize("event", [
    '{"ph": "X", "ts": 1, "\\ud800": 2}', '{"ph": "X", "ts": 1, "": 2}', '{"ph": "X", "ts": 1, "args": {"\\ud800": 1}}',
    '{"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "/device:TPU:\\ud800"}}',
    '{"ph": "X", "ts": 1, "dur": 9300000000000000}', '{"ph": "X", "ts": 1, "dur": 1e30}',
    '{"ph": "X", "ts": 1, "dur": 1e400}', '{"ph": "X", "ts": 9223372036854775.0, "dur": 1}',
    '{"ph": "X", "ts": 1, "dur": +5}', '{"ph": "X", "ts": 1.2.3}', '{"ph": "X", "ts": 05}', '{"ph": "X", "ts": .5}',
    '{"ph": "B", "ts": 9.2e15}, {"ph": "E", "ts": 9.2e15}', '{"ph": "B", "ts": -9.2e15}, {"ph": "E", "ts": 9.2e15}',
    '{"ph": "B", "ts": -4.6e15}, {"ph": "E", "ts": 4.6e15}',
    '{"ph": "X", "ts": 1, "a": 1, "a": 2}', '{"ph": "X", "ts": 1,}', '{"ph": "X", "ts": 1, "name": "\\x"}',
    '{"ph": "X", "ts": 1, "name": "\\u12"}', "{'ph': 'X'}", "nul", "{}",
    '{"tracelake:rest": {"a": 1}, "ph": "X", "ts": 1}',
])  # fmt: skip
def test_an_odd_event_is_stored_or_counted_and_its_neighbours_stay(tmp_path, event):
    lines = [json.dumps({**SPAN, "ts": 100 + nth}) for nth in range(6)]
    lines.insert(3, event)
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, ("[" + ", ".join(lines) + "]").encode())
    rows = stored(lake, result.trace_id)
    assert [row["start_ns"] for row in rows if row["name"] == "span"] == [1000 * (100 + nth) for nth in range(6)]
    assert result.events + result.rejected == 6 + event.count('"ph": "') + (event in ("nul", "{'ph': 'X'}"))
    # The difference of any two times is one of 64 bits.
    times = [time for row in rows for time in (row["start_ns"], row["end_ns"]) if time is not None]
    assert max(times) - min(times) < 2**63


@pytest.mark.parametrize("args", ['{"n":1,}', "[1,[2,],]", '{"n":NaN}', '{"a":' * 5000 + "1" + "}" * 5000])
def test_what_the_parser_accepts_beyond_json_is_stored_beside_damage_too(tmp_path, args):
    odd = f'{{"ph": "X", "name": "odd", "pid": 1, "tid": 1, "ts": 7, "dur": 2, "args": {args}}}'
    found = []
    for name, last in (("whole", json.dumps(SPAN)), ("damaged", json.dumps(SPAN) + '"')):
        lake = new_lake(tmp_path / name)
        result = ingest_bytes(lake, f"[{json.dumps(SPAN)}, {odd}, {last}, {json.dumps(SPAN)}]".encode())
        found.append([row["args"] for row in stored(lake, result.trace_id, "event_id, name, args")][1])
        assert (result.repaired, result.rejected) == (0, name == "damaged")
    assert found[0] == found[1] is not None


@pytest.mark.parametrize(("dur", "kept"), [
    ("4611686018427386.9", True), ("4611686018427388", False), ("9223372036854775", False), ("1e30", False),
    ('"1e30"', False), ("-1e30", False), ("1e400", False), ("NaN", False), ("-Infinity", False), ("inf", False),
])  # fmt: skip
def test_an_event_whose_end_no_number_holds_is_rejected_and_never_without_its_duration(tmp_path, dur, kept):
    # 2^62 - 1 ns, the largest time, are 4611686018427387.903 µs.
    lake = new_lake(tmp_path / "lake")
    text = f'[{{"ph": "X", "ts": 1, "dur": {dur}}}, {json.dumps(SPAN)}]'
    result = ingest_bytes(lake, text.encode())
    assert (result.events, result.rejected) == ((2, 0) if kept else (1, 1))
    assert all(row["dur_ns"] is not None for row in stored(lake, result.trace_id))


@pytest.mark.parametrize("content", [trace_bytes([SPAN]), trace_bytes([SPAN] * 5000)], ids=["small", "large"])
@pytest.mark.parametrize("kept", [5, 0.9, -1])
def test_a_zstandard_file_that_ends_early_is_never_called_empty(tmp_path, content, kept):
    packed = zstandard.compress(content)
    cut = packed[: kept if isinstance(kept, int) else int(len(packed) * kept)]
    lake = new_lake(tmp_path / "lake")
    if len(cut) < 100:
        with pytest.raises(InputError, match="the compressed stream ends early"):
            ingest_bytes(lake, cut)
        return
    result = ingest_bytes(lake, cut)
    assert result.truncated
    assert result.reason == "the compressed stream ends early"


def test_a_table_that_ends_inside_its_header_says_so(tmp_path):
    header = "Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim"
    path = tmp_path / "kernel_details.csv"
    path.write_text(header[: header.index("Wait") + 2])
    [result] = ingest_into(Lake(tmp_path / "lake"), path)
    assert "no complete event: the file ends inside its header" in result.reason


def test_a_header_that_is_damaged_does_not_hide_the_events(tmp_path):
    text = '{"schemaVersion: 1, "deviceProperties": [], "traceEvents": [' + ", ".join(map(json.dumps, thirty())) + "]}"
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, text.encode())
    assert starts(lake, result) == set(range(30))
    assert result.truncated


def test_damage_longer_than_an_event_may_be_is_passed_over_and_the_reading_goes_on(tmp_path, monkeypatch):
    # Brackets that nothing closes, many times the largest event: once cut where a shorter text looked whole, for ever.
    for module in (chrome, cutter):
        monkeypatch.setattr(module, "EVENT_LIMIT", 30_000)
    event = json.dumps(SPAN).encode()
    damage = b'{"ph": [' * 15_000
    lake = new_lake(tmp_path / "lake")
    with pieces_of(15_000):
        result = ingest_bytes(lake, b'{"traceEvents": [%s,%s,%s]}' % (event, damage, event))
    assert 1 <= result.events <= 2
    assert result.skipped >= len(damage) - 100
