"""What commands say of values that cannot be, of models that nobody knows, and of what they leave out for people."""

import gzip
import itertools
import json
import re

import pytest

from tracelake.lake import Lake
from tracelake.synthetic.npu import write_npu
from tracelake.synthetic.prefill import write_prefill

from ..support import trace_bytes

_LONG = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
    "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"
)
_LONGER = "Cijk_Alik_Bljk_BBS_BH_" + "_".join(f"K{n}" for n in range(80))


def _kernel(name, ts, dur, device=0):
    return {
        "ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": 7, "ts": ts, "dur": dur,
        "args": {"device": device, "stream": 7},
    }  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A prefill of Llama 3 8B, an NPU's prefill and decode, two devices that run one kernel, and long names."""
    folder = tmp_path_factory.mktemp("answers")
    write_prefill(folder / "prefill.json.gz")
    write_npu(folder / "npu.csv")
    (folder / "two.json").write_bytes(trace_bytes([_kernel("gemm", 0, 10, 0), _kernel("gemm", 0, 30, 1)]))
    # By hand: 5 µs before the second kernel, 20 µs before the third.
    events = [_kernel(_LONG, 0, 10), _kernel(_LONG, 15, 10), _kernel(_LONGER, 45, 10)]
    (folder / "long.json").write_bytes(trace_bytes(events))
    with Lake(folder / "lake") as opened:
        opened.ingest(*(folder / name for name in ("prefill.json.gz", "npu.csv", "two.json", "long.json")))
    return folder / "lake"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("model", "operators", "qwen3-8b", "--batch", "9999999999999"), "1<=x<=1000000000"),
        (("model", "roofline", "qwen3-8b", "--hardware", "h200", "--tp", "99999999999999999999"), "1<=x<=1000000"),
        (("model", "report", "qwen3-8b", "--hardware", "h200", "--seq-len", "9999999999"), "1<=x<=1000000000"),
        (("model", "mfu", "qwen3-8b", "--kv-len", "9999999999"), "0<=x<=1000000000"),
        (("model", "sweep", "qwen3-8b", "--hardware", "h200", "--batch", "1,9999999999"), "from 1 to 1000000000"),
        (("model", "sweep", "qwen3-8b", "--hardware", "h200", "--ep", "8,1000001"), "from 1 to 1000000"),
        # Each is possible, their product is beyond what the database computes with.
        (("model", "operators", "qwen3-8b", "--batch", 10**9, "--seq-len", 10**9), "too large to compute with"),
        (("model", "sweep", "qwen3-8b", "--hardware", "h200", "--batch", ",,"), "has no values"),
        (("model", "sweep", "qwen3-8b", "--hardware", ","), "has no values"),
        (("perfetto", "prefill", "--layers", ","), "has no values"),
        (("model", "list", "--limit", "-3"), "x>=0"),
        (("shapes", "npu", "--limit", "-3"), "x>=0"),
        (("sql", ""), "the query is empty"),
        (("sql", " ;\n"), "the query is empty"),
        # What DuckDB finds in values when it computes is the query's mistake, and no trace's.
        *(
            (("sql", f"SELECT {wrong}"), f"{why}\n  A value in the query is not one that can be computed with")
            for wrong, why in {
                "count(*) FROM kernels WHERE regexp_matches(name, '(')": "missing ): (",
                "strptime('x', '%Y')": 'Could not parse string "x" according to format specifier "%Y"',
                "printf('%d', 'a')": 'Invalid type specifier "d" for formatting a value of type string',
                "$x": "Values were not provided for the following parameters: x",
                "[1][1:2:0]": "Slice step cannot be zero",
                "error('boom')": "boom",
            }.items()
        ),
        (("history", "step_ms", "--where", "regexp_matches(trace, '[')"), "missing ]: ["),
        (("sql", "SELECT 1; SELECT 2"), "a query is one statement, and these are 2: ask them one by one."),
        (("schema", "layerz"), "no such relation. Near: layers"),
        (("schema", "--tree", "layerz"), "no such relation. Near: layers"),
        (("schema", "--tree"), "needs the name"),
    ],
)
def test_what_cannot_be_is_said_and_ends_with_2(run, words, said):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert "This should not happen" not in err
    assert "SELECT p." not in err
    assert "tracelake remove" not in err
    assert len(err) < 600


@pytest.mark.parametrize(
    "words",
    [
        ("summary", "prefill", "-o"), ("report", "prefill", "-o"), ("layers", "prefill", "-o"),
        ("model", "mfu", "qwen3-8b", "-o"), ("model", "report", "qwen3-8b", "--hardware", "h200", "-o"),
        ("model", "validate", "prefill", "-o"), ("extract", "npu", "-o"), ("perfetto", "prefill", "-o"),
        ("model", "show", "qwen3-8b", "-o"), ("compare", "prefill", "npu", "-o"),
    ],
)  # fmt: skip
def test_a_folder_that_is_missing_is_said_before_anything_is_computed(run, monkeypatch, tmp_path, words):
    monkeypatch.setattr(Lake, "__init__", lambda *_, **__: pytest.fail("the lake was opened"))
    code, out, err = run(*words, tmp_path / "nowhere" / "x.md")
    assert (code, out) == (3, "")
    assert f"cannot be written: no such folder: {tmp_path / 'nowhere'}" in err


