"""What a tool cannot do: write, read files, take longer than its time; and what ends when it is given up."""

import hashlib
import time
from pathlib import Path

import anyio
import duckdb
import pytest
from mcp.client.client import Client

from tracelake.assistant.requests import AT_ONCE, Requests
from tracelake.assistant.server import server
from tracelake.engine.errors import UsageError
from tracelake.engine.store import Store

from .conftest import HOSTILE, Asked

#: Runs for hours.
ENDLESS = "SELECT sum(a.range * b.range % 7) AS s FROM range(10000000) AS a, range(10000000) AS b"


def fingerprint(folder: Path) -> dict[str, str]:
    """The files of a folder and their content."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*")) if path.is_file()
    }  # fmt: skip


def test_sql_reads_the_lake_and_nothing_else(ask, s1_lake_folder, tmp_path):
    secret, target = tmp_path / "secret.txt", tmp_path / "written"
    secret.write_text("the secret")
    (tmp_path / "config.json").write_text("{}")
    before = fingerprint(s1_lake_folder)
    forbidden = [
        f"COPY (SELECT 1) TO '{target}'",
        f"COPY traces TO '{s1_lake_folder}/events/x.parquet'",
        f"WITH w AS (COPY (SELECT 1) TO '{target}') SELECT 1",
        f"EXPLAIN ANALYZE COPY (SELECT 1) TO '{target}'",
        f"ATTACH '{target}'", f"EXPORT DATABASE '{target}'", f"SELECT * FROM query('COPY (SELECT 1) TO ''{target}''')",
        "CREATE TABLE x AS SELECT 1", "DROP VIEW kernels", "DELETE FROM _settings", "INSERT INTO tags VALUES (1)",
        f"SELECT * FROM read_text('{secret}')", f"FROM read_csv('{secret}')", f"FROM '{secret}'",
        f"SELECT * FROM sniff_csv('{secret}')", f"SELECT * FROM glob('{tmp_path}/*')",
        f"SELECT * FROM read_blob('{s1_lake_folder}/lake.json')", "SELECT * FROM read_text('/proc/self/environ')",
        "SELECT * FROM read_parquet('https://example.org/x.parquet')", "SELECT getenv('HOME')",
        "SET memory_limit = '1TB'", "RESET lock_configuration", "PRAGMA enable_profiling", "INSTALL httpfs",
        "LOAD httpfs", "CALL pragma_version()", "CREATE SECRET (TYPE s3)", "SELECT 1; DROP VIEW kernels",
        "CHECKPOINT", "USE system", "PREPARE p AS SELECT 1", "EXECUTE p", "VACUUM",
    ]  # fmt: skip
    found = ask(s1_lake_folder, *(("sql", {"query": query}) for query in forbidden))
    assert [query for query, answer in zip(forbidden, found, strict=True) if not answer.is_error] == []
    assert [answer.text for answer in found if "the secret" in answer.text or "--unsafe" in answer.text] == []
    assert not target.exists()
    # Neither is a path read that stands for a trace, a side or a model.
    trace = tmp_path / "trace.json"
    trace.write_text('{"traceEvents": []}')
    named = ask(
        s1_lake_folder,
        ("layers", {"trace": str(trace)}), ("summary", {"trace": str(trace)}),
        ("compare", {"before": str(trace), "after": "s1"}), ("compare", {"before": "s1", "after": str(trace)}),
        ("model_roofline", {"model": str(tmp_path / "config.json"), "hardware": "h100_sxm"}),
        ("model_roofline", {"model": "../" + tmp_path.name, "hardware": "h100_sxm"}),
        ("history", {"metric": f"read_text('{secret}').size"}),
        ("history", {"metric": "step_ms", "where": f"trace IN (SELECT content FROM read_text('{secret}'))"}),
        ("history", {"metric": "step_ms", "where": "true; DROP VIEW kernels"}),
        ("ingest", {"path": str(trace)}),
    )  # fmt: skip
    assert [answer.data for answer in named if not answer.is_error] == []
    assert [answer.text for answer in named if "the secret" in answer.text or "--unsafe" in answer.text] == []
    assert fingerprint(s1_lake_folder) == before


def test_a_query_that_takes_too_long_is_stopped_and_leaves_nothing_running(s1_lake_folder, monkeypatch):
    monkeypatch.setenv("TRACELAKE_THREADS", "1")

    async def session():
        serving = Requests(s1_lake_folder, 0.5)
        with pytest.raises(UsageError, match=r"^stopped after 0.5 s: ask for less .* larger --timeout\.$"):
            await serving.answer(lambda lake: str(lake.sql(ENDLESS).fetchall()))
        # A thread holds its place until its query has ended.
        with anyio.fail_after(10):
            while serving._places._value != AT_ONCE:
                await anyio.sleep(0.05)

    anyio.run(session)


def test_a_question_is_asked_again_without_the_damaged_files_that_it_met(s1_lake_folder, monkeypatch):
    """As on the command line; what is found and left out is the engine's, and tested there."""
    monkeypatch.setattr(Store, "recover", lambda self, error: "damaged" in str(error))
    asked = []

    def question(lake):
        asked.append(lake)
        if len(asked) == 1:
            raise duckdb.IOException("damaged")
        if len(asked) == 3:
            raise duckdb.IOException("of another kind")
        return "answered"

    async def session():
        serving = Requests(s1_lake_folder, 60)
        assert await serving.answer(question) == "answered"
        with pytest.raises(duckdb.IOException, match="of another kind"):
            await serving.answer(question)

    anyio.run(session)
    assert len(asked) == 3


