"""A lake in an object store answers as one in a folder does, whatever the store, its network or other writers do.

The store is a server of S3 on the loopback address, see `object_server`.
"""

import os
import random
import re
import signal
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import duckdb
import pytest

from tracelake.engine import damage
from tracelake.engine.errors import InputError, UsageError
from tracelake.engine.storage import objects
from tracelake.lake import Lake

from ..graph_traces import Host
from ..object_server import BUCKET, ObjectServer
from ..storing import storing_only
from ..support import run_cli, trace_bytes
from ..writers import check_writers_at_once

KERNEL = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "dur": 2, "args": {"device": 0}}
#: What a relation has that is not the same for every lake.
ASKED = {
    "events": "SELECT trace_id, lane, event_id, name, start_ns, dur_ns, args FROM events",
    "traces": "SELECT trace_id, trace, event_count, rejected_count, run, num_layers FROM traces",
    **{name: f"SELECT * FROM {name}" for name in ("kernels", "passes", "layers", "time_breakdown")},
}
#: What lakes store where rows of all relations go the same way; regions rest on other traces, too.
STORED = (*ASKED, "regions")
#: The command line, on such a lake.
COMMAND = f"""
from tracelake.cli import main
from tracelake.tests.storing import store_only
store_only(*{STORED})
main()
"""
#: The commit that makes a trace count.
COMMIT = re.compile(r".*/tables/traces/_delta_log/\d+\.json")


@pytest.fixture(scope="module")
def server():
    with pytest.MonkeyPatch.context() as patch:
        # A test does not wait as long as a person would.
        patch.setattr(objects, "RETRIES", 3)
        running = ObjectServer()
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running
        running.close()


@pytest.fixture
def url(server) -> str:
    """A place of the test's own."""
    return f"s3://{BUCKET}/{uuid.uuid4().hex}/lake"


def write_trace(path: Path, kernels: int, name: str = "k") -> Path:
    path.write_bytes(trace_bytes([{**KERNEL, "name": f"{name}{nth}", "ts": 5 * nth} for nth in range(kernels)]))
    return path


def write_noise(path: Path, kernels: int) -> Path:
    """Write a trace whose arguments cannot be compressed."""
    noise = random.Random(path.name)
    arguments = ({"device": 0, "noise": noise.randbytes(90).hex()} for _ in range(kernels))
    events = [{**KERNEL, "name": "k", "ts": 5 * nth, "args": args} for nth, args in enumerate(arguments)]
    path.write_bytes(trace_bytes(events))
    return path


def ingest(lake: Lake, *paths: Path, events_only: bool = True) -> list[str]:
    """Ingest traces; return their ids. Their answers take long to compute, and few tests are about them."""
    results = lake.ingest(*paths, events_only=events_only)
    assert [one.reason for one in results] == [""] * len(paths)
    return [one.trace_id for one in results]


def names(lake: Lake) -> list[str]:
    return [name for (name,) in lake.rows("SELECT trace FROM _catalog ORDER BY ALL")]


def answers(lake: Lake) -> dict[str, list[str]]:
    return {name: sorted(map(repr, lake.rows(query))) for name, query in ASKED.items()}


def below(lake: Lake, folder: str) -> list[str]:
    return [str(one) for one in (lake.path / folder).below()]


@pytest.fixture
def few_answers():
    with storing_only(*STORED):
        yield


@pytest.mark.usefixtures("few_answers")
def test_a_lake_of_objects_answers_as_a_folder_does_through_all_that_changes_it(s1_file, url, tmp_path):
    with Lake(tmp_path / "lake") as folder, Lake(url) as lake:
        folder.ingest(s1_file)
        lake.ingest(s1_file, num_layers=3)
        assert [result.new for result in lake.ingest(s1_file)] == [False]
        assert lake.rows("SELECT max(layer_id) FROM layers") < folder.rows("SELECT max(layer_id) FROM layers")
        lake.set("s1", num_layers=None)
        assert lake.compact()["_kernels"] == (2, 1)
        expected = answers(folder)
        assert answers(lake) == expected
    with Lake(url) as lake:
        assert lake.export(tmp_path / "out", relations=["passes"]) == [("passes", len(expected["passes"]))]
        lake.remove("s1")
        assert names(lake) == below(lake, "events") == []


