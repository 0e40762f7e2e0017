"""A lake: what is in it, what was said of its traces, and what of it outlives a process."""

import gzip
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracelake
from tracelake.engine import aside, store
from tracelake.engine.computing import publish, renew
from tracelake.engine.computing.executors import Threads
from tracelake.engine.errors import InputError, UsageError
from tracelake.engine.sql import modules
from tracelake.engine.storage.tables import Tables
from tracelake.lake import Lake
from tracelake.synthetic.gpu import gpu_config, gpu_trace
from tracelake.synthetic.npu import write_npu

from ..storing import storing_only
from ..support import batches, trace_bytes, trace_ids

RULE = "priority,category,label,kind,pattern"


def small(name: str) -> bytes:
    kernel = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 5, "dur": 2, "args": {"device": 0, "stream": 7}}
    return trace_bytes([{**kernel, "name": name}])


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Lake]:
    """A new lake that stores no answers, for what is about its catalog alone."""
    with Lake(tmp_path / "events-lake", stored=False) as opened:
        yield opened


def put_three_into(lake: Lake, folder: Path) -> Lake:
    """Ingest three one-kernel traces: decode, decode_graph, prefill."""
    for name in ("decode", "decode_graph", "prefill"):
        (folder / f"{name}.json").write_bytes(small(name))
    lake.ingest(*sorted(folder.glob("*.json")))
    return lake


@pytest.fixture
def three(bare: Lake, tmp_path: Path) -> Lake:
    """A lake of these without their answers."""
    return put_three_into(bare, tmp_path)


@pytest.fixture
def kernels_alone():
    """Store what kernels rest on: to plan all relations takes a second, and the test is about none of the others."""
    with storing_only("kernels"):
        yield


def test_the_same_content_again_stores_nothing_and_says_so(s1_lake, s1_file, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in s1_lake.path.rglob("*.parquet")}
    unpacked = tmp_path / "renamed.json"
    unpacked.write_bytes(gzip.decompress(s1_file.read_bytes()))
    [again, plain] = s1_lake.ingest(s1_file, unpacked)
    assert (again.new, plain.new) == (False, False)
    assert again.trace_id == plain.trace_id
    assert {path: path.stat().st_mtime_ns for path in s1_lake.path.rglob("*.parquet")} == before
    assert s1_lake.sql("SELECT trace, event_count FROM traces").fetchall() == [("s1", 696)]


@pytest.mark.usefixtures("kernels_alone")
def test_a_second_ingest_still_remembers_what_is_said_with_it(s1_lake, s1_file):
    s1_lake.ingest(s1_file, run="nightly", tp=8)
    assert s1_lake.sql("SELECT run, tp FROM traces").fetchall() == [("nightly", 8)]


@pytest.mark.usefixtures("kernels_alone")
def test_what_a_second_ingest_does_not_say_is_not_forgotten(s1_lake, s1_file):
    s1_lake.ingest(s1_file, run="nightly", tp=8)
    s1_lake.ingest(s1_file, run=None, tp=None, rank=2)
    assert s1_lake.sql("SELECT run, tp, rank FROM traces").fetchall() == [("nightly", 8, 2)]


def test_what_the_catalog_says_of_a_file_is_true_of_it(s1_lake, s1_file):
    import hashlib

    import xxhash

    content = gzip.decompress(s1_file.read_bytes())
    [row] = s1_lake.sql(
        "SELECT trace_id, source_path, source_bytes, source_sha256, content_bytes, content_xxh3, event_count "
        "FROM traces"
    ).fetchall()
    digest = xxhash.xxh3_128_hexdigest(content)
    assert row == (
        digest[:16], str(s1_file), s1_file.stat().st_size, hashlib.sha256(s1_file.read_bytes()).hexdigest(),
        len(content), digest, len(gpu_trace()["traceEvents"]),
    )  # fmt: skip


def test_settings_merge_override_the_file_and_are_taken_back_by_an_empty_value(bare, tmp_path):
    path = tmp_path / "rank3.json"
    path.write_bytes(small("gemm"))
    bare.ingest(path, run="a", tp=2, build="17")
    said = "SELECT run, tp, rank, rank_source, num_layers FROM traces"
    assert bare.sql(said).fetchall() == [("a", 2, 3, "file name", None)]
    bare.set("rank3", rank=0, tp=4, num_layers=36)
    assert bare.sql(said).fetchall() == [("a", 4, 0, "user", 36)]
    bare.set("rank3", rank="", run=None, tp="")
    assert bare.sql(said).fetchall() == [(None, None, 3, "file name", 36)]
    assert bare.sql("SELECT key, value FROM tags ORDER BY key").fetchall() == [
        ("build", "17"),
        ("num_layers", "36"),
    ]


