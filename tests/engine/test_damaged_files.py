"""A damaged file of one trace: the others answer as they did, and either it answers in full or it is named."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tracelake import cli
from tracelake.commands import failures
from tracelake.engine import aside, damage, event_files
from tracelake.engine.errors import InputError, TracelakeError
from tracelake.engine.storage.tables import Tables
from tracelake.lake import Lake
from tracelake.reports.output.render import render

from ..storing import storing_only
from ..support import bound_by_modes, needs_modes, run_cli, trace_bytes

KERNEL = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 2}
OPERATOR = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "dur": 0.5}
#: What is asked of every damaged lake: of events, of what is stored, of a sound trace, of the catalog.
QUESTIONS = (
    ("sql", "SELECT trace_id, count(*), bit_xor(hash(name, args, end_ns)) FROM events GROUP BY ALL ORDER BY ALL"),
    ("sql", "SELECT trace_id, count(*), sum(dur_ns), min(name) FROM kernels GROUP BY ALL ORDER BY ALL"),
    ("sql", "SELECT trace_id, sum(calls) FROM ops GROUP BY ALL ORDER BY ALL"),
    ("kernels", "t2"),
    ("traces",),
)
Damage = Callable[[Path], object]


def flipped(path: Path, places: range) -> None:
    data = bytearray(path.read_bytes())
    for at in places:
        data[at % len(data)] ^= 0x5A
    path.write_bytes(data)


DAMAGES: dict[str, Damage] = {
    "zero bytes": lambda path: path.write_bytes(b""),
    "cut by 30 bytes": lambda path: path.write_bytes(path.read_bytes()[:-30]),
    "cut in half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "bytes flipped in its pages": lambda path: flipped(path, range(20, 200)),
    "bytes flipped at its end": lambda path: flipped(path, range(-60, -8)),
    "a text": lambda path: path.write_text("This is no Parquet.\n" * 99),
    "JSON of another kind": lambda path: path.write_text("[1, 2]"),
    "removed": Path.unlink,
    "a table of another kind": lambda path: duckdb.execute(f"COPY (SELECT 1 AS one) TO '{path}' (FORMAT parquet)"),
}
#: A trace without its catalog row is in no lake, and one without settings has none.
CASES = [
    (kind, what)
    for kind in ("device", "host", "catalog", "stored", "settings")
    for what in DAMAGES
    if what != "removed" or kind not in ("catalog", "settings")
]
QUICK = {
    ("device", "zero bytes"), ("device", "bytes flipped in its pages"), ("host", "removed"),
    ("catalog", "cut in half"), ("stored", "zero bytes"), ("stored", "bytes flipped in its pages"),
    ("settings", "a text"),
}  # fmt: skip


def file_of(lake: Path, kind: str, trace_id: str) -> Path:
    if kind in ("device", "host"):
        return next((lake / "events" / f"trace_id={trace_id}" / f"lane={kind}").glob("*.parquet"))
    table = {"catalog": "traces", "stored": "_kernels", "settings": "settings"}[kind]
    files = Tables(lake / "tables").files(table)
    return next(Path(str(file.path)) for file in files if file.traces == (trace_id, trace_id))


@pytest.fixture(scope="module", autouse=True)
def few_answers():
    """Store what is asked for here alone: the damage of one table is as that of another."""
    with storing_only("kernels", "ops"):
        yield


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """A lake of three traces, t2 to t4 of so many kernels and operators, each with files of its own; t3 has a tag."""
    folder = tmp_path_factory.mktemp("sound")
    with Lake(folder / "lake") as lake:
        for count in (2, 3, 4):
            on_device = [
                {**KERNEL, "ts": 10 * nth, "args": {"device": 0, "stream": 7, "correlation": nth}}
                for nth in range(count)
            ]
            on_host = [
                {**OPERATOR, "ts": 10 * nth - 5, "args": {"External id": nth, "Input Dims": [[2, 2], [2, 2]]}}
                for nth in range(count)
            ]
            (folder / f"t{count}.json").write_bytes(trace_bytes(on_device + on_host, schemaVersion=1))
            lake.ingest(folder / f"t{count}.json")
            if count == 3:
                lake.set("t3", build="nightly")
    return folder / "lake"


@pytest.fixture
def ran(monkeypatch, capsys, caplog):
    """Return what runs the command line here, and gives its exit code, its answer and all that it says beside it."""

    def run(lake: Path, *words: str) -> tuple[int, str, str]:
        caplog.clear()
        # As a process of its own: each says a thing once.
        monkeypatch.setattr(aside, "_warned", set())
        monkeypatch.setattr("sys.argv", ["tracelake", "--lake", str(lake), *words])
        code = 0
        try:
            cli._answer()
        except (duckdb.Error, TracelakeError, OSError, SystemExit) as error:
            code = error.code if isinstance(error, SystemExit) else failures.exit_code(error)
        out, err = capsys.readouterr()
        return code, out, err + caplog.text

    return run


def by_trace(answer: str, ids: dict[str, str]) -> dict[str, list[str]]:
    return {trace: [line for line in answer.splitlines() if trace_id in line] for trace, trace_id in ids.items()}


@pytest.fixture(scope="module")
def ids(sound) -> dict[str, str]:
    with Lake(sound) as lake:
        return dict(lake.rows("SELECT trace, trace_id FROM traces"))


_answers: dict[tuple[str, ...], tuple[int, str, str]] = {}


def of_the_sound(ran, sound: Path, question: tuple[str, ...]) -> tuple[int, str, str]:
    """The answer of the sound lake: the same in all tests of this module."""
    if question not in _answers:
        _answers[question] = ran(sound, *question, "--format", "csv")
    return _answers[question]


def check_one(ran, damaged: Path, sound: Path, ids: dict[str, str], question: tuple[str, ...]) -> str:
    """Check an answer of a damaged lake beside that of the sound one, and return what is said beside it."""
    expected = by_trace(of_the_sound(ran, sound, question)[1], ids)
    code, out, err = ran(damaged, *question, "--format", "csv")
    assert "Traceback" not in err
    assert "should not happen" not in err
    assert code == 0, err
    found = by_trace(out, ids)
    assert (found["t2"], found["t4"]) == (expected["t2"], expected["t4"])
    if found["t3"] != expected["t3"]:
        # A part of its rows is worse than none.
        assert found["t3"] == [] or question == ("traces",)
        assert ids["t3"] in err
    return err


@pytest.mark.parametrize(
    ("kind", "what"), [pytest.param(*case, marks=[] if case in QUICK else [pytest.mark.slow]) for case in CASES]
)
def test_the_others_answer_as_ever_and_the_damaged_one_is_whole_or_named(tmp_path, sound, ids, ran, kind, what):
    lake = tmp_path / "lake"
    shutil.copytree(sound, lake)
    path = file_of(lake, kind, ids["t3"])
    times = path.stat()
    DAMAGES[what](path)
    if path.exists():
        # A disk that fails changes no times.
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    said = [check_one(ran, lake, sound, ids, question) for question in QUESTIONS]
    if kind in ("device", "host") and "pages" not in what:
        assert any(str(path.parent.parent.name) in text or "events are there" in text for text in said)
        assert f"tracelake remove {ids['t3']}" in "".join(said)
        # What was computed of its events before answers still.
        assert ran(lake, "kernels", "t3", "--format", "csv") == of_the_sound(ran, sound, ("kernels", "t3"))
    # What the message says to do, does it.
    assert ran(lake, "remove", ids["t3"])[0] == 0
    assert ran(lake, "ingest", str(sound.parent / "t3.json"), "--set", "build=nightly")[0] == 0
    for question in QUESTIONS[:4]:
        code, out, err = ran(lake, *question, "--format", "csv")
        assert (code, out, err) == of_the_sound(ran, sound, question)


@pytest.mark.parametrize("trace", ["t2", "t3"])
def test_stored_rows_of_another_table_are_computed_again(tmp_path, sound, ids, ran, trace):
    """DuckDB takes the columns from the first file, and refuses the others that lack one."""
    lake = tmp_path / "lake"
    shutil.copytree(sound, lake)
    path = file_of(lake, "stored", ids[trace])
    times = path.stat()
    DAMAGES["a table of another kind"](path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    for question in QUESTIONS[1:4]:
        assert ran(lake, *question, "--format", "csv") == of_the_sound(ran, sound, question)


@pytest.mark.parametrize("what", ["zero bytes", "cut in half", "JSON of another kind"])
def test_an_answer_that_is_read_later_is_whole_however_many_files_are_damaged(tmp_path, sound, what):
    """A relation of DuckDB's reads its files when its rows are asked for: too late to leave any of them out."""
    with Lake(shutil.copytree(sound, tmp_path / "lake")) as lake:
        expected = lake.rows("FROM kernels ORDER BY ALL")
    files = Tables(tmp_path / "lake" / "tables").files("_kernels")
    assert len(files) > 1
    for file in files:
        DAMAGES[what](Path(str(file.path)))
    with Lake(tmp_path / "lake") as lake:
        assert lake.sql("FROM kernels ORDER BY ALL").fetchall() == expected


