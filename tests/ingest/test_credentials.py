"""Credentials in what is kept of a file are replaced, wherever they stand and however the file is cut."""

import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tracelake.engine import secrets
from tracelake.engine.errors import UsageError
from tracelake.engine.sql.modules import csv_file
from tracelake.ingest import credentials, lanes
from tracelake.ingest.ascend import table
from tracelake.ingest.chrome import reader as chrome
from tracelake.ingest.credentials import clean, marks
from tracelake.ingest.notes import Notes
from tracelake.lake import Lake

from ..support import DATA, data_files, ingest_into, run_cli
from .credentials import HARMLESS, JWT, KINDS, PEM, PEM_BODY, token
from .test_secrets import everything_in

SPAN: dict[str, Any] = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "name": "span"}


def github(seed: int) -> str:
    return token("gh" + "p_", 36, seed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["plain", "json", "json in json", "after an escaped end of line"])
def test_a_credential_is_replaced_in_text_and_in_json_and_what_is_around_it_stays(kind, form):
    text, secret = KINDS[kind]
    value = {"a": "before", "text": f"log:\n{text}" if "escaped" in form else text, "z": "after"}
    whole = {"plain": f"before {text} after", "json in json": json.dumps({"log": json.dumps(value)})}.get(
        form, json.dumps(value, separators=(",", ":"))
    )
    cleaned, count = secrets.redacted(whole)
    assert secret not in cleaned
    assert count == 1
    assert f"[redacted:{kind}]" in cleaned
    assert cleaned.startswith(whole[:6])
    assert "after" in cleaned
    if form != "plain":
        found = json.loads(cleaned)
        inner = json.loads(found["log"]) if "log" in found else found
        assert (inner["a"], inner["z"]) == ("before", "after")
    assert secrets.redacted(cleaned) == (cleaned, 0)


@pytest.mark.parametrize(("text", "left"), [
    ('{"HF_TOKEN":"a b\\"c, d","x":1}', '{"HF_TOKEN":"[redacted:secret_member]","x":1}'),
    ('{"password" : "p@ss, w\\\\"}', '{"password" : "[redacted:secret_member]"}'),
    ('{"argv":["--password","hunter2","-v"]}', '{"argv":["--password","[redacted:secret_option]","-v"]}'),
    ("AWS_SECRET_ACCESS_KEY=abcd/efgh WORLD_SIZE=8", "AWS_SECRET_ACCESS_KEY=[redacted:secret_value] WORLD_SIZE=8"),
    ("Authorization: Bearer abcd", "Authorization: Bearer [redacted:authorization]"),
    ("https://me:pw@host/x?y=z", "https://me:[redacted:url_password]@host/x?y=z"),
    ("https:\\/\\/me:pw@host", "https:\\/\\/me:[redacted:url_password]@host"),
])  # fmt: skip
def test_of_an_assignment_the_name_stays_and_of_a_url_all_but_the_password(text, left):
    assert secrets.redact(text) == left


@pytest.mark.parametrize("text", HARMLESS)
def test_names_of_kernels_hashes_and_words_like_credentials_stay(text):
    assert secrets.redacted(text) == (text, 0)
    assert secrets.redacted(json.dumps({"name": text})) == (json.dumps({"name": text}), 0)


def test_the_database_and_python_find_and_replace_alike():
    texts = [text for text, _ in KINDS.values()] + list(HARMLESS)
    texts += [json.dumps({"k": text}, separators=(",", ":")) for text in texts]
    texts.append(" | ".join(texts))
    rows = duckdb.execute(
        f"SELECT text, {clean('text')}, {marks(clean('text'))}, {credentials.found('text')}, "
        f"{credentials.suspected('text', json=True)} FROM (SELECT unnest($1) AS text)",
        [texts],
    ).fetchall()
    assert len(rows) == len(texts)
    for text, cleaned, count, found, suspected in rows:
        assert (cleaned, count) == secrets.redacted(text)
        assert found == (count > 0)
        if text.startswith("{"):
            assert suspected or not found