def test_a_query_whose_client_cancels_is_stopped(s1_lake_folder, monkeypatch):
    monkeypatch.setenv("TRACELAKE_THREADS", "1")

    async def session():
        # The handshake of before, whose clients cancel by a notification.
        async with Client(server(s1_lake_folder, seconds=60), mode="legacy") as client:
            with anyio.move_on_after(0.5):
                await client.call_tool("sql", {"query": ENDLESS})
            with anyio.fail_after(20):
                used = 1.0
                while used > 0.1:  # of half a second
                    before = time.process_time()
                    await anyio.sleep(0.5)
                    used = time.process_time() - before

    anyio.run(session)


def test_a_quick_question_does_not_wait_for_a_slow_one(s1_lake_folder, monkeypatch):
    monkeypatch.setenv("TRACELAKE_THREADS", "1")

    async def session():
        async with Client(server(s1_lake_folder, seconds=300)) as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "sql", {"query": ENDLESS})
            await anyio.sleep(0.3)
            quick = Asked(await client.call_tool("sql", {"query": "SELECT count(*) AS n FROM traces"}))
            assert quick.rows == [{"n": 1}]
            group.cancel_scope.cancel()

    anyio.run(session)


def test_ingest_is_offered_where_it_was_allowed_and_reads_below_its_folders_alone(ask, hostile, tmp_path):
    """What it reads is in the fixture; nothing is read here."""
    lake, read = hostile
    assert [(row["events"], row["rejected"], row["new"]) for row in read.rows] == [(len(HOSTILE), 0, True)]
    assert read.whole["next"][0]["arguments"] == {"trace": read.rows[0]["trace_id"]}
    allowed, elsewhere = tmp_path / "allowed", tmp_path / "elsewhere"
    allowed.mkdir()
    elsewhere.mkdir()
    outside = elsewhere / "trace.json"
    outside.write_text('{"traceEvents": []}')
    (allowed / "link.json").symlink_to(outside)
    refused = [str(outside), str(allowed / ".." / "elsewhere"), str(allowed / "link.json"), str(allowed), "/etc", "~"]
    before = fingerprint(lake)
    *found, missing = ask(
        lake,
        *(("ingest", {"path": path}) for path in refused),
        ("ingest", {"path": str(allowed / "none.json")}),
        ingest_below=[allowed],
    )
    assert [answer.data for answer in found if "not below the folders" not in answer.data.get("error", "")] == []
    assert "no such file" in missing.data["error"]
    assert fingerprint(lake) == before