def test_the_commands_take_an_address(url, tmp_path, server):
    write_trace(tmp_path / "three.json", 3)

    def run(*words: str | Path) -> str:
        done = run_cli("--lake", url, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("ingest", tmp_path / "three.json", "--events-only")
    assert run("sql", "SELECT name FROM events ORDER BY event_id", "--format", "csv").split() == [
        "name",
        "k0",
        "k1",
        "k2",
    ]
    run("remove", "three")
    assert run("sql", "SELECT count(*) AS n FROM events", "--format", "csv").split() == ["n", "0"]


def test_a_question_about_one_trace_moves_a_part_of_its_files(server, url, tmp_path):
    with Lake(url) as lake:
        traces = [write_noise(tmp_path / f"{name}.json", 20_000) for name in "abc"]
        wanted, *_ = ingest(lake, *traces)
        size = lake.rows("SELECT event_bytes FROM _catalog WHERE trace_id = $1", [wanted])[0][0]
        server.requests.clear()
        question = "SELECT count(*), max(dur_ns) FROM events WHERE trace_id = $1"
        assert lake.rows(question, [wanted]) == [(20_000, 2000)]
        events = [one for one in server.requests if "/events/" in one.path]
        # The columns are those of the first file, whose ever it is.
        assert len({one.path for one in events if wanted not in one.path}) <= 1
        assert {one.method for one in server.requests} == {"GET"}
        assert 0 < sum(one.length for one in server.requests) < size / 10
        server.requests.clear()
        assert lake.rows(question, [wanted]) == [(20_000, 2000)]
        # What was read is cached, and a lake lists what a user may have changed only.
        assert [one.path for one in server.requests if "/events/" in one.path] == []


def test_a_store_that_fails_now_and_then_is_asked_again(server, url, tmp_path):
    asked = set()

    def first_of_each(method, path):
        new = (method, path) not in asked
        asked.add((method, path))
        return "503 Slow Down" if new else None

    with server.failing(first_of_each), Lake(url) as lake:
        ingest(lake, write_trace(tmp_path / "three.json", 3))
        assert lake.rows("SELECT count(*) FROM events") == [(3,)]
    assert len(asked) > 10


@pytest.mark.parametrize(
    ("status", "reason"),
    [("503 Slow Down", "the object store answers 503"), ("403 Forbidden", "access is denied: check the credentials")],
)
def test_a_store_that_fails_is_one_sentence_and_no_verdict_on_the_files(server, url, tmp_path, status, reason):
    with Lake(url) as lake:
        ingest(lake, write_trace(tmp_path / "three.json", 3))
        with server.failing(lambda method, path: status):
            with pytest.raises(InputError, match=reason):
                Lake(url)
            [failed] = lake.ingest(write_trace(tmp_path / "four.json", 4), events_only=True)
            assert reason in failed.reason
            assert "\n" not in failed.reason
        with server.failing(lambda method, path: status if "/events/" in path else None):
            # One that a query meets, in a thread of the database.
            with pytest.raises(InputError, match=reason) as met:
                lake.rows("SELECT max(name) FROM events")
            assert "\n" not in str(met.value)
        assert lake.rows("SELECT max(name) FROM events") == [("k2",)]
        assert lake.rows("SELECT * FROM _set_aside") == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "the object store cannot be reached"),
        ({"TRACELAKE_LAKE": "s3://no-such-bucket/lake"}, "there is no such bucket"),
        ({"TRACELAKE_LAKE": "s3://key:secret-of-nobody@lakes/x"}, "come from the environment"),
        ({"TRACELAKE_LAKE": "ftp://lakes/x"}, "expected a folder, or s3://"),
    ],
)
def test_the_command_line_says_why_in_a_line(server, url, changed, reason):
    # The process retries as often as for a person, and a refused connection is soon retried.
    done = run_cli("sql", "SELECT 1", env={"TRACELAKE_LAKE": url, **changed})
    assert done.returncode == (2 if "TRACELAKE_LAKE" in changed and "no-such" not in changed["TRACELAKE_LAKE"] else 3)
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr


@pytest.mark.usefixtures("few_answers")
def test_who_may_only_read_has_the_answers_all_the_same(server, url, tmp_path, caplog):
    with Lake(url) as lake:
        ingest(lake, write_trace(tmp_path / "three.json", 3))
    with server.failing(lambda method, path: None if method in ("GET", "HEAD") else "403 Forbidden"), Lake(url) as lake:
        assert lake.rows("SELECT count(*) FROM kernels") == [(3,)]
    assert "access is denied" in caplog.text
    assert "Results are not stored" in caplog.text


def test_events_that_are_gone_are_set_aside_and_the_others_answer(url, tmp_path):
    with Lake(url) as lake:
        gone, there = ingest(lake, *(write_trace(tmp_path / f"{name}.json", 3, name) for name in "ab"))
        objects.remove(one for one in (lake.path / "events").below() if gone in str(one))
    with Lake(url) as lake:
        assert lake.rows("SELECT DISTINCT trace_id FROM events") == [(there,)]
        [(set_aside, reason)] = lake.rows("SELECT trace_id, reason FROM _set_aside WHERE relation = 'events'")
        assert set_aside == gone
        assert "there is no such object" in reason
        # Its file brings them back.
        assert ingest(lake, tmp_path / "a.json") == [gone]
        assert lake.rows("SELECT count(*) FROM events") == [(6,)]