def test_every_pattern_of_the_table_has_an_example_here_that_holds_one_of_its_literals():
    with csv_file("secret_patterns").open(encoding="utf-8", newline="") as rows:
        table = {row["secret"]: row for row in csv.DictReader(rows)}
    examples = KINDS | {
        "secret_member": ('"password":"hunter2"', "hunter2"),
        "secret_pair": ('{"name": "DB_PASSWORD", "value": "hunter2"}', "hunter2"),
        "secret_pair_reversed": ('{"value": "hunter2", "key": "API_KEY"}', "hunter2"),
    }
    assert table.keys() == examples.keys()
    for secret, row in table.items():
        found = re.search(row["pattern"], examples[secret][0])
        assert found is not None, secret
        assert any(literal in found[0] for literal in row["literals"].split()), secret
        assert duckdb.execute("SELECT regexp_matches($1, $2)", [examples[secret][0], row["pattern"]]).fetchall() == [
            (True,)
        ]


def planted(folder: Path) -> tuple[Path, list[str]]:
    """A trace with 45 credentials in 45 places, and the texts that must not be stored of it."""
    texts = [text for text, _ in KINDS.values()]
    hidden = [secret for _, secret in KINDS.values()]
    events: list[Any] = [SPAN | {"args": {"log": text, "Ev Idx": nth}} for nth, text in enumerate(texts)]
    more = [github(seed) for seed in range(1, 17)]
    events += [
        SPAN | {"name": f"request {more[0]}"},
        SPAN | {"cat": f"trace {more[1]}"},
        SPAN | {"tid": f"thread {more[2]}"},
        SPAN | {"pid": f"process {more[3]}"},
        SPAN | {"id": more[4], "ph": "b"},
        SPAN | {"comment": {"deep": [more[5]]}},
        SPAN | {"args": {more[6]: 1}},
        SPAN | {"args": {"Input Dims": [[1], more[7]], "Input type": ["float", more[8]]}},
        SPAN | {"cat": "python_function", "name": "f", "args": {"Python id": 1, "note": more[9]}},
        SPAN | {"ph": "M", "name": "process_name", "args": {"name": f"/device:{more[10]}:0"}},
        SPAN | {"ph": "B", "ts": 7, "name": "pair", "dur": None, "args": {"begin": more[11]}},
        SPAN | {"ph": "E", "ts": 9, "name": "pair", "dur": None, "args": {"end": more[12]}},
    ]
    short = [token("", 10, seed) for seed in range(4)]
    events += [
        SPAN | {"args": {"env": [{"name": "DB_PASSWORD", "value": short[0]}, {"name": "HOME", "value": "/root"}]}},
        SPAN | {"args": {"env": [{"value": short[1], "key": "API_KEY"}]}},
        SPAN | {"args": {"env": ["RANK=0", f"DB_PASSWORD={short[2]}"]}},
        SPAN | {"cat": f"secret={short[3]}"},
    ]
    keys = {
        "schemaVersion": 1,
        "traceName": f"/tmp/{more[13]}.json",
        "deviceProperties": [{"id": 0, "name": f"NVIDIA {more[14]}"}],
    }
    body = ",\n".join(json.dumps(event) for event in events)
    damaged = f'{{"ph": "X", "args": {{"cmdline": "{more[15]}", "half": ,,}}}}'
    path = folder / f"run-{github(99)}.json"
    path.write_text(f'{json.dumps(keys)[:-1]}, "traceEvents": [\n{body},\n{damaged},\n{json.dumps(SPAN)}\n]}}')
    return path, [*hidden, *more, *short, github(99)]


