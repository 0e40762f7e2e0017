"""A metric over the runs of a lake: points, their times, and the run that a shift begins at."""

import datetime
import os
import sys

import pytest

import tracelake
from tracelake.analysis import sides
from tracelake.engine.errors import UsageError
from tracelake.synthetic.ranks import RECORDED_NS, Rank, write_ranks

from ....lakes import ingest_at_once
from ....launching import Trace

DAY_NS = 86_400 * 10**9
#: Ranks of each night; from the 21st on computing takes 4 % longer.
NIGHTS = 30


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    files = {}
    for night in range(1, NIGHTS + 1):
        place = folder / str(night)
        place.mkdir()
        slowness = 1.04 if night >= 21 else 1.0
        for path in write_ranks(
            place, [Rank()], steps=4, seed=night, slowness=slowness, start_ns=RECORDED_NS + (night - 1) * DAY_NS
        ):
            named = path.rename(place / f"night-{night:02}.json.gz")
            files[named] = {"run": f"nightly-{night:02}", "commit": f"c{(night - 1) // 10}", "build": f"b{night}"}
    lake = tracelake.open(folder / "lake")
    ingest_at_once(lake, files)
    return lake


def test_the_planted_shift_is_found_at_its_run_with_its_size(lake):
    answer = lake.history("compute_ms")
    [shift] = answer.shifts
    assert answer.pairs == (("nightly-20", "nightly-21"),)
    assert shift.start == 20
    [(size, low, high, verdict)] = answer.rows.filter("verdict IS NOT NULL").select(
        "shift_pct, shift_low_pct, shift_high_pct, verdict"
    ).fetchall()  # fmt: skip
    assert size == pytest.approx(4, abs=0.5)
    assert size - 0.5 < low < size < high < size + 0.5
    assert verdict == "slower"
    [sentence] = answer.verdicts
    assert sentence.startswith("slower from nightly-21 on: from 1.")


@pytest.mark.parametrize(
    ("by", "sides"),
    [
        ("run", ("run=nightly-20", "run=nightly-21")), ("build", ("build=b20", "build=b21")),
        ("trace", ("night-20", "night-21")),
    ],
)  # fmt: skip
def test_the_points_at_a_shift_are_named_as_sides_of_a_comparison(lake, by, sides):
    answer = lake.history("compute_ms", by=by)
    assert answer.sides == (sides,)
    [(name, before, after)] = lake.compare_sides(*sides).sides.select("side, before_ns, after_ns").fetchall()
    # Of some 1930 µs 1500 are computed, and these are 4 % longer.
    assert name == sides[1]
    assert after - before == pytest.approx(60_000, abs=20_000)


def test_points_are_in_the_order_of_the_clocks_in_the_files(lake):
    rows = lake.history("step_ms").rows.select("run, CAST(recorded_at AS VARCHAR), source, traces").fetchall()
    assert len(rows) == NIGHTS
    assert rows[0] == ("nightly-01", "2026-11-01 02:00:00.001049", "clock", 1)
    assert [run for run, *_ in rows] == sorted(run for run, *_ in rows)


def test_where_leaves_out_traces_and_a_tag_puts_them_together(lake):
    answer = lake.history("step_ms", where="run < 'nightly-08'")
    assert len(answer.rows.fetchall()) == 7
    assert answer.verdicts == ("cannot tell: 7 points, and a shift shows in 8 or more.",)
    by_tag = lake.history("step_ms", by="commit").rows.select("run, traces").fetchall()
    assert by_tag == [("c0", 10), ("c1", 10), ("c2", 10)]


def test_a_column_of_a_relation_is_a_metric(lake):
    # Each night has one device, so that the median of its rows is that row.
    points = lake.history("time_breakdown.compute_pct").rows.select("run, value").fetchall()
    columns = dict(lake.rows("SELECT run, compute_pct FROM time_breakdown JOIN traces USING (trace_id)"))
    assert dict(points) == columns


@pytest.mark.parametrize(
    ("metric", "where", "said"),
    [
        ("speed", None, "no such metric. Known: compute_ms,"),
        ("time_breakdown.speed", None, "has no number speed of a trace"),
        ("tokens_per_s", None, "no trace has a value of it"),
        ("step_ms", "run = 'weekly'", "no trace fits"),
        ("step_ms", "speed > 1", "speed"),
        # Without quotes, a shell passes on a word that SQL takes for a column.
        ("step_ms", "hardware=mi300x", r"(?s)mi300x.*SQL on the columns of traces, with text in quotes"),
    ],
)
def test_what_cannot_be_answered_is_said_in_words(lake, metric, where, said):
    with pytest.raises(UsageError, match=said):
        lake.history(metric, where=where)