def test_a_trace_may_be_renamed(s1_lake):
    s1_lake.set("s1", trace="decode")
    assert s1_lake.sql("SELECT trace FROM traces").fetchall() == [("decode",)]
    with pytest.raises(UsageError, match="s1: no such trace"):
        s1_lake.set("s1", run="x")


@pytest.mark.parametrize(("setting", "value", "message"), [
    ("hardware", "h9000", "h9000: unknown hardware. Near: .*h200"),
    ("profile", "nope", "profile=nope: unknown. Known: .*dsv3_mla"),
    ("tp", "many", "tp=many: expected a whole number, as in tp=8"),
    ("tp", "0", "tp=0: expected 1 or more"),
    ("rank", "-1", "rank=-1: expected a whole number"),
    ("num_layers", "99999999999", "expected a whole number"),
    ("anchor", "(", "anchor=\\(: not a regular expression"),
    ("anchor_role", "middle", "expected one of begin, inside, end"),
    ("not a name", "x", "not a setting's name"),
])  # fmt: skip
def test_what_a_setting_cannot_be_is_refused_and_changes_nothing(s1_lake, s1_file, setting, value, message):
    with pytest.raises(UsageError, match=message):
        s1_lake.set("s1", **{setting: value})
    with pytest.raises(UsageError, match=message):
        s1_lake.ingest(s1_file, **{setting: value})
    assert s1_lake.sql("FROM tags").fetchall() == []


def test_a_name_is_no_tag(s1_lake):
    with pytest.raises(UsageError, match="name=new: a trace's name is its setting trace, as in trace=new"):
        s1_lake.set("s1", name="new")
    assert s1_lake.sql("FROM tags").fetchall() == []


def test_a_model_is_a_name_or_its_config_file(bare, s1_file, tmp_path):
    config = tmp_path / "deepseek" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps(gpu_config()))
    bare.ingest(s1_file, model=config)
    # By its fields: 6 layers, and compress_ratios call for the profile.
    assert bare.sql("SELECT model, num_layers, profile FROM traces").fetchall() == [("deepseek", 6, "dsv4_csa_hca")]
    bare.set("s1", model="my-model")
    assert bare.sql("SELECT model FROM traces").fetchall() == [("my-model",)]
    for wrong, message in ((tmp_path / "absent.json", "no such file"), (s1_file, "not a model's config.json")):
        with pytest.raises(InputError, match=message):
            bare.set("s1", model=str(wrong))


def test_one_name_is_not_given_to_several_files(bare, s1_file, tmp_path):
    (tmp_path / "other.json").write_bytes(small("other"))
    with pytest.raises(UsageError, match="one name for 2 files"):
        bare.ingest(s1_file, tmp_path / "other.json", trace="both")


def test_a_trace_is_found_by_its_name_its_id_and_the_beginning_of_either(three):
    ids = dict(three.sql("SELECT trace, trace_id FROM traces").fetchall())
    assert three.resolve("prefill") == ids["prefill"]
    assert three.resolve(ids["prefill"]) == ids["prefill"]
    assert three.resolve("pre") == ids["prefill"]
    assert three.resolve(ids["decode"][:8]) == ids["decode"]
    # A whole name wins over a longer one that begins with it.
    assert three.resolve("decode") == ids["decode"]


def test_a_name_that_fits_several_traces_or_none_is_refused_with_what_there_is(three):
    with pytest.raises(UsageError, match=r"dec: names 2 traces: .*decode \([0-9a-f]{16}\).*Give the id"):
        three.resolve("dec")
    with pytest.raises(UsageError, match=r"nope: no such trace or file. In the lake .*: decode, decode_graph, prefill"):
        three.resolve("nope")
    with pytest.raises(UsageError, match="is empty"):
        Lake(three.path.with_name("empty")).resolve("nope")