def test_of_45_credentials_in_45_places_none_is_in_the_lake_or_on_the_screen(tmp_path):
    path, hidden = planted(tmp_path)
    assert len(hidden) == len(set(hidden)) == 45
    lake = tmp_path / "lake"
    shown = [run_cli("ingest", path, lake=lake)]
    assert shown[0].returncode == 0
    for words in (("traces",), ("doctor",)):
        shown.append(run_cli(*words, lake=lake))
        assert "Traceback" not in shown[-1].stderr
    written = everything_in(lake).lower() + "".join(one.stdout + one.stderr for one in shown).lower()
    assert "[redacted:github_token]" in written
    assert [secret for secret in hidden if secret.lower() in written] == []
    opened = Lake(lake)
    [(count, events, rejected, name)] = opened.rows(
        "SELECT redacted_count, event_count, rejected_count, trace FROM traces"
    )
    # 41 in the events; that in the file's name stands in the trace's and in the path, the device's in the metadata and
    # in a column, and one each is in the name of the trace among the metadata and in the sample.
    assert (count, events, rejected) == (41 + 2 + 2 + 1 + 1, 41, 1)
    assert name == "run-[redacted:github_token]"
    assert f"{count} credentials redacted" in shown[0].stderr
    [(value, severity)] = opened.rows("SELECT value, severity FROM trace_checks WHERE \"check\" = 'redacted'")
    assert (value, severity) == (count, "warning")
    args = opened.rows("SELECT args FROM events WHERE args IS NOT NULL")
    assert [text for (text,) in args if not json.loads(text)] == []


def test_a_path_with_a_credential_is_known_again(tmp_path):
    path, _ = planted(tmp_path)
    lake = Lake(tmp_path / "lake")
    first = lake.locate(str(path))
    path.write_bytes(path.read_bytes())
    assert lake.locate(str(path)) == first
    [(stored,)] = lake.rows("SELECT source_path FROM traces")
    assert stored == str(path).replace(github(99), "[redacted:github_token]")


@pytest.mark.parametrize("piece_bytes", [600, 5000, 16 << 20])
def test_the_same_is_replaced_however_the_file_is_cut(tmp_path, monkeypatch, piece_bytes):
    path, _ = planted(tmp_path)
    whole = Lake(tmp_path / "whole")
    ingest_into(whole, path)
    monkeypatch.setattr(chrome, "PIECE_BYTES", piece_bytes)
    monkeypatch.setattr(chrome.ChromeReader, "piece_bytes", piece_bytes)
    cut = Lake(tmp_path / "cut")
    ingest_into(cut, path)
    for question in ("FROM events ORDER BY event_id", "SELECT redacted_count, samples FROM traces"):
        assert cut.rows(question) == whole.rows(question)


def test_the_database_replaces_where_texts_are_many(tmp_path):
    spans = [SPAN | {"ts": nth, "args": {"n": nth, "key": github(nth % 7)}} for nth in range(3000)]
    path = tmp_path / "many.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": spans}).encode()))
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, path)
    assert (result.events, result.redacted) == (3000, 3000)
    found = lake.rows("SELECT DISTINCT args->>'$.key', count(*) OVER () FROM events")
    assert found == [("[redacted:github_token]", 3000)]
    assert lake.rows("SELECT count(DISTINCT args) FROM events") == [(3000,)]


@pytest.mark.parametrize("with_categories", [False, True])
def test_python_and_the_database_replace_alike_in_the_rows_of_a_trace(tmp_path, monkeypatch, with_categories):
    path, _ = planted(tmp_path)
    if not with_categories:
        # One in a category is left to the database, as those are in lower case.
        path.write_text(re.sub(r'"cat": "(trace |secret=)[^"]*"', '"cat": "cpu_op"', path.read_text()))
    ways = []
    whole = lanes.LaneWriter._redact_rows

    def noting(self, rows):
        ways.append(len(rows))
        return whole(self, rows)

    monkeypatch.setattr(lanes.LaneWriter, "_redact_rows", noting)
    lakes = Lake(tmp_path / "few"), Lake(tmp_path / "many")
    [few] = ingest_into(lakes[0], path)
    monkeypatch.setattr(lanes, "_rows_suspected", lambda: "SELECT 0 LIMIT 0")
    [many] = ingest_into(lakes[1], path)
    assert len(ways) == (not with_categories)
    assert few.redacted == many.redacted == (47 if with_categories else 45)
    rows = [lake.rows("FROM events ORDER BY event_id") for lake in lakes]
    assert rows[0] == rows[1]
    assert "[redacted:github_token]" in str(rows)