def test_rows_leave_out_what_is_damaged_and_the_lake_keeps_a_scenario_it_was_given(tmp_path, sound, ids, caplog):
    """A relation of DuckDB's meets damage within a file when its rows are fetched; after `rows` it has none of it."""
    lake_of = shutil.copytree(sound, tmp_path / "lake")
    DAMAGES["bytes flipped in its pages"](file_of(lake_of, "device", ids["t3"]))
    question = "SELECT trace_id, count(name), bit_xor(hash(args)) FROM events GROUP BY ALL ORDER BY ALL"
    with Lake(sound) as lake:
        expected = [row for row in lake.rows(question) if row[0] != ids["t3"]]
    with Lake(lake_of) as lake:
        lake.add_scenarios([{"scenario": "a", "model": "llama-3-8b", "phase": "decode"}])
        with pytest.raises(duckdb.Error):
            lake.sql(question).fetchall()
        assert lake.rows(question) == lake.sql(question).fetchall() == expected
        assert f"tracelake remove {ids['t3']}" in caplog.text
        assert lake.rows("SELECT scenario FROM scenarios") == [("a",)]


def test_the_reason_names_a_file_once_where_the_lake_is_given_by_a_relative_path(tmp_path, monkeypatch):
    (tmp_path / "part.parquet").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert damage.fault([Path("part.parquet")]) == (
        "part.parquet: Invalid Input Error: the file too small to be a Parquet file"
    )


