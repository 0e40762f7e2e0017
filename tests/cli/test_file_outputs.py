"""Every command that writes a file writes names as text: the list is the command line's own, so a new one must join."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tracelake.cli import cli
from tracelake.engine.text import cell
from tracelake.lake import Lake
from tracelake.synthetic import prefill as synthetic_prefill
from tracelake.synthetic.gpu import gpu_trace

from ..ascend_captures import HEADER
from ..lakes import ingest_at_once
from ..reports.test_names_are_text import ACTS

FORMULA, CONTROL = "=cmd|' /C calc'!A0", "k\x1b[31m\u202e"
#: Words of each command that writes a file with what traces hold; {out} is the file.
COMMANDS = {
    ("traces",): "--format csv", ("sql",): "FROM§kernels --format csv", ("passes",): "s1 --format csv",
    ("layers",): "s1 --format csv", ("kernels",): "s1 --format csv", ("summary",): "s1 --format json",
    ("compare",): "s1 other --anyway --format csv", ("perfetto",): "s1 --format chrome", ("report",): "s1",
    ("extract",): "table --window whole", ("shapes",): "table", ("align",): "simulated table --format csv",
    ("model", "measured"): "prefill --format csv", ("model", "validate"): "prefill --format csv",
    ("model", "kernels"): "prefill --format csv", ("doctor",): "--format csv",
    ("export",): "kernels traces --format csv", ("check",): "@/budgets.toml --format csv",
    ("history",): "step_ms --by trace --format csv", ("ranks",): "s1 --format csv",
}  # fmt: skip
#: Commands whose files hold shipped names, and those that their user gave, alone.
OF_NO_TRACE = {
    ("model", "list"), ("model", "show"), ("model", "operators"), ("model", "roofline"), ("model", "sweep"),
    ("model", "report"), ("model", "mfu"), ("hardware", "list"),
}  # fmt: skip


def writers(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            yield from writers(part, (*path, name))
    elif any("-o" in option.opts for option in command.params):
        yield path


def test_the_list_of_commands_that_write_files_is_whole():
    assert set(writers(cli)) == set(COMMANDS) | OF_NO_TRACE


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Path:
    """A lake of traces with names that act: two Chrome traces, and a table of kernels."""
    folder = tmp_path_factory.mktemp("hostile")
    trace = gpu_trace()
    kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
    for event, name in zip(kernels[5:], (FORMULA, CONTROL) * 3, strict=False):
        event["name"] = name
    (folder / "s1.json").write_text(json.dumps(trace))
    (folder / "other.json").write_text(json.dumps(trace | {"traceName": CONTROL}))
    calls = [
        {"ph": "X", "cat": "analytic", "name": name, "pid": 1, "tid": 1, "ts": 1000 * nth, "dur": 53,
         "args": {"kernel_type": name, "source": "MEASURED", "simulation_shapes": "[[8, 8], [8, 8]]"}}
        for nth, name in enumerate((FORMULA, CONTROL))
    ]  # fmt: skip
    (folder / "simulated.json").write_text(json.dumps({"traceEvents": calls}))
    prefill = synthetic_prefill.prefill_trace()
    for event in prefill["traceEvents"]:
        if event.get("cat") == "kernel":
            event["name"] += CONTROL
    (folder / "prefill.json").write_text(json.dumps(prefill))
    (folder / "budgets.toml").write_text(
        '[[budget]]\nname = "=1+1"\nsentence = "@run"\nthreshold = 1\n'
        'query = "SELECT run AS item, 1 AS value FROM traces"'
    )
    (folder / "table").mkdir()
    rows = [
        f'0,{nth},2,"{name}","{name}",AI_CORE,{1000 + 10 * nth}.0,5.0,0,24,"""8,8;8,8""",DT_BF16;DT_BF16,'
        '"ND;ND","""8,8""",DT_BF16,ND'
        for nth, name in enumerate((FORMULA, CONTROL, "MatMul", "=1+1"))
    ]
    head = f"{HEADER},Input Formats,Output Shapes,Output Data Types,Output Formats"
    (folder / "table" / "kernel_details.csv").write_text("\n".join([head, *rows]) + "\n")
    with Lake(folder / "lake") as lake:
        settings = {
            "s1.json": {"trace": "s1"},
            "other.json": {"trace": "other", "run": FORMULA, "tag": CONTROL},
            "simulated.json": {"trace": "simulated"},
            "prefill.json": {"trace": "prefill", "model": synthetic_prefill.MODEL},
            "table/kernel_details.csv": {"trace": "table"},
        }
        ids = ingest_at_once(lake, {folder / path: given for path, given in settings.items()})
        assert len(set(ids)) == len(settings)
    return folder


def written(folder: Path, path: tuple[str, ...], *more: str) -> list[Path]:
    out = folder / ("-".join(path) + "".join(more))
    words = [word.replace("§", " ").replace("@", str(folder)) for word in COMMANDS[path].split()]
    is_folder = path in {("shapes",), ("export",)}
    target = out if is_folder else out.with_suffix(".md" if path == ("report",) else ".csv")
    ended = CliRunner().invoke(cli, ["--lake", str(folder / "lake"), *path, *words, "-o", str(target), *more])
    assert ended.exit_code in (0, 1), ended.output + repr(ended.exception)
    assert not isinstance(ended.exception, Exception), ended.exception
    return [file for file in out.parent.rglob(f"{out.name}*/*" if is_folder else f"{out.name}.*") if file.is_file()]


@pytest.mark.parametrize("path", COMMANDS)
def test_a_file_holds_no_name_that_acts_or_runs(hostile, path):
    files = written(hostile, path)
    assert files or path[0] == "model"
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not ACTS.search(text), file
        if file.suffix == ".csv" and not text.startswith(("{", "[")):
            cells = [value for row in csv.reader(io.StringIO(text, newline="")) for value in row]
            assert [value for value in cells if cell(value, spreadsheet=True) != value] == []


@pytest.mark.parametrize("path", [("extract",), ("shapes",), ("kernels",)])
def test_names_are_exact_where_no_spreadsheet_reads_them(hostile, path):
    text = "".join(file.read_text(encoding="utf-8") for file in written(hostile, path, "--no-spreadsheet"))
    assert FORMULA in text or path == ("shapes",)
    assert f"'{FORMULA}" not in text
    assert not ACTS.search(text)


def test_without_a_format_the_ending_of_the_file_decides(tmp_path):
    def written(name: str, *words: str) -> bytes:
        lake = ["--lake", str(tmp_path / "lake")]
        Lake(tmp_path / "lake").close()
        words = (*lake, "sql", "SELECT 1 AS a, 'x' AS b", "-o", str(tmp_path / name), *words)
        assert CliRunner().invoke(cli, words).exit_code == 0
        return (tmp_path / name).read_bytes()

    assert written("a.parquet")[:4] == written("b.PARQUET")[-4:] == b"PAR1"
    assert written("a.csv") == b"a,b\n1,x\n"
    assert json.loads(written("a.json")) == [json.loads(written("a.jsonl"))] == [{"a": 1, "b": "x"}]
    assert written("a.md").startswith(b"| a | b |")
    assert written("b.csv", "--format", "json") == written("a.json")
    assert written("b.csv", "--format", "table") == written("a.txt")


@pytest.mark.parametrize("name", ["a.arrow", "a.XLSX", "a.tsv", "a.csv.gz", "a.json.gz", "a.html", "a.pdf"])
def test_the_ending_of_a_format_that_there_is_not_is_refused_unless_a_format_is_given(tmp_path, name):
    Lake(tmp_path / "lake").close()
    words = ["--lake", str(tmp_path / "lake"), "sql", "SELECT 1 AS a", "-o", str(tmp_path / name)]
    refused = CliRunner().invoke(cli, words)
    assert refused.exit_code == 2
    assert "expected .csv, .json, .jsonl, .parquet, .md, .txt, or --format" in refused.output
    assert not (tmp_path / name).exists()
    assert CliRunner().invoke(cli, [*words, "--format", "csv"]).exit_code == 0


@pytest.mark.parametrize("command", ["compare a b", "ranks a", "history step_ms"])
def test_commands_that_write_a_page_keep_its_ending_and_refuse_others(tmp_path, command):
    Lake(tmp_path / "lake").close()

    def answered(name):
        words = ["--lake", str(tmp_path / "lake"), *command.split(), "-o", str(tmp_path / name)]
        return CliRunner().invoke(cli, words).output

    assert "expected .csv, .json, .jsonl, .parquet, .md, .html, .txt, or --format" in answered("a.csv.gz")
    assert "--format" not in answered("a.html")


@pytest.mark.parametrize(("words", "advice"), [
    ("--star -o x.csv", "Give a folder: -o x --format csv."),
    ("layers passes -o x.parquet", "Give a folder: -o x."),
    ("ops -o x.CSV", "Give a folder: -o x --format csv; or for one relation: `tracelake sql 'FROM ops' -o x.csv`."),
    ("passes -o x.tsv", "Give a folder: -o x; or for one relation: `tracelake sql 'FROM passes' -o x.csv`."),
])  # fmt: skip
def test_export_to_the_name_of_a_file_is_told_what_works(words, advice):
    refused = CliRunner().invoke(cli, ["export", *words.split()])
    assert str(refused.exception) == (f"{words.split()[-1]}: export writes a folder with a file per relation. {advice}")
