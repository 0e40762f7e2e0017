"""The command line: answers on stdout, everything else on stderr, an exit code that says how it went."""

import csv
import functools
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tracelake.cli import cli
from tracelake.engine.sql import modules
from tracelake.lake import Lake
from tracelake.synthetic.gpu import gpu_config, gpu_trace, write_gpu
from tracelake.synthetic.npu import write_npu
from tracelake.synthetic.prefill import write_prefill
from tracelake.synthetic.ranks import Rank, write_ranks

from ..support import run_cli, trace_bytes


def _commands(group, words=()):
    """Return every command below a group with the words that call it."""
    for word, command in sorted(group.commands.items()):
        yield " ".join((*words, word)), command
        if isinstance(command, click.Group):
            yield from _commands(command, (*words, word))


COMMANDS = {"tracelake": cli, **dict(_commands(cli))}
EXAMPLES = [
    (name, line.strip())
    for name, command in COMMANDS.items()
    for line in (command.help or "").partition("Examples:")[2].splitlines()
    if line.strip().startswith("tracelake ")
]


@pytest.fixture(scope="session")
def playground_of_files(tmp_path_factory):
    """A folder with every file and trace that the examples name."""
    folder = tmp_path_factory.mktemp("playground")
    write_gpu(folder / "decode.json.gz")
    (folder / "config.json").write_text(json.dumps(gpu_config()))
    (folder / "budgets.toml").write_text(
        '[[budget]]\nname = "a"\nsentence = "Steps stay short."\nthreshold = 1e9\n'
        'query = "SELECT after_ns AS value FROM comparisons"\n'
    )
    (folder / "question.sql").write_text("SELECT count(*) AS passes FROM passes")
    events = gpu_trace()["traceEvents"]
    for nth, name in enumerate(("rank0.json.gz", "rank1.json.gz", "trace.json.gz", "9b02.json", "7cf3.json")):
        (folder / name).write_bytes(trace_bytes(events[: 400 + nth]))
    call = {"ph": "X", "cat": "analytic", "name": "aten.mm.default", "pid": 1, "tid": 1, "ts": 0, "dur": 24,
            "args": {"kernel_type": "MatMulV2", "source": "MEASURED"}}  # fmt: skip
    (folder / "simulated.json").write_bytes(trace_bytes([call]))
    write_npu(folder / "kernel_details.csv")
    write_prefill(folder / "prefill.json.gz")
    lake = Lake(folder / "tracelake")
    # Their answers are computed at the end, of all traces at once.
    ingest = functools.partial(lake.ingest, events_only=True)
    ingest(folder / "decode.json.gz", model=folder / "config.json")
    ingest(folder / "prefill.json.gz", model="llama-3-8b")
    for nth, name in enumerate(("monday", "tuesday")):
        (folder / f"{name}.json").write_bytes(trace_bytes(events[: 690 + nth]))
    ingest(*(folder / f"{name}.json" for name in ("9b02", "7cf3", "monday", "tuesday")))
    (folder / "latencies" / "h100_sxm").mkdir(parents=True)
    product = {"gemm_dtype": ["bfloat16"], "m": [1024], "n": [1024], "k": [1024], "latency": [0.004]}
    pq.write_table(pa.table(product), folder / "latencies" / "h100_sxm" / "gemm_perf.parquet")
    (folder / "nightly").mkdir()
    ingest(*write_ranks(folder / "nightly", [Rank(), Rank(late_us=300)]), run="nightly-21")
    # The file's content is another than that of the trace of its name: a path is read, not looked up.
    (folder / "decode.json.gz").write_bytes(trace_bytes([*events, {**events[0], "name": "aten::end"}]))
    # In the lake, too, under other names: else every example that names such a file computes its answers.
    ingest(folder / "decode.json.gz", trace="decode-again")
    ingest(folder / "kernel_details.csv", trace="npu")
    # With all answers that are kept: else every example computes them anew.
    lake.prepare(" ".join(entry.name for entry in modules.modules() if entry.materialised))
    lake.close()
    return folder