@pytest.mark.parametrize("kind", ["device", "catalog"])
def test_a_trace_that_cannot_be_read_is_mended_by_reading_its_file_again(tmp_path, sound, ids, ran, kind):
    lake = tmp_path / "lake"
    shutil.copytree(sound, lake)
    DAMAGES["cut in half"](file_of(lake, kind, ids["t3"]))
    assert ids["t3"] in ran(lake, *QUESTIONS[0])[2]
    code, _, err = ran(lake, "ingest", str(sound.parent / "t3.json"))
    assert (code, "in the lake already" in err) == (0, False)
    for question in QUESTIONS[:4]:
        assert ran(lake, *question, "--format", "csv") == of_the_sound(ran, sound, question)


class Breaking:
    """An answer whose third row cannot be computed."""

    columns = ("n",)
    types = ("INTEGER",)

    def iter_rows(self):
        yield from [(1,), (2,)]
        raise duckdb.InvalidInputException("Invalid Input Error: Failed to read file")


@pytest.mark.parametrize("format_", ["csv", "json", "jsonl"])
def test_an_answer_that_breaks_off_says_so_and_one_for_a_file_can_be_asked_for_again(tmp_path, capsys, format_):
    with pytest.raises(InputError, match="the answer breaks off here: Invalid Input Error: Failed"):
        render(Breaking(), format_)
    assert "1" in capsys.readouterr().out
    with pytest.raises(duckdb.InvalidInputException):
        render(Breaking(), format_, tmp_path / "answer")