def writer(url: str, path: Path, *options: str) -> subprocess.Popen[str]:
    """Start a process that ingests a trace and computes its answers."""
    words = [sys.executable, "-c", COMMAND, "--lake", url, "ingest", str(path), *options]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)


@pytest.mark.usefixtures("few_answers")
def test_a_writer_killed_before_its_entry_leaves_nothing_to_see(server, url, tmp_path):
    """It is killed when all is written but the row of the catalog."""
    with Lake(url) as lake:
        [other] = ingest(lake, write_trace(tmp_path / "other.json", 2, "o"))
        writing = writer(url, write_trace(tmp_path / "three.json", 3))

        def kill(method, path):
            if method == "PUT" and COMMIT.fullmatch(path):
                os.kill(writing.pid, signal.SIGKILL)
                writing.wait()
                return "503 Slow Down"
            return None

        with server.failing(kill):
            writing.communicate(timeout=120)
        assert writing.returncode == -signal.SIGKILL
        lake.refresh()
        assert names(lake) == ["other"]
        assert lake.rows("SELECT count(*) FROM events") == [(2,)]
        assert len([name for name in below(lake, "events") if other not in name]) == 1
        assert below(lake, "tables/_kernels") != []
        ingest(lake, tmp_path / "three.json")
        assert lake.rows("SELECT count(*) FROM events") == [(5,)]
        assert len(below(lake, "events")) == 3
        lake.compact(vacuum_hours=0)
        assert len(below(lake, "events")) == 2
        lake.refresh()
        assert lake.rows("SELECT count(*) FROM events") == [(5,)]


@pytest.mark.usefixtures("few_answers")
def test_of_writers_at_once_each_sees_what_the_others_wrote(server, url, tmp_path):
    """A graph's replay and its capture come at once: the rows of one rest on the other. A third brings the first, too.

    All have looked at the catalog before any of them appends to it.
    """
    kernels = ("rmsnorm", "Cijk_Alik_Bljk", "softmax")
    replay = Host().replay(*kernels).write(tmp_path / "replay.json")
    capture = Host().capture(*kernels, dims=[[8, 16], [16, 32]], module="Layer_0").write(tmp_path / "capture.json")
    together, waiting = threading.Barrier(3, timeout=25), iter(range(3))

    def wait(method, path):
        if method == "PUT" and COMMIT.fullmatch(path) and next(waiting, None) is not None:
            together.wait()
        return

    Lake(url).close()
    with server.failing(wait):
        for writing in [writer(url, path) for path in (replay, capture, replay)]:
            _, said = writing.communicate(timeout=120)
            assert writing.returncode == 0, said
    assert not together.broken
    with Lake(url) as lake, Lake(url, stored=False) as computed:
        linked = "SELECT trace, device, path FROM _region_sums JOIN _catalog USING (trace_id) ORDER BY ALL"
        assert [row[2] for row in lake.rows(linked) if row[0] == "replay"] == ["Layer_0"]
        assert lake.rows(linked) == computed.rows(linked)
        assert names(lake) == ["capture", "replay"]
        counts = lake.rows("SELECT count(*) FROM events GROUP BY trace_id ORDER BY 1")
        assert counts == lake.rows("SELECT event_count FROM _catalog ORDER BY 1")
        assert lake.store.answers.stale() == []


@pytest.mark.slow
def test_eight_writers_and_two_readers_at_once_give_what_one_after_the_other_gives(server, url, tmp_path):
    check_writers_at_once(url, tmp_path)


@pytest.mark.usefixtures("few_answers")
def test_a_compaction_takes_nothing_of_a_writer_under_way(server, url, tmp_path):
    """The writer has written its rows, and the catalog does not name them yet, when the tables are compacted."""
    about_to, may = threading.Event(), threading.Event()

    def hold(method, path):
        if method == "PUT" and COMMIT.fullmatch(path) and not about_to.is_set():
            about_to.set()
            assert may.wait(25)
        return

    with Lake(url) as lake:
        # Rows of a trace that was taken away have every table rewritten.
        ingest(lake, write_trace(tmp_path / "zero.json", 9, "z"))
        lake.remove("zero")
        lake.ingest(write_trace(tmp_path / "one.json", 1, "o"), events_only=True, run="first")
        lake.ingest(write_trace(tmp_path / "two.json", 2, "t"), events_only=True, run="second")
        with server.failing(hold):
            writing = writer(url, write_trace(tmp_path / "three.json", 3), "--run", "third")
            assert about_to.wait(60)
            done = lake.compact(vacuum_hours=1)
            assert done == {"traces": (4, 1), "settings": (3, 1)}
            may.set()
            _, said = writing.communicate(timeout=120)
            assert writing.returncode == 0, said
        lake.refresh()
        assert lake.rows("SELECT trace, run FROM traces ORDER BY ALL") == [
            ("one", "first"), ("three", "third"), ("two", "second"),
        ]  # fmt: skip
        three = "SELECT count(*) FROM _kernels SEMI JOIN (FROM _catalog WHERE trace = 'three') USING (trace_id)"
        assert lake.rows(three) == [(3,)]