@pytest.mark.usefixtures("kernels_alone")
def test_removing_a_trace_leaves_nothing_of_it_and_all_of_the_others(lake, tmp_path):
    three = put_three_into(lake, tmp_path)
    three.set("prefill", run="x")
    gone = three.remove("prefill")
    assert not [path for path in three.path.rglob("*") if gone in path.name]
    for relation in ("traces", "events", "kernels", "tags"):
        assert gone not in {row[0] for row in three.sql(f"SELECT trace_id FROM {relation}").fetchall()}
    assert three.sql("SELECT count(*) FROM kernels").fetchall() == [(2,)]
    [again] = three.ingest(tmp_path / "prefill.json")
    assert (again.new, again.trace_id) == (True, gone)
    assert three.sql("SELECT count(*), count(run) FROM traces JOIN kernels USING (trace_id)").fetchall() == [(3, 0)]


def test_a_path_is_read_once_and_again_only_when_the_file_changed(bare, tmp_path):
    path = tmp_path / "decode.json"
    path.write_bytes(small("first"))
    first = bare.locate(str(path))
    [at] = bare.sql("SELECT ingested_at FROM traces").fetchall()
    assert bare.locate(str(path)) == first
    assert bare.sql("SELECT ingested_at FROM traces").fetchall() == [at]
    path.write_bytes(small("second, and longer"))
    assert bare.locate(str(path)) != first
    assert bare.sql("SELECT count(*) FROM traces").fetchall() == [(2,)]