def test_an_error_that_ends_the_database_is_survived(tmp_path, sound, ids, ran, monkeypatch):
    lake = tmp_path / "lake"
    shutil.copytree(sound, lake)
    DAMAGES["bytes flipped in its pages"](file_of(lake, "device", ids["t3"]))
    monkeypatch.setattr(damage, "is_fatal", lambda error: isinstance(error, duckdb.Error))
    check_one(ran, lake, sound, ids, QUESTIONS[0])


@pytest.mark.parametrize("place", [".", "trace", "trace/lane=device", "trace/lane=device/part"])
def test_events_that_may_not_be_read_are_no_damage_and_nothing_is_to_be_removed(tmp_path, sound, ids, place):
    needs_modes(tmp_path / "mode")
    lake = shutil.copytree(sound, tmp_path / "lake")
    file = file_of(lake, "device", ids["t3"])
    path = {".": lake / "events", "trace": file.parents[1], "trace/lane=device": file.parent}.get(place, file)
    mode = path.stat().st_mode
    path.chmod(0)
    events = ("sql", "SELECT count(*) AS n FROM events", "--format", "csv")
    ended = run_cli(*events, lake=lake, preexec_fn=bound_by_modes)
    path.chmod(mode)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert f"{path}" in ended.stderr
    assert "Permission denied" in ended.stderr
    assert "nothing need be removed" in ended.stderr
    assert "tracelake remove" not in ended.stderr
    # 4, 6 and 8 events.
    assert run_cli(*events, lake=lake).stdout == "n\n18\n"


def test_what_a_sound_lake_costs_is_a_look_at_the_size_of_its_files(sound, monkeypatch):
    def read(*_: object, **__: object) -> None:
        raise AssertionError("a file is read")

    monkeypatch.setattr("tracelake.engine.damage._rows", read)
    with Lake(sound) as lake:
        assert lake.rows("SELECT count(*) FROM events") == [(18,)]


def test_a_lake_whose_catalog_has_no_sizes_is_read_once_for_each_process(tmp_path, sound, ids, caplog):
    lake = Lake(shutil.copytree(sound, tmp_path / "lake"))
    assert event_files.read(lake.layout, dict.fromkeys(ids.values(), (None, None, None)))[1] == {}
    events = {trace_id: (2 * int(trace[1:]), None, None) for trace, trace_id in ids.items()}
    assert event_files.read(lake.layout, events)[1] == {}
    file_of(lake.path, "host", ids["t3"]).unlink()
    assert event_files.read(lake.layout, events)[1] == {ids["t3"]: "3 of 6 events are there"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["device", "host", "catalog", "stored", "settings"])
def test_bytes_flipped_anywhere_hurt_no_other_trace(tmp_path, sound, ids, ran, kind):
    chance = random.Random(kind)
    for nth in range(12):
        lake = tmp_path / str(nth)
        shutil.copytree(sound, lake)
        path = file_of(lake, kind, ids["t3"])
        data, times = bytearray(path.read_bytes()), path.stat()
        for _ in range(chance.choice([1, 1, 3, 20])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        for question in QUESTIONS[:4]:
            expected = by_trace(of_the_sound(ran, sound, question)[1], ids)
            code, out, err = ran(lake, *question, "--format", "csv")
            found = by_trace(out, ids)
            assert (code, found["t2"], found["t4"]) == (0, expected["t2"], expected["t4"]), (nth, err)
            assert "should not happen" not in err
        shutil.rmtree(lake)