def test_a_model_that_nobody_knows_is_kept_and_said(run, tmp_path):
    code, _, err = run("set", "prefill", "model=nosuch")
    assert code == 0
    assert len(err.splitlines()) == 1
    assert "model nosuch: no such model is known" in err
    for command in ("measured", "validate"):
        code, out, err = run("model", command, "prefill")
        assert (code, out) == (2, "")
        assert "nosuch: unknown model" in err
    assert run("set", "prefill", "model=")[2] == ""
    for command in ("measured", "validate"):
        code, out, err = run("model", command, "prefill")
        assert (code, out) == (2, "")
        assert "no model is set" in err
    (tmp_path / "one.json").write_bytes(trace_bytes([_kernel("gemm", 0, 10)]))
    assert "model nosuch: no such model is known" in run("ingest", tmp_path / "one.json", "--model", "nosuch")[2]
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"_name_or_path": "odd", "num_hidden_layers": "two"}))
    assert 'model odd: num_hidden_layers is "two": expected' in run("set", "one", f"model={config}")[2]
    assert run("set", "one", "model=Qwen/Qwen3-8B")[2] == ""


def test_a_model_that_cannot_be_the_traces_is_named_beside_one_that_can(run):
    # A prefill of Llama 3 8B: 4096 wide as Qwen3-8B is, with an MLP and a vocabulary of its own.
    said = run("set", "prefill", "model=qwen3-8b")[2]
    assert "do not fit the trace's model qwen3-8b: " in said
    assert "intermediate_size" in said
    assert "Published models that fit: llama-3-8b." in said
    for words in (("model", "measured"), ("model", "validate"), ("doctor",), ("model", "mfu")):
        _, out, err = run(*words, "prefill", *(("--format", "csv") if words == ("doctor",) else ()))
        assert "Published models that fit: llama-3-8b." in out + err, words
    assert run("set", "prefill", "model=llama-3-8b")[2] == ""


def test_one_pass_is_measured_where_it_is_named(run):
    run("set", "prefill", "model=llama-3-8b")
    code, out, err = run("model", "measured", "prefill", "--pass", "0", "--format", "json")
    assert code == 0, err
    assert {row["pass_id"] for row in json.loads(out)} == {0}
    code, _, err = run("model", "measured", "prefill", "--pass", "7")
    assert code == 2
    assert "the trace has pass 0, or give all" in err


def test_kernels_of_several_devices_say_which(run):
    code, out, err = run("model", "kernels", "two", "--format", "markdown")
    assert code == 0, err
    head, _, *rows = out.splitlines()
    assert head.startswith("| device |")
    assert sorted(row.split("|")[1].strip() for row in rows) == ["0", "1"]
    assert not run("model", "kernels", "long", "--format", "markdown")[1].startswith("| device |")


def test_the_pass_shown_is_the_one_chosen_of_its_stage(run):
    err = run("layers", "npu")[2]
    assert "pass 0 of 4, the one chosen of prefill (of decode 2); --pass P or --pass all for others." in err


def test_the_span_of_a_pass_is_of_its_layers_and_its_wall_has_what_is_around_them(run, lake):
    """By the trace: an embedding of one kernel comes before the layers, a norm, a head and a choice after them."""
    [row] = json.loads(run("passes", "prefill", "--format", "json")[1])
    with Lake(lake) as opened:
        [(first, last, start, end)] = opened.rows(
            "SELECT min(start_ns) FILTER (layer_id IS NOT NULL), max(end_ns) FILTER (layer_id IS NOT NULL), "
            "min(start_ns), max(end_ns) FROM kernels LEFT JOIN layer_kernels USING (trace_id, kernel_id, start_ns, "
            "end_ns) WHERE trace_id = $1",
            [opened.resolve("prefill")],
        )
    assert row["span_us"] == (last - first) / 1000
    answer = json.loads(run("model", "mfu", "prefill", "--format", "json")[1])
    [wall] = [one["time_us"] for one in answer["passes"] if one["time_basis"] == "wall"]
    assert wall == (end - start) / 1000 > row["span_us"]
    assert "with those before its first layer and after its last one" in run("model", "mfu", "prefill")[1]