def test_a_query_reads_the_lake_and_nothing_else_of_its_bucket(url):
    with Lake(url) as lake:
        for place in (
            f"{url}-other/events/x.parquet",
            f"{url}/events-x/x.parquet",
            f"{url}/lake.json",
            f"s3://{BUCKET}/x.parquet",
        ):
            with pytest.raises(UsageError, match="the lake's own files only"):
                lake.sql(f"FROM read_parquet('{place}')")


def test_an_unsafe_query_reads_objects_and_writes_none(url):
    with Lake(url, unsafe=True) as lake:
        assert lake.sql(f"SELECT version FROM read_json('{url}/lake.json')").fetchall() == [(2,)]
        with pytest.raises(InputError, match="a query reads objects and writes none; write to a file"):
            lake.sql(f"COPY (SELECT 1) TO '{url}/x.parquet'")


def test_a_place_that_holds_other_things_is_no_lake(url):
    (objects.ObjectPath.parse(url) / "notes.txt").write(b"mine")
    with pytest.raises(UsageError, match="not a lake, and not empty"):
        Lake(url)
    with pytest.raises(UsageError, match="no lake in s3://"):
        Lake(url + "2", create=False)
    with pytest.raises(UsageError, match="give it as text"):
        Lake(Path(url))


def test_a_store_without_conditional_puts_is_refused(server, url, monkeypatch):
    monkeypatch.setattr(server, "conditional", False)
    with pytest.raises(InputError, match="no conditional puts"):
        Lake(url)
    with pytest.raises(UsageError, match="no lake in"):
        Lake(url, create=False)


def test_a_folder_made_in_the_console_of_the_store_may_become_a_lake(server):
    server.make_bucket("console", "new/", "new/lake/")
    with Lake("s3://console/new/lake") as lake:
        assert lake.rows("SELECT count(*) FROM events") == [(0,)]


def test_a_lake_may_be_all_of_a_bucket(server, tmp_path):
    server.make_bucket("whole-bucket")
    with Lake("s3://whole-bucket/") as lake:
        ingest(lake, write_trace(tmp_path / "three.json", 3))
        assert lake.rows("SELECT count(*) FROM events") == [(3,)]
        lake.remove("three")
        assert below(lake, "events") == []
        assert {path.name for path in lake.path.iterdir()} == {"lake.json", "tables"}


def test_a_users_own_rows_of_a_lookup_table_count_and_are_read_again_when_they_change(url):
    with Lake(url) as lake:
        own = lake.path / "lookup" / "prices.csv"
        for usd in (2, 3):
            own.write(f"offer,hardware,usd_per_hour\nmine,h200,{usd}\n".encode())
            assert lake.rows("SELECT usd_per_hour FROM prices WHERE offer = 'mine'") == [(usd,)]
        own.unlink()
        assert lake.rows("SELECT count(*) FROM prices WHERE offer = 'mine'") == [(0,)]


def test_a_lake_in_a_folder_loads_no_library_of_object_stores(tmp_path):
    code = (
        "import sys, tracelake; tracelake.open(sys.argv[1]).sql('SELECT 1').fetchall();"
        "print([name for name in ('obstore', 'fsspec', 'moto') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "lake"], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Generic S3 error: Error performing GET http://h/x?sig=S3CR3T in 1s - Odd: <Code>S3CR3T</Code>", "Generic S3"),
        ("Error performing PUT http://169.254.169.254/latest/api/token", "there are no credentials"),
    ],
)
def test_an_error_of_the_libraries_is_shortened_to_a_sentence_without_secrets(text, reason):
    found = objects.reason_of(text)
    assert reason in found
    assert "S3CR3T" not in found


def test_an_error_of_a_store_is_told_from_a_damaged_file():
    text = f"Traceback (most recent call last):\n  File\n{objects.StoreError('s3://b/x', 'HTTP error')!s}"
    lost = duckdb.Error(text.replace("s3://", "tracelake.engine.storage.objects.StoreError: s3://"))
    assert not damage.may_be_damage(lost)
    assert damage.may_be_damage(duckdb.Error("TProtocolException: Invalid data"))