@pytest.fixture
def playground(playground_of_files, tmp_path, monkeypatch):
    folder = tmp_path / "playground_of_files"
    shutil.copytree(playground_of_files, folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("TRACELAKE_LAKE", raising=False)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_of_the_command(name):
    words = [] if name == "tracelake" else name.split()
    ended = CliRunner().invoke(cli, [*words, "--help"])
    assert ended.exit_code == 0
    found = [line for command, line in EXAMPLES if command == name]
    assert len(found) >= 2
    assert all(line.split()[1 : 1 + len(words)] == words for line in found)
    if name != "tracelake":
        command = COMMANDS[name]
        assert (command.help or "").rstrip().endswith(found[-1])
        documented = {option for option in command.params if isinstance(option, click.Option)}
        assert all(option.help for option in documented if option.name != "format_")


@pytest.mark.parametrize(
    "line",
    [
        # The demo and the report have tests of their own.
        pytest.param(line, marks=pytest.mark.slow if re.match("tracelake (demo|model report)", line) else ())
        for line in dict.fromkeys(line for _, line in EXAMPLES)
        # A cluster is started by its own tests, and a server ended by its own.
        if "--ray" not in line and not line.startswith("tracelake mcp")
    ],
)
def test_an_example_of_the_help_runs_as_it_stands(playground, monkeypatch, line):
    monkeypatch.setenv("XDG_CACHE_HOME", str(playground / "cache"))
    if re.fullmatch(r"[\w ./,:=@+{}'\"-]+", line):
        ended = CliRunner().invoke(cli, shlex.split(line)[1:])
        assert (ended.exit_code, ended.exception) == (0, None), ended.output
        return
    # A shell expands patterns; the command is this interpreter's.
    shell = f'tracelake() {{ "{sys.executable}" -m tracelake "$@"; }}; {line}'
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr


def test_json_is_one_array_of_objects_and_jsonl_an_object_a_line(playground):
    ended = CliRunner().invoke(cli, ["kernels", "decode", "--format", "json"])
    rows = json.loads(ended.stdout)
    assert (len(rows), sum(row["dur_ns"] for row in rows)) == (695, 310_500_000)
    ended = CliRunner().invoke(cli, ["kernels", "decode", "--format", "jsonl"])
    assert [json.loads(line) for line in ended.stdout.splitlines()] == rows
    assert json.loads(CliRunner().invoke(cli, ["sql", "FROM kernels LIMIT 0", "--format", "json"]).stdout) == []


def test_csv_has_a_header_and_every_row_whatever_its_cells_hold(playground):
    ended = CliRunner().invoke(
        cli, ["sql", "SELECT 'a,\"b\"\nc' AS x, NULL AS y, 1.5 AS z FROM range(300)", "--format", "csv"]
    )
    header, *rows = csv.reader(io.StringIO(ended.stdout))
    assert header == ["x", "y", "z"]
    assert rows == [['a,"b"\nc', "", "1.5"]] * 300


def test_parquet_goes_to_a_file_or_to_a_pipe(playground):
    query = "SELECT kernel_id, dur_ns FROM kernels JOIN traces USING (trace_id) WHERE trace = 'decode'"
    assert CliRunner().invoke(cli, ["sql", query, "--format", "parquet", "-o", "out.parquet"]).exit_code == 0
    assert pq.read_table("out.parquet").num_rows == 695
    ended = CliRunner().invoke(cli, ["sql", query, "--format", "parquet"])
    assert pq.read_table(io.BytesIO(ended.stdout_bytes)).equals(pq.read_table("out.parquet"))


def test_sums_of_integers_keep_all_digits_in_parquet(playground):
    # 19 times 1700000006489462579: a DOUBLE has 53 bits, about 16 digits.
    query = (
        "SELECT sum(ns) AS ns, list(ns::HUGEINT) AS l, sum(ns) AS ns FROM (SELECT 1700000006489462579 AS ns FROM "
        "range(19)) -- twice"
    )
    assert CliRunner().invoke(cli, ["sql", query, "-o", "sums.parquet"]).exit_code == 0
    table = pq.read_table("sums.parquet")
    assert table.column_names == ["ns", "l", "ns_1"]
    assert table["ns"].to_pylist() == table["ns_1"].to_pylist() == [32300000123299789001]
    assert table["l"].to_pylist() == [[1700000006489462579] * 19]
    refused = CliRunner().invoke(cli, ["sql", f"SELECT {2**127 - 1}::HUGEINT AS h", "-o", "sums.parquet"])
    assert "more than 38 digits" in str(refused.exception)


def test_numbers_that_json_does_not_know_are_null(playground):
    query = (
        "SELECT 'nan'::DOUBLE AS x, 'inf'::DOUBLE AS y, DATE '2026-01-02' AS d, [1, NULL] AS l, {'a': 1} AS s, "
        "170141183460469231731687303715884105727::HUGEINT AS h"
    )
    ended = CliRunner().invoke(cli, ["sql", query, "--format", "json"])
    assert json.loads(ended.stdout, parse_constant=pytest.fail) == [
        {"x": None, "y": None, "d": "2026-01-02", "l": [1, None], "s": {"a": 1}, "h": 2**127 - 1}
    ]


@pytest.mark.parametrize("safety", ["--unsafe", "--format=table"])
@pytest.mark.parametrize("end", [";\n-- the end\n", "; /* c; */ ; -- é", " -- c", " -- b\n;"])
def test_a_query_may_end_with_semicolons_and_comments(playground, safety, end):
    query = f"SELECT ';é' AS a{end}"
    ended = CliRunner().invoke(cli, ["sql", query, safety])
    assert (ended.exit_code, ended.stdout.split()) == (0, ["a", "──", ";é"]), ended.output


def test_what_follows_an_unfinished_comment_is_not_left_out(playground):
    refused = CliRunner().invoke(cli, ["sql", "SELECT 1 AS a /* , 2 AS b"])
    assert "unterminated" in str(refused.exception)


def test_a_cut_table_says_so_on_stderr_and_limit_0_shows_all(playground):
    cut = CliRunner().invoke(cli, ["sql", "FROM range(12)", "--limit", "5"])
    assert "the first 5 rows; --limit 0 shows all" in cut.stderr
    assert "rows" not in cut.stdout
    assert len(cut.stdout.split()) == len(["range", "-----", 0, 1, 2, 3, 4])
    for all_ in ("0", "9" * 23):
        whole = CliRunner().invoke(cli, ["sql", "SELECT count(*) FROM kernels", "--limit", all_])
        assert (whole.exit_code, whole.stderr) == (0, "")
    whole = CliRunner().invoke(cli, ["sql", "FROM range(300)", "--limit", "0"])
    assert whole.stderr == ""
    assert whole.stdout.split()[-1] == "299"
    markdown = CliRunner().invoke(cli, ["sql", "FROM range(3)", "--format", "markdown"])
    assert markdown.stdout.splitlines() == ["| range |", "| ---: |", "| 0 |", "| 1 |", "| 2 |"]
    # Formats for machines are never cut.
    assert len(CliRunner().invoke(cli, ["sql", "FROM range(300)", "--format", "csv"]).stdout.splitlines()) == 301


def test_a_table_shows_names_as_they_are_even_where_they_look_like_markup(playground):
    ended = CliRunner().invoke(cli, ["sql", "SELECT '[bold]x[/]' AS name, 'f<1>(a|b)' AS other"])
    assert "[bold]x[/]" in ended.stdout
    assert "f<1>(a|b)" in ended.stdout


def test_an_answer_in_a_file_leaves_stdout_empty(playground):
    ended = CliRunner().invoke(cli, ["traces", "--format", "json", "-o", "traces.json"])
    assert ended.stdout == ""
    assert {row["trace"] for row in json.loads(Path("traces.json").read_text())} == {
        "decode", "decode-again", "prefill", "npu", "9b02", "7cf3", "monday", "tuesday", "rank0", "rank1",
    }  # fmt: skip
    refused = run_cli("traces", "-o", playground / "absent" / "traces.csv")
    assert (refused.returncode, "Traceback" in refused.stderr) == (3, False)
    assert "traces.csv: cannot be written" in refused.stderr


def test_exit_codes_tell_usage_from_input_from_a_failed_check(playground, call):
    (playground / "bad.json").write_text("no trace")
    (playground / "cpu.json").write_bytes(
        trace_bytes([{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}])
    )
    (playground / "whole.json").write_bytes(
        trace_bytes([{"ph": "X", "cat": "kernel", "name": "CUDA graph 4", "pid": 0, "tid": 7, "ts": 1, "dur": 1}])
    )
    for words, code, said in (
        (["traces"], 0, ""),
        (["layers", "nope"], 2, "nope: no such trace or file"),
        (["sql", "SELECT nope FROM kernels"], 2, "nope"),
        (["sql"], 2, "give a query"),
        (["sql", "SELECT 1", "-f", "question.sql"], 2, "give a query"),
        (["set", "decode", "tp"], 2, "expected KEY=VALUE"),
        (["set", "decode", "hardware=h9000"], 2, "h9000: unknown hardware"),
        (["layers", "decode", "--pass", "99"], 2, "the trace has passes 0 to 4"),
        (["kernels", "decode", "--layer", "-1"], 2, "--layer"),
        (["nonsense"], 2, "nonsense: no such command, file or trace"),
        (["--lake", "absent", "traces"], 2, "no lake in absent"),
        (["schema", "nope"], 2, "no such relation"),
        (["ingest", "bad.json"], 3, "bad.json: not a trace"),
        (["layers", "bad.json"], 3, "bad.json: not a trace"),
        (["layers", "cpu.json"], 1, "no passes found: the trace has no device operations. Details"),
        (["kernels", "cpu.json"], 1, "the trace has no device operations"),
        (["shapes", "cpu.json"], 1, "the trace has no device operations"),
        (["export", "kernels", "-o", "y.xlsx"], 2, "`tracelake sql 'FROM kernels' -o y.csv`"),
        (["ranks", "cpu.json"], 1, "no rank has device operations: nothing to compare"),
        (["ranks", "cpu.json", "--by", "step", "--format", "csv"], 1, "no rank has steps: nothing to compare"),
        (["passes", "whole.json"], 1, "100 % of the time of device operations is in CUDA graphs traced whole"),
        (["--version"], 0, ""),
    ):
        ended, out, err = call(*words)
        # A process that ends with None ends with 0.
        assert (words, ended or 0) == (words, code), err
        assert said in err
        assert "Traceback" not in err
        assert bool(out) == (code == 0)


def test_one_bad_file_among_good_ones_is_told_and_ends_with_3(playground):
    (playground / "bad.json").write_text("no trace")
    ended = run_cli("ingest", "bad.json", "trace.json.gz", "9b02.json", cwd=playground)
    assert (ended.returncode, ended.stdout) == (3, "")
    first, second, third, last = ended.stderr.splitlines()
    assert first.startswith("tracelake: bad.json: not a trace: ")
    assert second.startswith("tracelake: trace.json.gz: trace (")
    assert third.endswith("in the lake already")
    assert last == "tracelake: 3 files: 1 new, 1 known already, 1 failed."


def test_standard_input_is_read_and_named(playground):
    data = (playground / "trace.json.gz").read_bytes()
    ended = subprocess.run(
        [sys.executable, "-m", "tracelake", "ingest", "-", "--name", "piped"],
        input=data,
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 0
    assert ended.stderr.decode().startswith("tracelake: standard input: piped (")
    [again] = Lake(playground / "tracelake").ingest(playground / "trace.json.gz")
    assert not again.new


def test_a_path_stands_for_a_trace_and_is_read_once_into_a_cache(playground, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_gpu(elsewhere / "mine.json.gz")
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    first = run_cli("layers", "mine.json.gz", "--format", "csv", cwd=elsewhere, env=environment)
    assert (first.returncode, len(first.stdout.splitlines())) == (0, 7)
    assert [path.name for path in elsewhere.iterdir()] == ["mine.json.gz"]
    [cached] = (tmp_path / "cache" / "tracelake").glob("lake-*/events/*")
    stamp = cached.stat().st_mtime_ns
    second = run_cli("layers", "mine.json.gz", "--format", "csv", cwd=elsewhere, env=environment)
    assert second.stdout == first.stdout
    assert cached.stat().st_mtime_ns == stamp


def test_settings_said_on_the_command_line_show_in_the_catalog(playground):
    invoke = CliRunner().invoke
    assert invoke(cli, ["set", "decode", "num_layers=36", "hardware=mi300x", "build=17"]).exit_code == 0
    assert invoke(cli, ["set", "decode", "trace=renamed"]).exit_code == 0
    rows = json.loads(
        invoke(
            cli,
            [
                "sql",
                "SELECT trace, num_layers, hardware, vendor FROM traces WHERE hardware = 'mi300x'",
                "--format",
                "json",
            ],
        ).stdout
    )
    assert rows == [{"trace": "renamed", "num_layers": 36, "hardware": "mi300x", "vendor": "amd"}]
    assert invoke(cli, ["set", "renamed", "hardware=", "build="]).exit_code == 0
    rows = json.loads(
        invoke(cli, ["sql", "SELECT key FROM tags WHERE key IN ('hardware', 'build')", "--format", "json"]).stdout
    )
    assert rows == []


def test_help_starts_without_the_heavy_libraries():
    code = (
        "import sys\nsys.argv = ['tracelake', *sys.argv[1:]]\nfrom tracelake.cli import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code, ended.code\n"
        "heavy = {'duckdb', 'polars', 'pyarrow', 'rich', 'pandas', 'numpy', 'sqlglot', 'altair', 'mcp', 'pydantic'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    for words in (["--help"], ["--version"], ["layers", "--help"], ["schema"]):
        ended = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
        assert ended.stderr == "loaded: []\n"
        assert ended.stdout


@pytest.mark.parametrize("format_", ["csv", "table", "jsonl", "parquet"])
def test_a_reader_that_goes_away_is_no_error(playground, format_):
    rows = 10_000 if format_ == "table" else 200_000
    command = f'"{sys.executable}" -m tracelake sql "FROM range({rows})" --limit 0 --format {format_}'
    shell = f'{command} | head -c 100 >/dev/null; echo "${{PIPESTATUS[0]}}"'
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.stdout, ended.stderr) == ("0\n", "")


def test_the_demo_runs_in_an_empty_folder_and_refuses_another(tmp_path):
    ended = run_cli("demo", "--keep", tmp_path / "kept")
    assert (ended.returncode, ended.stderr) == (0, "")
    lake = Lake(tmp_path / "kept" / "lake", create=False)
    assert lake.sql("SELECT trace, truncated FROM traces ORDER BY trace").fetchall() == [
        ("demo", False),
        ("demo_cut_short", True),
        ("prefill", False),
    ]
    again = run_cli("demo", "--keep", tmp_path / "kept")
    assert (again.returncode, again.stdout) == (2, "")
    assert "not an empty folder" in again.stderr