def test_a_name_is_not_looked_up_as_a_path_of_a_file_that_is_no_trace(bare, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no trace")
    with pytest.raises(InputError, match=r"notes\.txt: not a trace"):
        bare.locate(str(path))


@pytest.mark.usefixtures("kernels_alone")
def test_two_lakes_know_nothing_of_each_other(tmp_path, s1_file):
    one, other = tracelake.open(tmp_path / "one"), tracelake.open(tmp_path / "other")
    one.ingest(s1_file)
    (tmp_path / "small.json").write_bytes(small("gemm"))
    other.ingest(tmp_path / "small.json")
    assert one.sql("SELECT trace FROM traces").fetchall() == [("s1",)]
    assert other.sql("SELECT trace FROM traces").fetchall() == [("small",)]
    shutil.copytree(str(one.path / "events"), str(other.path / "events"), dirs_exist_ok=True)
    assert tracelake.open(other.path).sql("SELECT count(*) FROM events").fetchall() == [(1,)]


@pytest.mark.usefixtures("kernels_alone")
def test_a_lake_sees_what_another_process_published_after_a_refresh(lake, s1_file):
    assert lake.sql("SELECT count(*) FROM traces").fetchall() == [(0,)]
    Lake(lake.path).ingest(s1_file)
    lake.refresh()
    assert lake.sql("SELECT count(*) FROM kernels").fetchall() == [(695,)]


def test_a_moved_lake_is_the_same_lake(s1_lake, tmp_path):
    kernels = s1_lake.sql("FROM kernels ORDER BY ALL").fetchall()
    s1_lake.close()
    shutil.move(s1_lake.path, tmp_path / "moved")
    assert Lake(tmp_path / "moved").sql("FROM kernels ORDER BY ALL").fetchall() == kernels


def test_the_answers_of_a_whole_trace_sum_to_what_its_recipe_says(s1_lake):
    # Of the recipe in `synthetic`: 695 kernels, 310500 us, the last ends at 322440 us.
    [row] = s1_lake.sql("SELECT count(*), sum(dur_ns), max(end_ns), count(DISTINCT kernel_id) FROM kernels").fetchall()
    assert row == (695, 310_500_000, 322_440_000, 695)


def test_what_is_computed_again_is_what_was_there(s1_lake):
    views = [entry for entry in modules.modules() if entry.public and entry.kind == "VIEW"]
    relations = [entry.name for entry in views if entry.folder in ("core", "layers")]
    before = {name: s1_lake.sql(f"FROM {name} ORDER BY ALL").fetchall() for name in relations}
    assert sum(map(len, before.values())) > 1000
    first = batches(s1_lake)
    s1_lake.compute("s1")
    assert {name: s1_lake.sql(f"FROM {name} ORDER BY ALL").fetchall() for name in relations} == before
    assert batches(s1_lake).keys() == first.keys()
    assert batches(s1_lake) != first


def test_answers_are_there_when_the_trace_is_and_are_computed_again_when_its_settings_change(
    lake, s1_file, monkeypatch
):
    lake.ingest(s1_file)
    first = batches(lake)
    with monkeypatch.context() as patch:
        # No question computes.
        patch.setattr("tracelake.engine.computing.compute.Worker.compute", None)
        assert len(lake.layers("s1").fetchall()) == 6
        lake.set("s1", build="a tag costs nothing", trace="renamed")
        assert len(lake.layers("renamed").fetchall()) == 6
    assert batches(lake) == first
    lake.set("renamed", anchor="nvjet_lm_head", num_layers=1)
    assert len(lake.layers("renamed").fetchall()) == 1
    assert batches(lake) != first


@pytest.mark.usefixtures("kernels_alone")
def test_what_was_computed_by_settings_of_before_is_never_taken_for_a_later_answer(s1_lake, tmp_path):
    # A process computes, and publishes when another one has set something else.
    older = Lake(s1_lake.path).store
    [trace_id] = trace_ids(s1_lake)
    entries = older.catalog.entries(older.catalog_connection, [trace_id])
    events = {trace_id: older.layout.event_files(trace_id)}
    batch = publish.compute(older.layout, entries, {}, events, tmp_path)
    Lake(s1_lake.path).set("s1", profile="dsv4_csa_hca")
    publish.publish(older.layout, Tables(older.layout.tables), tmp_path, [batch])
    by_profile = "SELECT count(*) FROM kernels WHERE category = 'mla'"
    [(expected,)] = Lake(s1_lake.path).sql(by_profile).fetchall()
    assert expected == 30  # five passes of six layers, one attention core each: rule 100 of that profile


@pytest.mark.usefixtures("kernels_alone")
def test_a_question_names_the_traces_that_it_does_not_renew(s1_lake, monkeypatch, caplog):
    monkeypatch.setattr(store, "RENEWED_AT_ONCE", 0)
    monkeypatch.setattr(aside, "_warned", set())
    first = batches(s1_lake)
    (s1_lake.path / "lookup").mkdir()
    (s1_lake.path / "lookup" / "category_rules.csv").write_text(f'{RULE}\n1,mine,"My own",compute,^nvjet\n')
    assert s1_lake.rows("SELECT count(*) FROM kernels WHERE category = 'mine'") == [(0,)]
    assert "1 of 1 traces have no answers by the rules and settings of now" in caplog.text
    assert batches(s1_lake) == first
    # A question about the trace renews it.
    assert s1_lake.kernels("s1").filter("category = 'mine'").count("*").fetchall() == [(35,)]
    assert batches(s1_lake) != first


def test_traces_of_several_formats_share_a_lake(s1_lake, tmp_path):
    """What only Ascend traces have is not computed for others, and is there for them."""
    write_npu(tmp_path / "kernel_details.csv")
    questions = ("FROM layers", "FROM ascend_operators", "FROM findings", "FROM passes")

    def asked(lake, *traces):
        return [lake.rows(f"{question} WHERE trace_id IN $1 ORDER BY ALL", [list(traces)]) for question in questions]

    [s1] = trace_ids(s1_lake)
    alone = asked(s1_lake, s1)
    with Lake(tmp_path / "npu") as other:
        [npu] = (found.trace_id for found in other.ingest(tmp_path / "kernel_details.csv"))
        assert (alone[1], len(asked(other, npu)[1]) > 0) == ([], True)
        npu_alone = asked(other, npu)
    s1_lake.ingest(tmp_path / "kernel_details.csv")
    assert (asked(s1_lake, s1), asked(s1_lake, npu)) == (alone, npu_alone)
    for name in ("_ascend_rows", "ascend_operators"):
        assert [file.traces for file in Tables(s1_lake.layout.tables).files(name)] == [(npu, npu)]


def test_a_lake_that_cannot_be_written_to_answers_all_the_same(s1_lake, s1_file, tmp_path, monkeypatch):
    kernels = s1_lake.sql("FROM layers ORDER BY ALL").fetchall()
    with Lake(tmp_path / "events") as made:
        made.ingest(s1_file, events_only=True)
    monkeypatch.setattr(renew.os, "access", lambda path, mode: mode != renew.os.W_OK)
    before = sorted((tmp_path / "events").rglob("*"))
    with Lake(tmp_path / "events") as opened:
        assert opened.sql("FROM layers ORDER BY ALL").fetchall() == kernels
        assert opened.layers("s1").fetchall() == s1_lake.layers("s1").fetchall()
    assert sorted((tmp_path / "events").rglob("*")) == before


def test_own_rows_renew_what_rests_on_them_and_nothing_else(s1_lake):
    """Prices say nothing about kernels: what was computed of them stays."""

    def written():
        s1_lake.close()
        with Lake(s1_lake.path) as again:
            again.sql("FROM layers").fetchall()
            return batches(again)

    before = written()
    own = s1_lake.path / "lookup"
    own.mkdir()
    (own / "prices.csv").write_text("offer,hardware,usd_per_hour\na,h200,2\n")
    assert written() == before
    (own / "category_rules.csv").write_text(f'{RULE}\n1,mine,"Mine",compute,^mine\n')
    assert written() != before


@pytest.mark.usefixtures("kernels_alone")
@pytest.mark.parametrize("folder", ["lookup", "reference"])
def test_rows_in_the_lakes_own_lookup_folder_override_and_add(s1_lake, folder):
    """The second is the folder's former name."""
    by_category = "SELECT category, count(*) FROM kernels WHERE name LIKE 'nvjet%' GROUP BY ALL"
    assert s1_lake.sql(by_category).fetchall() == [("gemm", 35)]
    s1_lake.close()
    own = s1_lake.path / folder
    own.mkdir()
    rules = own / "category_rules.csv"
    rules.write_text(f'{RULE}\n1,mine,"My own",compute,^nvjet\n')
    opened = Lake(s1_lake.path)
    assert opened.sql(by_category).fetchall() == [("mine", 35)]
    opened.close()
    rules.unlink()
    assert Lake(s1_lake.path).sql(by_category).fetchall() == [("gemm", 35)]


@pytest.mark.usefixtures("kernels_alone")
def test_the_lakes_own_rows_may_come_while_it_is_open_and_be_wrong_at_first(s1_lake):
    """Only then has a table the index of its key, where they take the place of shipped ones."""
    asked = "SELECT priority, category FROM category_rules ORDER BY ALL LIMIT 1"
    keyed = "SELECT table_name FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
    [(priority, category)] = s1_lake.rows(asked)
    assert s1_lake.rows(keyed) == []
    (s1_lake.path / "lookup").mkdir()
    rules = s1_lake.path / "lookup" / "category_rules.csv"
    for text in ("first,mine,Mine,compute,x", ",mine,Mine,compute,x"):
        rules.write_text(f"{RULE}\n{text}\n")
        with pytest.raises(InputError, match="cannot be read as rows of category_rules"):
            s1_lake.rows(asked)
    rules.write_text(f'{RULE}\n{priority},mine,"My own",compute,^nvjet\n')
    assert s1_lake.rows(asked) == [(priority, "mine")]
    assert s1_lake.rows(keyed) == [("category_rules",)]
    rules.unlink()
    assert s1_lake.rows(asked) == [(priority, category)]


@pytest.mark.parametrize(("text", "message"), [
    (f"{RULE}\n1,mine,Mine,compute,(\n", "category_rules: a rule is not a regular expression"),
    ("priority,nonsense\n1,2\n", "category_rules.csv: cannot be read as rows of category_rules"),
    (f"{RULE}\nfirst,mine,Mine,compute,x\n", "category_rules.csv: cannot be read as rows"),
])  # fmt: skip
def test_a_lookup_file_that_does_not_fit_is_named(s1_lake, text, message):
    (s1_lake.path / "lookup").mkdir()
    (s1_lake.path / "lookup" / "category_rules.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        Lake(s1_lake.path).kernels("s1")


@pytest.mark.parametrize(("content", "reason"), [
    (b"", "there is no column hardware."),
    (b"a,a\n1,2\n", "there is no column hardware."),
    (b"hardware,peak_bf16\nmine,1\n", 'does not have a column with name "peak_bf16". Did you mean: "peak_bf16_tflops"'),
    (b"\xff\xfeh", "This file is not utf-8 encoded."),
    (b'hardware,name\n"mine,1\n', "no CSV file in UTF-8; perhaps a quote is not closed."),
    (bytes(range(256)) * 20, "no CSV file in UTF-8; perhaps a quote is not closed."),
    (b"hardware,num_sms\nmine,many\n", "Could not convert string 'many' to INT"),
])  # fmt: skip
def test_a_lookup_file_is_refused_in_one_sentence_without_the_query(s1_lake, content, reason):
    (s1_lake.path / "lookup").mkdir()
    (s1_lake.path / "lookup" / "hardware.csv").write_bytes(content)
    with pytest.raises(InputError) as refused:
        s1_lake.rows("FROM hardware")
    said = str(refused.value)
    assert reason in said
    assert ("\n" in said, "LINE" in said, "read_csv" in said) == (False, False, False)


def test_a_mark_of_passes_that_the_lake_adds_needs_no_more_than_a_weight(s1_lake):
    marks = s1_lake.path / "lookup" / "pass_marks.csv"
    marks.parent.mkdir(exist_ok=True)
    marks.write_text("mark,weight\nactivation,1\nconv,3\n")
    found = s1_lake.rows(
        "SELECT mark, weight, in_layers FROM pass_marks WHERE mark IN ('activation', 'conv') ORDER BY 1"
    )
    assert found == [("activation", 1, False), ("conv", 3, True)]


def test_the_lakes_own_markers_of_gaps_count(s1_lake):
    asked = "SELECT _is_gap_marker('Mine'), _is_gap_marker('%copy-start.3'), _is_gap_marker('gemm')"
    assert s1_lake.rows(asked) == [(False, True, False)]
    (s1_lake.path / "lookup").mkdir()
    markers = s1_lake.path / "lookup" / "gap_markers.csv"
    markers.write_text("pattern,in_reference\n^mine$,false\n")
    assert s1_lake.rows(asked) == [(True, True, False)]
    # The second is no valid expression alone, but would be as one of several alternatives.
    for wrong in ("(", "a)|(b"):
        markers.write_text(f"pattern,in_reference\n{wrong},false\n")
        with pytest.raises(InputError, match="gap_markers: a rule is not a regular expression"):
            s1_lake.rows(asked)


def test_a_question_with_a_mistake_is_a_usage_error(s1_lake):
    for question in ("SELEC 1", "SELECT nope FROM kernels", "SELECT * FROM nope"):
        with pytest.raises(UsageError):
            s1_lake.sql(question)
    assert s1_lake.sql("SELECT $least::INTEGER + 1", least=2).fetchall() == [(3,)]


def test_threads_are_as_many_as_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACELAKE_THREADS", "1")
    with Lake(tmp_path / "one") as one:
        assert one.rows("SELECT current_setting('threads')") == [(1,)]
    for wrong in ("0", "many", "-1"):
        monkeypatch.setenv("TRACELAKE_THREADS", wrong)
        with pytest.raises(UsageError, match=f"TRACELAKE_THREADS={wrong}: expected a number of threads"):
            Lake(tmp_path / "one").rows("SELECT 1")


def test_threads_are_no_more_than_the_cores_that_a_process_may_use(tmp_path, monkeypatch):
    """As in a job of Slurm; DuckDB counts all cores of the machine."""
    monkeypatch.delenv("TRACELAKE_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 7}, raising=False)
    assert Threads().at_once == 3
    with Lake(tmp_path / "three") as lake:
        assert lake.rows("SELECT current_setting('threads')") == [(3,)]


def test_an_asof_join_of_a_few_rows_by_estimate_sorts_all_the_same(lake):
    """DuckDB's own choice below 64 rows on the left compares each row with all, however many come."""
    plan = lake.rows("EXPLAIN SELECT * FROM range(9) AS a (x) ASOF JOIN range(9) AS b (y) ON a.x >= b.y")[0][1]
    assert re.search("ASOF.JOIN", plan.upper())
    assert "NESTED" not in plan.upper()


def test_what_another_process_has_said_since_is_not_overwritten(lake, s1_file):
    """Who opened the lake before answers by what it knows, and leaves the files to who knows more."""
    asked = "SELECT DISTINCT layer_count FROM passes WHERE complete"
    lake.ingest(s1_file, num_layers=6)
    lake.rows("FROM traces")
    with Lake(lake.path) as other:
        other.set("s1", num_layers=3)
        newer = other.rows(asked)
        assert lake.rows(asked) != newer
        assert other.rows(asked) == newer
    lake.refresh()
    assert lake.rows(asked) == newer


def test_a_trace_can_be_removed_whatever_is_in_memory(s1_lake):
    """Relations held in memory may rest on files of the trace."""
    count = "SELECT count(*) FROM timing_template"
    before = s1_lake.rows(count)
    s1_lake.remove("s1")
    assert s1_lake.rows("SELECT count(*) FROM pass_workloads") == [(0,)]
    assert s1_lake.rows(count) == [(0,)] <= before