def test_an_attribute_that_no_trace_has_is_refused_as_a_comparison_does(lake):
    for ask in (lambda: lake.history("step_ms", by="comit"), lambda: lake.compare_sides(by="comit")):
        with pytest.raises(UsageError, match=r"comit: no trace has it\. Near: commit"):
            ask()


def test_what_the_file_says_puts_traces_together_as_a_setting_does(lake):
    points = lake.history("step_ms", by="device_name").rows.select("run, traces").fetchall()
    assert points == [("NVIDIA H100 80GB HBM3", NIGHTS)]


def test_the_relation_has_the_same_points(lake):
    found = lake.rows("SELECT run, value FROM history WHERE metric = 'step_ms' ORDER BY recorded_at")
    assert found == lake.history("step_ms").rows.select("run, value").fetchall()


def test_the_time_is_the_user_s_else_the_clock_s_the_name_s_or_the_file_s(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    event = '{"ph": "X", "cat": "kernel", "name": "k%d", "pid": 0, "tid": 7, "ts": %s, "dur": 1}'
    cases = {
        "clock": (event % (1, "1793498400000000"), {}),
        "nightly_20261103": (event % (2, "5"), {}),
        "plain": (event % (3, "5"), {}),
        "given": (event % (4, "1793498400000000"), {"recorded_at": "2026-11-05 03:00:00"}),
    }
    files = {}
    for name, (text, settings) in cases.items():
        path = tmp_path / f"{name}.json"
        path.write_text(f'{{"traceEvents": [{text}]}}')
        os.utime(path, (1_793_930_400, 1_793_930_400))
        files[path] = settings
    ingest_at_once(lake, files)
    found = lake.rows("SELECT trace, CAST(recorded_at AS VARCHAR), recorded_at_source FROM traces ORDER BY recorded_at")
    assert found == [
        ("clock", "2026-11-01 02:00:00", "clock"),
        ("nightly_20261103", "2026-11-03 00:00:00", "name"),
        ("given", "2026-11-05 03:00:00", "user"),
        ("plain", "2026-11-06 02:00:00", "file"),
    ]
    lake.set("plain", recorded_at="2026-11-07T04:00+02:00")
    assert lake.rows("SELECT CAST(recorded_at AS VARCHAR) FROM traces WHERE trace = 'plain'") == [
        ("2026-11-07 02:00:00",)
    ]
    with pytest.raises(UsageError, match="expected a date or a time"):
        lake.set("plain", recorded_at="yesterday")


def test_a_time_in_a_name_is_one_since_1970_in_any_unit_or_a_date_with_the_time_of_day(tmp_path):
    # Figures by GNU date: date -u -d @1773709742.
    names = {
        "a_1.1773709742341309550.pt.trace": "2026-03-17 01:09:02.341309",
        "a_2.1773709742341309.pt.trace": "2026-03-17 01:09:02.341309",
        "a_3.1773709742341.pt.trace": "2026-03-17 01:09:02.341",
        "1773709742.34-TP-0": "2026-03-17 01:09:02",
        "2026-01-01_1773709742": "2026-03-17 01:09:02",
        "node_4711_20260617064811905": "2026-06-17 06:48:11.905",
        "2026_01_02_03_04_05": "2026-01-02 03:04:05",
        "nightly-2026-01-02T03:04:05.678-b": "2026-01-02 03:04:05.678",
        "nightly_20260102": "2026-01-02 00:00:00",
        "2026-01-02-99-build": "2026-01-02 00:00:00",
    }
    files = []
    for nth, name in enumerate(names):
        files.append(tmp_path / f"{name}.json")
        text = f'{{"ph": "X", "cat": "kernel", "name": "k{nth}", "pid": 0, "tid": 7, "ts": 5, "dur": 1}}'
        files[-1].write_text(f'{{"traceEvents": [{text}]}}')
    lake = tracelake.open(tmp_path / "lake")
    lake.ingest(*files, events_only=True)
    found = dict(lake.rows("SELECT source_path.parse_filename(true), recorded_at FROM traces"))
    assert {name: str(at) for name, at in found.items()} == {
        name: str(datetime.datetime.fromisoformat(at)) for name, at in names.items()
    }


def test_without_ruptures_a_history_says_what_to_install(lake, monkeypatch):
    monkeypatch.setitem(sys.modules, "ruptures", None)
    with pytest.raises(UsageError, match=r"pip install 'tracelake\[history\]'"):
        lake.history("step_ms")


def test_a_night_far_from_its_level_is_named_and_not_in_the_comparison_of_levels(tmp_path):
    # Ten nights of 199 to 201 µs, one of 300 among them, then ten of 206: 3 % slower.
    durations = [199, 200, 201, 200, 300, 199, 201, 200, 199, 201, *[206, 207, 205] * 3, 206]
    with tracelake.open(tmp_path / "lake") as lake:
        files = {}
        for night, dur in enumerate(durations, 1):
            # Each night has its own step numbers: equal files are one trace.
            trace = Trace().mark(f"ProfilerStep#{3 * night}", 0, 900).run(100, dur, 1)
            trace.mark(f"ProfilerStep#{3 * night + 1}", 1000, 900).run(1100, dur, 1001)
            trace.mark(f"ProfilerStep#{3 * night + 2}", 2000, 900).run(2100, dur, 2001)
            files[trace.write(tmp_path / f"night-{night:02}.json")] = {"run": f"night-{night:02}"}
        ingest_at_once(lake, files)
        answer = lake.history("step_ms")
        sentence, left_out = answer.verdicts
        [(before, after)] = answer.levels
        compared = sides.compare(lake.store, [before, after]).sides
        [(before_ns, after_ns)] = compared.select("before_ns, after_ns").fetchall()
    assert sentence.startswith("slower from night-11 on: from 0.2 to 0.206 ms (+3.0 %")
    assert left_out == "far from their level, left out where levels are compared: night-05."
    # The mean of nine nights; with the tenth it is 210, and the shift would be to less.
    assert (before_ns, after_ns) == (200_000, 206_000)


@pytest.fixture(scope="module")
def namesakes(tmp_path_factory):
    """Ten nights of one step each, 400 us in the first five and 440 after: nine named worker, the last of them of the
    run `last` with a commit, and one named `last`."""
    folder = tmp_path_factory.mktemp("namesakes")
    files = {}
    for night in range(10):
        trace = Trace().mark(f"ProfilerStep#{night}", 0, 900).run(100, 400 if night < 5 else 440, 1)
        (folder / str(night)).mkdir()
        path = trace.write(folder / str(night) / ("worker.json" if night < 9 else "last.json"))
        files[path] = {"recorded_at": f"2026-11-{night + 1:02}"}
        files[path] |= {"run": "last", "commit": "c1"} if night == 8 else {}
    with tracelake.open(folder / "lake") as lake:
        ingest_at_once(lake, files)
        yield lake


@pytest.mark.parametrize(("by", "ends"), [("run", ["last", "last ({9})"]), ("trace", ["worker ({8})", "last"])])
def test_traces_of_one_name_without_a_run_are_points_of_their_own_and_show_the_shift_between_them(namesakes, by, ends):
    answer = namesakes.history("step_ms", by=by)
    ids = [one for (one,) in namesakes.rows("SELECT trace_id FROM traces ORDER BY recorded_at")]
    short = [one[:8] for one in ids]
    named = [*(f"worker ({one})" for one in short[:8]), *(end.format(*short) for end in ends)]
    assert answer.rows.select("run, traces, round(value, 3)").fetchall() == [
        (name, 1, 0.4 if night < 5 else 0.44) for night, name in enumerate(named)
    ]
    assert [sentence.split(" (+10.0 %")[0] for sentence in answer.verdicts] == [
        f"slower from {named[5]} on: from 0.4 to 0.44 ms"
    ]
    # The name would be ambiguous as a side, the id is not.
    assert answer.sides == ((ids[4], ids[5]),)
    assert (answer.doubts, answer.left_out) == ((), ())


def test_traces_without_a_tag_belong_to_no_point_and_are_counted(namesakes):
    answer = namesakes.history("step_ms", by="commit")
    assert answer.rows.select("run, traces, round(value, 3)").fetchall() == [("c1", 1, 0.44)]
    [sentence] = answer.left_out
    assert sentence.startswith("9 of 10 traces are left out, without commit: last, worker, ")
    assert namesakes.history("step_ms", by="commit", where="run = 'last'").left_out == ()