def test_of_a_table_of_kernels_rows_and_samples_are_cleaned(tmp_path):
    header = "Name,Type,Accelerator Core,Start Time(us),Duration(us),note"
    rows = [f"MatMul_{nth},MatMul,AI_CORE,{nth}.000,1.000,0.5" for nth in range(50)]
    rows[10] = f"{github(1)},MatMul,AI_CORE,10.000,1.000,0.5"
    rows[20] = f"MatMul_20,MatMul,AI_CORE,20.000,1.000,password={github(2)[4:]}"
    rows[30] = f"MatMul_30,{github(3)},AI_CORE"
    path = tmp_path / "kernel_details.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, path)
    # The name of a kernel stands in its arguments as well.
    assert (result.events, result.rejected, result.redacted) == (49, 1, 4)
    written = everything_in(lake.path)
    assert [seed for seed in (1, 2, 3) if github(seed)[4:] in written] == []
    assert lake.rows("SELECT name FROM events WHERE event_id = 10") == [("[redacted:github_token]",)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("basic_credentials", "secret_pair_quoted")])
def test_the_beginning_of_a_credential_that_the_end_of_the_file_cuts_off_is_not_shown(tmp_path, kind):
    text, secret = KINDS[kind]
    start = text.index(secret)
    whole, half = json.dumps(text[: start + len(secret)])[1:-1], json.dumps(text[: start + 9])[1:-1]
    for nth, log in enumerate((whole, half)):
        path = tmp_path / f"cut-{nth}.json"
        path.write_text(f'[{json.dumps(SPAN)}, {{"ph": "X", "ts": 7, "name": "b", "args": {{"log": "{log}')
        lake = Lake(tmp_path / f"lake-{nth}")
        [result] = ingest_into(lake, path)
        assert result.truncated
        [(samples,)] = lake.rows("SELECT samples FROM traces")
        assert json.dumps(secret[:9])[1:-1] not in json.loads(samples)["rejected"][0]["text"]
        assert "[redacted:" in samples
        assert result.redacted == 1


def test_what_the_end_of_a_sample_does_not_cut_off_stays():
    for text in ("http://localhost:8080", "served by task-3f9c2d81", "hf_hub_download", "a_kernel_with_num_tokens="):
        assert secrets.redacted(text, cut_off=True) == (text, 0)


@pytest.mark.parametrize("rows", [40, 4000])
def test_a_credential_that_the_end_of_a_table_cuts_off_is_not_stored(tmp_path, rows):
    lines = [f"MatMul_{nth},MatMul,AI_CORE,{nth}.000,1.000,0.5" for nth in range(rows)]
    lines[-1] = lines[-1].removesuffix("0.5") + github(1)[:15]
    path = tmp_path / "kernel_details.csv"
    path.write_text("\n".join(["Name,Type,Accelerator Core,Start Time(us),Duration(us),note", *lines]))
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, path)
    assert (result.events, result.redacted) == (rows, 1)
    assert github(1)[4:15] not in everything_in(lake.path)


