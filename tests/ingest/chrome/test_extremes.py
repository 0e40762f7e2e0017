"""Files that are whole and out of all proportion: each is read, and what it holds is what went in."""

import json

import duckdb
import pytest

from ...support import entry_of, ingest_bytes, new_lake, stored, trace_bytes

SPAN = {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "name": "span"}


@pytest.mark.parametrize("named", [True, False])
def test_begins_twenty_thousand_deep_find_their_ends(tmp_path, named):
    deep = 20_000
    begins = [{"ph": "B", "pid": 1, "tid": 1, "ts": nth, "name": f"f{nth % 50}"} for nth in range(deep)]
    ends = [
        {"ph": "E", "pid": 1, "tid": 1, "ts": deep + nth} | ({"name": f"f{(deep - 1 - nth) % 50}"} if named else {})
        for nth in range(deep)
    ]
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, trace_bytes(begins + ends))
    rows = stored(lake, result.trace_id, "event_id, ph, end_ns")
    assert result.unmatched == 0
    assert [row["end_ns"] for row in rows if row["ph"] == "B"] == [1000 * (2 * deep - 1 - nth) for nth in range(deep)]
    assert len(rows) == 2 * deep


def test_objects_nested_a_hundred_thousand_deep_in_arguments_are_stored_as_they_are(tmp_path):
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    text = f'[{json.dumps(SPAN)}, {{"ph": "X", "ts": 6, "name": "deep", "args": {deep}}}, {json.dumps(SPAN)}]'
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, text.encode())
    rows = stored(lake, result.trace_id, "event_id, name, args")
    assert [(row["name"], row["args"]) for row in rows] == [("span", None), ("deep", deep), ("span", None)]
    assert result.rejected == 0


@pytest.mark.parametrize("field", ["name", "args"])
def test_a_text_longer_than_the_parser_expects_an_event_to_be_is_stored_whole(tmp_path, field):
    text = "}, {" * (9 << 18)
    long = {**SPAN, "name": text} if field == "name" else {**SPAN, "args": {"a": text}}
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, trace_bytes([SPAN, long, SPAN]))
    rows = stored(lake, result.trace_id, "event_id, name, args")
    found = rows[1]["name"] if field == "name" else json.loads(rows[1]["args"])["a"]
    assert (len(rows), found == text) == (3, True)


def test_a_name_and_a_flow_of_its_own_for_each_event_are_stored(tmp_path):
    count = 30_000
    events = [
        event
        for nth in range(count)
        for event in (
            {**SPAN, "ts": 2 * nth, "name": f"name {nth}"},
            {"ph": "stf"[nth % 3], "id": nth // 3, "pid": 1, "tid": nth % 7, "ts": 2 * nth, "name": "ac2g"},
        )
    ]
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, trace_bytes(events))
    [found] = duckdb.execute(
        "SELECT count(DISTINCT name), count(*) FILTER (lane = 'flow'), count(DISTINCT id), count(*)"
        f" FROM read_parquet('{lake.event_dir(result.trace_id)}/**/*.parquet', hive_partitioning = true)"
    ).fetchall()
    assert found == (count + 1, count, count // 3, 2 * count)


@pytest.mark.parametrize("note", ['"' + '\\"' * (3 << 19) + '"', "[" * 5000 + "]" * 5000])
def test_what_stands_behind_the_events_is_passed_over_whatever_its_size(tmp_path, note):
    text = (
        f'{{"traceEvents": [{json.dumps(SPAN)},{" " * (3 << 20)}{json.dumps(SPAN)}], "note": {note}, "with_stack": 1}}'
    )
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, text.encode())
    (metadata,) = entry_of(lake, result.trace_id, "metadata")
    assert (result.events, result.truncated, json.loads(metadata)) == (2, False, {"with_stack": 1})