def test_models_are_listed_with_the_count_that_is_compared(run):
    """By hand: Qwen3-8B's 7,568,097,280 with a table of 151,936 x 4,096 are 8.19 billion; published are 8.2."""
    found = {row["model"]: row for row in json.loads(run("model", "list", "--format", "json")[1])}
    row = found["qwen3-8b"]
    assert (row["active_b"], row["active_with_embedding_b"]) == (7.57, 8.19)
    for row in found.values():
        if row["agrees"]:
            counts = (row["active_b"], row["active_with_embedding_b"])
            assert min(abs(count / row["published_active_b"] - 1) for count in counts) <= 0.051
    lines = dict(
        re.findall(
            r"^\| (\w+) \| (.*?) \|$", run("model", "show", "deepseek-v3", "--format", "markdown")[1], re.MULTILINE
        )
    )
    assert (lines["active_b"], lines["active_with_embedding_b"], lines["difference_pct"]) == ("36.62", "37.55", "-1.01")
    assert not [value for name, value in lines.items() if re.search(r"\.\d{7}", value) and name != "source"]


def test_a_page_shows_short_names_and_json_whole_ones(run):
    found = json.loads(run("summary", "long", "--format", "json")[1])
    assert {row["payload_name"] for row in found["gaps"]["rows"]} == {_LONG, _LONGER}
    page = run("summary", "long")[1]
    tables = [line for line in page.splitlines() if line.startswith("|")]
    assert not [line for line in tables if "at::native" in line or _LONGER in line]
    # Markdown takes no tag from a name.
    assert any(line.startswith(r"| vectorized_elementwise_kernel<4, FillFunctor\<float>") for line in tables)
    assert any(line.startswith(f"| {_LONGER[:97]}... |") for line in tables)
    [regions] = [line for line in tables if line.startswith("| (unattributed) |  | 2 |")]
    assert len(regions) < 300
    assert _LONGER[:97] + "..." in regions


def test_a_report_knows_a_published_model(run):
    run("set", "prefill", "model=llama-3-8b", "hardware=h100")
    page = run("report", "prefill")[1]
    model = page.partition("## 2. Model")[2].partition("## 3.")[0]
    assert "Unknown" not in model
    assert "| Layers | 32 |" in model
    assert "| Hidden size, heads | 4096, 32 query, 8 key/value, head size 128 |" in model
    assert "| Layer types | gqa+dense 32, by its dimensions |" in model
    assert "| Layers of the model | 32 |" in page
    assert "no config has their types" not in page


def test_a_file_written_has_the_text_of_stdout(run, tmp_path):
    assert run("summary", "two", "-o", tmp_path / "s.md")[0] == 0
    assert (tmp_path / "s.md").read_text().startswith("# Profile summary: two")
    assert run("perfetto", "prefill", "--pass", "0", "-o", tmp_path / "p.json.gz")[0] == 0
    assert json.loads(gzip.decompress((tmp_path / "p.json.gz").read_bytes()))["traceEvents"]
    code, _, err = run("extract", "npu", "--pass", "0", "-o", tmp_path)
    assert code == 2
    assert "is a directory" in err


@pytest.mark.parametrize("format_", ["json", "jsonl"])
def test_columns_of_one_name_are_keys_of_their_own(run, format_):
    code, out, _ = run("sql", "SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS A, 5 AS a", "--format", format_)
    assert code == 0
    assert json.loads(out.strip("[]\n")) == {"a": 1, "a_2": 2, "a_1": 3, "A": 4, "a_3": 5}


def test_a_terminal_does_not_obey_what_is_in_a_name(run, tmp_path):
    asked = "SELECT kernels.name FROM kernels JOIN traces USING (trace_id) WHERE trace = 'odd'"
    event = _kernel("gemm\x1b[31m\x07\nred", 0, 10)
    (tmp_path / "odd.json").write_bytes(trace_bytes([event]))
    assert run("ingest", tmp_path / "odd.json", "--set", "note=\x1b]0;title\x07")[0] == 0
    # In Markdown a backslash is written as two.
    for words, shown in (
        (("sql", asked), r"gemm\x1b[31m\x07"),
        (("sql", asked, "--format", "markdown"), r"gemm\\x1b[31m\\x07"),
    ):
        code, out, _ = run(*words)
        assert code == 0
        assert shown in out
        assert "\x1b" not in out
        assert "\x07" not in out
    code, _, err = run("layers", "no\x1b[2Jsuch")
    assert code == 2
    assert r"no\x1b[2Jsuch" in err
    # For programs the name is what it is.
    assert json.loads(run("sql", asked, "--format", "json")[1]) == [{"name": event["name"]}]


def test_a_relation_s_tree_names_what_it_rests_on_once(run):
    code, out, _ = run("schema", "layers", "--tree")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "layers (stored)"
    # Deeper by one relation, a step further right.
    depths = [(len(line) - len(line.lstrip())) // 2 for line in lines]
    assert all(after <= before + 1 for before, after in itertools.pairwise(depths))
    names = [line.strip() for line in lines]
    assert "_layer_spans (stored)" in names
    assert {"events", "traces"} <= {name.split()[0] for name in names}
    opened = [name.split()[0] for name, depth, after in zip(names, depths, depths[1:], strict=False) if after > depth]
    assert len(opened) == len(set(opened))


def test_a_relation_is_described_with_its_key(run):
    code, out, _ = run("schema", "layers")
    assert code == 0
    assert "\nKey: trace_id, device, pass_id, layer_id\n" in out
