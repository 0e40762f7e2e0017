"""Cutting a file into pieces: cases small enough to see, beside the laws that hypothesis tries."""

import json

import pytest

from ...support import comparable, entry_of, ingest_bytes, new_lake, pieces_of, python_reads, stored, trace_bytes

SPAN = {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "name": "span"}


@pytest.mark.parametrize("size", [150, 200, 333, 1000])
def test_arguments_that_look_like_events_are_never_cut_from_their_event(tmp_path, size):
    # Nested events between the same separators as the outer ones, and a string that holds them.
    nested = [{"ph": "X", "ts": nth, "note": '},\n  {"ph": "X"'} for nth in range(20)]
    events = [{**SPAN, "ts": nth, "args": {"list": nested, "text": json.dumps(nested)}} for nth in range(15)]
    content = trace_bytes(events).replace(b'}, {"ph"', b'},\n  {"ph"')
    lake = new_lake(tmp_path / "lake")
    with pieces_of(size):
        result = ingest_bytes(lake, content)
    rows = stored(lake, result.trace_id)
    assert [row["start_ns"] for row in rows] == [1000 * nth for nth in range(15)]
    assert [json.loads(row["args"]) for row in rows] == [event["args"] for event in events]
    assert (result.rejected, result.repaired, result.truncated) == (0, 0, False)


@pytest.mark.parametrize("size", [200, 400, 100_000])
def test_a_damaged_event_costs_itself_only(tmp_path, size):
    events = [{**SPAN, "ts": nth} for nth in range(40)]
    content = trace_bytes(events).replace(b'"ts": 17,', b'"ts": 17 oops,')
    lake = new_lake(tmp_path / "lake")
    with pieces_of(size):
        result = ingest_bytes(lake, content)
    rows = stored(lake, result.trace_id)
    assert [(row["event_id"], row["start_ns"]) for row in rows] == [(nth, 1000 * nth) for nth in range(40) if nth != 17]
    assert (result.events, result.rejected, result.truncated) == (39, 1, False)


@pytest.mark.parametrize("size", [150, 400, 100_000])
@pytest.mark.parametrize(("elements", "rejected"), [
    ([SPAN] * 30 + [{}], 0),  # as JAX ends its array
    ([SPAN] * 10 + [{}] + [SPAN] * 20 + [{}], 0),  # two captures of JAX in one array
    ([{}] + [SPAN] * 30, 0),  # as rocprof begins its array
    ([SPAN] * 10 + [{"args": {}}] + [SPAN] * 20, 1),
])  # fmt: skip
@pytest.mark.parametrize("damage", [b"", b"oops,"])
def test_an_empty_object_is_no_event_wherever_it_stands_and_one_without_an_events_fields_is_rejected(
    tmp_path, size, elements, rejected, damage
):
    # Damage sends its piece the careful way.
    content = trace_bytes(elements)
    content = content[: content.rindex(b'"dur"')] + damage + content[content.rindex(b'"dur"') :]
    lake = new_lake(tmp_path / "lake")
    with pieces_of(size):
        result = ingest_bytes(lake, content)
    assert (result.rejected, result.truncated) == (rejected + bool(damage), False)
    assert result.events == len(stored(lake, result.trace_id)) == 30 - bool(damage)
    samples = json.loads(stored_samples(lake, result.trace_id)).get("rejected", [])
    assert len(samples) == result.rejected


def test_a_quote_that_nothing_closes_costs_its_event_and_not_the_rest(tmp_path):
    events = [{**SPAN, "ts": nth} for nth in range(40)]
    content = trace_bytes(events).replace(b'"ts": 17, "dur": 2, "name": "span"', b'"ts": 17, "dur": 2, "name": "span')
    lake = new_lake(tmp_path / "lake")
    with pieces_of(600):
        result = ingest_bytes(lake, content)
    starts = {row["start_ns"] // 1000 for row in stored(lake, result.trace_id)}
    assert starts >= set(range(17)) | set(range(20, 40))
    assert result.events + result.rejected in (39, 40)
    assert result.rejected >= 1


def test_an_event_longer_than_many_pieces_is_whole(tmp_path):
    long = {**SPAN, "args": {"text": "},{" * 40_000}}
    lake = new_lake(tmp_path / "lake")
    with pieces_of(500):
        result = ingest_bytes(lake, trace_bytes([SPAN, long, SPAN]))
    assert [row["args"] and json.loads(row["args"]) for row in stored(lake, result.trace_id)] == [
        None,
        long["args"],
        None,
    ]


def test_the_keys_around_the_array_are_read_on_both_sides_of_it(tmp_path):
    head = '{"schemaVersion": 1, "deviceProperties": [{"name": "NVIDIA H100", "numSms": 132}], "traceEvents": [\n'
    tail = '\n], "distributedInfo": {"rank": 3, "world_size": 8}, "traceName": "x.json"}'
    lines = ",\n".join(json.dumps({**SPAN, "ts": nth}) for nth in range(100))
    lake = new_lake(tmp_path / "lake")
    with pieces_of(300):
        result = ingest_bytes(lake, (head + lines + tail).encode())
    entry = stored_entry(lake, result.trace_id)
    assert entry[:5] == ("kineto", "NVIDIA H100", 132, 3, 8)
    assert json.loads(entry[5]).keys() == {"schemaVersion", "deviceProperties", "distributedInfo", "traceName"}


def test_a_key_of_that_name_elsewhere_is_not_the_array_of_events(tmp_path):
    content = json.dumps(
        {
            "note": 'say "traceEvents": [{"ph": "X"}]',
            "inner": {"traceEvents": [{"ph": "X", "ts": 1}]},
            "traceEvents": [SPAN],
            "later": [1, 2],
        }
    ).encode()
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, content)
    assert (result.events, result.truncated) == (1, False)