@pytest.mark.parametrize("small", [0, 1 << 30], ids=["cells", "arguments"])
@pytest.mark.parametrize(
    "cell", [github(1), "password=hunter2", "x://me:hunter2@hub", "AI_CORE", "Basic block of a kernel"]
)
def test_in_a_table_a_credential_in_any_cell_is_found_whichever_way_it_is_searched(tmp_path, monkeypatch, small, cell):
    monkeypatch.setattr(table, "_SMALL", small)
    columns = ["Name", "Type", "Accelerator Core", "Input Shapes", "Wait Time(us)", "aic_total_cycles"]
    for place, column in enumerate(columns):
        cells = [["MatMul_of_a_name", "MatMul", "AI_VECTOR_CORE", "8;25", "0.1", "7"] for _ in range(500)]
        cells[400][place] = cell
        path = tmp_path / f"kernel_details_{place}.csv"
        lines = [",".join([*row, f"{nth}.000", "1.000"]) for nth, row in enumerate(cells)]
        path.write_text("\n".join([",".join([*columns, "Start Time(us)", "Duration(us)"]), *lines]) + "\n")
        lake = Lake(tmp_path / f"lake-{place}")
        [result] = ingest_into(lake, path)
        secret = cell in (github(1), "password=hunter2", "x://me:hunter2@hub")
        # The name stands in the arguments as well; the type does not.
        assert (result.events, result.redacted) == (500, secret * (1 + (column == "Name"))), column
        assert not secret or cell not in everything_in(lake.path)


def test_no_match_is_shorter_than_the_length_from_which_cells_are_searched():
    widths = {
        pattern.secret: re._parser.parse(pattern.pattern).getwidth()[0]
        for pattern in secrets.patterns()
        if pattern.secret != "url_password"
    }
    assert min(widths.values()) == credentials.SHORTEST_MATCH


def test_a_model_config_and_messages_that_quote_a_value_are_cleaned(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model_type": "llama", "hub_token": github(1), "hidden_size": github(2)}))
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps([SPAN]))
    ended = run_cli("ingest", trace, "--model", config, lake=tmp_path / "lake")
    written = everything_in(tmp_path / "lake") + ended.stdout + ended.stderr
    assert github(1) not in written
    assert github(2) not in written
    for words in (("--set", f"rank={github(3)}"), ("--set", f"anchor=({github(3)}"), ("--tp", github(3))):
        ended = run_cli("ingest", trace, *words, lake=tmp_path / "lake")
        assert ended.returncode == 2
        assert github(3) not in ended.stderr
        assert "[redacted:github_token]" in ended.stderr
    with pytest.raises(UsageError) as refused:
        Lake(tmp_path / "lake").set("trace", num_layers=github(4))
    assert github(4) not in str(refused.value)


def test_a_file_that_is_refused_is_not_quoted_with_its_credentials(tmp_path):
    for name, text in {
        "a.json": f"{github(1)} is no JSON",
        "b.json": json.dumps({github(2): 1}),
        "c.csv": f"{github(3)},b,c\n1,2,3\n",
    }.items():
        (tmp_path / name).write_text(text)
        ended = run_cli("ingest", tmp_path / name, lake=tmp_path / "lake")
        assert ended.returncode == 3
        assert [seed for seed in (1, 2, 3) if github(seed)[:12] in ended.stderr] == []


@pytest.mark.parametrize("text", [JWT, PEM, f"spelled {github(5).replace('_', chr(92) + 'u005f')}"])
def test_a_sample_is_cleaned_before_it_is_cut(text):
    notes = Notes()
    notes.reject(0, "damaged", f"{'x' * 180} {json.dumps(text)[1:-1]}".replace("\\\\u", "\\u"))
    assert notes.redacted == 1
    shown = notes.to_json()
    assert [part for part in (JWT[:20], PEM_BODY[:20], github(5)[4:]) if part in shown] == []


@pytest.mark.parametrize("name", data_files("kineto/*.json.gz", "jax/*.json.gz", "ascend/*.json", "ascend/*.csv"))
def test_nothing_in_a_real_trace_is_taken_for_a_credential(tmp_path, name):
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, DATA / name)
    assert getattr(result, "redacted", 0) == 0, lake.rows(
        "SELECT name, args FROM events WHERE concat(name, args, extra) LIKE '%[redacted:%' LIMIT 5"
    )