def test_half_a_surrogate_pair_beside_the_events_is_stored_as_a_question_mark(lake, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps({"traceEvents": [SPAN], "with_stack": "\ud83d", "deviceProperties": [{"name": "\udc00"}]})
    )
    [result] = lake.ingest(path)
    [(metadata,)] = lake.sql(f"SELECT metadata FROM traces WHERE trace_id = '{result.trace_id}'").fetchall()
    assert json.loads(metadata) == {"with_stack": "?", "deviceProperties": [{"name": "?"}]}
    assert lake.sql("SELECT count(*) FROM events").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("plain", "ts", "dur", "start_ns", "dur_ns"),
    [
        # Doubles near 1.7e15 are 0.25 apart: this one is 1712345678020000, as are those of the next two.
        ("1712345678010000", "1712345678020000.1", "5", 1712345678020000100, 5000),
        ("1712345678010000", '"1712345678020000.1"', "5", 1712345678020000100, 5000),
        ("1712345678010000", "1.7123456780200001e15", "5", 1712345678020000100, 5000),
        ("1712345678010000", "1712345678020000.9", "5.1", 1712345678020000900, 5100),
        # Near 5e12 they are 0.00098 apart: 5000000020000.12402 lies nearest, which would be 124 ns.
        ("5000000010000.125", "5000000020000.12349999", "5.125", 5000000020000123, 5125),
        ("5000000010000.125", "5000000020000.125", "600000000000.12349999", 5000000020000125, 600000000000123),
    ],
)
@pytest.mark.parametrize("category", ["kernel", "python_function"])
def test_a_time_of_more_places_than_a_double_has_is_exact_where_no_sample_shows_it(
    tmp_path, category, plain, ts, dur, start_ns, dur_ns
):
    event = f'{{"ph": "X", "cat": "{category}", "name": "k", "pid": 0, "tid": 7, "ts": %s, "dur": %s}}'
    lines = [event % (plain, 5)] * 2000
    lines[1800] = event % (ts, dur)
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, f'{{"traceEvents": [{", ".join(lines)}]}}'.encode())
    row = stored(lake, result.trace_id, "event_id, start_ns, dur_ns")[1800]
    assert (row["start_ns"], row["dur_ns"]) == (start_ns, dur_ns)


def test_an_event_whose_duration_overflows_is_rejected_and_its_neighbours_stay(tmp_path):
    # The end, 9.2e18 ns, and the start fit 64 bits each; their difference does not.
    long = {**SPAN, "ts": -1000, "dur": 9223372036854776}
    result = ingest_bytes(new_lake(tmp_path / "lake"), trace_bytes([SPAN, long, SPAN]))
    assert (result.events, result.rejected) == (2, 1)


@pytest.mark.parametrize("mark", ["=", "=0a1b2c", ""])
def test_strings_under_the_keys_of_times_stay_strings_where_times_are_read_as_text(tmp_path, mark):
    args = {"ts": f"{mark}cmd|' /C calc'!A0", "dur": f"{mark}5", "inner": {"ts": 7.25, "dur": f"{mark}"}}
    exact = {**SPAN, "ts": 5.1234, "args": args, "tts": {"ts": f"{mark}1", "dur": 2}}
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, trace_bytes([exact, {**exact, "ts": "=5"}]))
    [row] = stored(lake, result.trace_id, "start_ns, args, extra")
    assert row["start_ns"] == 5123
    assert json.loads(row["args"]) == args
    assert json.loads(row["extra"]) == {"tts": exact["tts"]}
    assert result.rejected == 1


@pytest.mark.parametrize(("dims", "types", "found"), [
    ("32,64;\n64,128", "float;\nfloat", ("[[32,64],[64,128]]", '["float","float"]')),
    (" [[32,64]]", " float", ("[[32,64]]", '["float"]')),
    ("[32,64", "['float','float']", (None, None)),
    ('{"a": 1}', '{"a": 1}', (None, None)),
    ({"a": 1}, {}, (None, None)),
    ([[32, 64], []], ["float", ""], ("[[32,64],[]]", '["float",""]')),
    ([], [], ("[]", "[]")),
])  # fmt: skip
def test_shapes_and_types_are_json_arrays_or_null(tmp_path, dims, types, found):
    args = {"Input Dims": dims, "Input type": types}
    lake = new_lake(tmp_path / "lake")
    result = ingest_bytes(lake, trace_bytes([SPAN | {"cat": "cpu_op", "args": args}]))
    [row] = stored(lake, result.trace_id, "event_id, input_dims, input_types")
    assert (row["input_dims"], row["input_types"]) == found