@pytest.mark.parametrize("places", [3, 4])
@pytest.mark.parametrize("key", ["ts", "dur", "Ts", "color"])
def test_numbers_in_arguments_stay_numbers_whatever_their_keys(tmp_path, places, key):
    # Four places of a microsecond make the reader go by the text of "ts" and "dur", which arguments may hold too.
    event = {**SPAN, "ts": float("5." + "5" * places), "args": {key: 1.5, "deep": {"ts": 2, "dur": "3"}}}
    lake = new_lake(tmp_path / "lake")
    [row] = stored(lake, ingest_bytes(lake, trace_bytes([event])).trace_id)
    assert json.loads(row["args"]) == event["args"]


@pytest.mark.parametrize("first", [1, 3000])
def test_a_field_without_a_column_is_kept_wherever_it_first_appears(tmp_path, first):
    # 3000 events are 200 kB: far beyond what is looked at to learn a file's keys.
    events = [{**SPAN, "ts": nth, "args": {"n": nth}} for nth in range(3500)]
    events[first]["sf"] = {"a": [1, None], "b": None}
    lake = new_lake(tmp_path / "lake")
    rows = stored(lake, ingest_bytes(lake, trace_bytes(events)).trace_id, "event_id, extra")
    assert {row["event_id"]: json.loads(row["extra"]) for row in rows if row["extra"]} == {
        first: {"sf": {"a": [1, None], "b": None}}
    }


def test_times_with_fractions_on_an_epoch_clock_keep_every_digit(tmp_path):
    # A double near 1.7e15 is exact to a quarter of a microsecond only.
    texts = ["1712345678901234.567", "1712345678901234.568", "1712345678901235.001", "1712345678901234567.891"]
    content = b'{"traceEvents": [%s]}' % b",".join(
        b'{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": %s, "dur": 0.002}' % text.encode() for text in texts[:3]
    )
    lake = new_lake(tmp_path / "lake")
    rows = stored(lake, ingest_bytes(lake, content).trace_id)
    assert [row["start_ns"] for row in rows] == [1712345678901234567, 1712345678901234568, 1712345678901235001]
    assert [row["dur_ns"] for row in rows] == [2, 2, 2]


@pytest.mark.parametrize(("ts", "dur", "start", "end"), [
    ("0.0005", "0.0005", 1, 1),  # halves go away from zero, and the end is rounded from the sum
    ("-0.0005", "0.0001", -1, 0),
    ("-1.0005", "0", -1001, -1001),
    ("0.0014999999999999", "0", 1, 1),
    ("1.5e-3", "1E2", 2, 100002),
    ("1164337.051671", "3.7598289999999999", 1164337052, 1164340811),
    ('"12.5"', '"0.25"', 12500, 12750),
    ("4611686018427387.903", "0", 2**62 - 1, 2**62 - 1),
    ("5", "-1", 5000, 4000),
    ("5", "null", 5000, None),
    ("5", '"long"', 5000, None),
])  # fmt: skip
def test_times_are_rounded_once_from_their_decimal_text(tmp_path, ts, dur, start, end):
    # Worked out by hand.
    content = f'[{{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": {ts}, "dur": {dur}}}]'.encode()
    lake = new_lake(tmp_path / "lake")
    [row] = stored(lake, ingest_bytes(lake, content).trace_id)
    assert (row["start_ns"], row["end_ns"]) == (start, end)


def test_one_odd_number_late_in_a_file_sends_only_its_piece_the_slow_way(tmp_path):
    lines = [f'{{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": {nth}.125, "dur": 1.5}}' for nth in range(2000)]
    lines[1900] = lines[1900].replace("1.5}", "1.50049999}")
    content = ("[" + ",\n".join(lines) + "]").encode()
    lake = new_lake(tmp_path / "lake")
    rows = stored(lake, ingest_bytes(lake, content).trace_id)
    assert [row["dur_ns"] for row in rows] == [1500] * 1900 + [1500] + [1500] * 99
    assert comparable(len(python_reads(content).events)) == len(rows)


def stored_entry(lake, trace_id):
    columns = "format, device_name, num_sms, rank, world_size, metadata"
    return entry_of(lake, trace_id, columns)


def stored_samples(lake, trace_id):
    return entry_of(lake, trace_id, "samples")[0]


def test_a_number_before_an_event_longer_than_a_piece_is_passed_over_once(tmp_path):
    # The number alone may go on in what follows, so its piece is taken back: the next is cut behind more than it.
    long = {**SPAN, "name": "long" * 100}
    lake = new_lake(tmp_path / "lake")
    with pieces_of(150):
        result = ingest_bytes(lake, trace_bytes([-905.1608, long, long, 7, long]))
    assert (result.events, result.rejected) == (3, 2)
