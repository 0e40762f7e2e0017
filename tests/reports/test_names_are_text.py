"""Names are text in every output: a terminal, a browser and a spreadsheet show them and obey nothing in them."""

import csv
import html.parser
import io
import json
import re

import click
import pytest
from click.testing import CliRunner

from tracelake.cli import cli
from tracelake.engine import text
from tracelake.engine.text import cell, json_text, markdown, markdown_prose, printable
from tracelake.lake import Lake
from tracelake.synthetic.steps import RECORDED_NS, Work, write_steps

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![](http://evil.example/x.png)",
    "[click](javascript:alert(1))", "<javascript:alert(1)>", "a|b", "\\|a", "`code`", "``` \n x", "\x1b]0;title\x07",
    "\x1b[31mred", "\x9b31m", "\u202eevil\u2066", "a\u200bb", "\ufeffx", "line\u2028two", "=cmd|' /C calc'!A0", "+1+1",
    "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1+1", "a\\", "&lt;b&gt;", "**bold** _it_ ~~x~~", "[a]: http://evil.example",
    "]\\(http://x)", "\\<script>", "\ud800",
]  # fmt: skip
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


@pytest.mark.parametrize("name", HOSTILE)
def test_people_see_every_character_and_no_terminal_obeys_one(name):
    assert not ACTS.search(printable(name))
    assert not ACTS.search(markdown(name))
    assert not ACTS.search(cell(name, spreadsheet=False))


def test_what_is_spelled_out_says_which_character_it_was_and_letters_stay():
    assert printable("a\x1bb\x9b\u202ec\U000e0041") == r"a\x1bb\x9b\u202ec\U000e0041"
    assert printable("läng kernel<float>, 名前\ttab\n") == "läng kernel<float>, 名前\ttab\n"


@pytest.mark.parametrize("name", HOSTILE)
def test_json_holds_the_same_name_with_nothing_that_acts(name):
    written = json_text(json.dumps({"name": name}, ensure_ascii=False))
    assert not ACTS.search(written)
    assert json.loads(written) == {"name": name}


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)


def rendered(line: str) -> str:
    """What is left of Markdown for a browser: characters behind a backslash are text."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", lambda found: f"&#{ord(found[1])};", line)


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_makes_no_tag_link_picture_code_stress_or_column_of_a_name(name):
    line = markdown(name)
    left = rendered(line)
    tags = Tags()
    tags.feed(left)
    assert tags.found == []
    assert "\n" not in line
    assert not re.search(r"\]\s*[(\[:]|<[A-Za-z/!?]|[`|*]", left)
    # And it is the same name: what Markdown shows is what was there.
    assert re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), left) == re.sub(r"[\n\t]", " ", printable(name))


@pytest.mark.parametrize("name", HOSTILE)
def test_words_of_ours_that_hold_a_name_make_no_tag_or_link_of_it(name):
    prose = markdown_prose(f"The busiest is `tracelake` and **{name}**.")
    left = rendered(prose)
    assert not re.search(r"\]\s*[(\[]|<[A-Za-z/!?]", left)


@pytest.mark.parametrize("name", ["=1+1", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1", "-", "=", "-inf+1"])
def test_a_cell_cannot_run_in_a_spreadsheet(name):
    assert cell(name, spreadsheet=True) == "'" + printable(name)
    assert cell(name, spreadsheet=False) == printable(name)


@pytest.mark.parametrize("number", ["-1.5", "+2", "-3e-7", "-0", "-inf"])
def test_a_number_stays_a_number(number):
    assert cell(number, spreadsheet=True) == number


def test_sql_and_python_agree_on_what_is_not_for_csv(tmp_path):
    names = [name for name in HOSTILE if name != "\ud800"] + ["plain", "a=b", "läng", "a-b", "1 + 1"]
    with Lake(tmp_path / "lake") as lake:
        query = f"SELECT {text.unsafe_in_csv('name')} FROM (SELECT unnest($names) AS name)"
        found = [bool(unsafe) for (unsafe,) in lake.sql(query, names=names).fetchall()]
    assert found == [cell(name, spreadsheet=True) != name for name in names]


@pytest.fixture(scope="module")
def hostile_lake(tmp_path_factory):
    """A trace whose kernels, and whose own name, are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    names = [name for name in HOSTILE if name != "\ud800"]
    events = [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10 * nth, "dur": 5,
         "args": {"device": 0, "stream": 7, "correlation": nth}}
        for nth, name in enumerate(names)
    ]  # fmt: skip
    trace = folder / "x.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": events}))
    with Lake(folder / "lake") as lake:
        lake.ingest(trace, trace="<script>[x](http://e)\x1b]0;t\x07")
    return folder, names


def ran(folder, *words):
    ended = CliRunner().invoke(cli, ["--lake", str(folder / "lake"), *words])
    assert ended.exit_code == 0, ended.output
    return ended.stdout


QUERY = "SELECT name, start_ns - 5 AS n FROM kernels ORDER BY start_ns"


@pytest.mark.parametrize("format_", ["table", "csv", "json", "jsonl", "markdown"])
def test_no_format_lets_a_name_through_that_acts(hostile_lake, format_):
    assert not ACTS.search(ran(hostile_lake[0], "sql", QUERY, "--format", format_).replace("\r\n", "\n"))


def test_csv_is_safe_in_a_file_and_exact_on_stdout_unless_asked(hostile_lake):
    folder, names = hostile_lake
    target = folder / "answer.csv"

    def read(content):
        return list(csv.reader(io.StringIO(content, newline="")))[1:]

    plain = [printable(name) for name in names]
    safe = [cell(name, spreadsheet=True) for name in names]
    assert plain != safe
    assert [row[0] for row in read(ran(folder, "sql", QUERY, "--format", "csv"))] == plain
    assert [row[0] for row in read(ran(folder, "sql", QUERY, "--format", "csv", "--spreadsheet"))] == safe
    ran(folder, "sql", QUERY, "--format", "csv", "-o", str(target))
    rows = read(target.read_text(encoding="utf-8"))
    assert [row[0] for row in rows] == safe
    assert rows[0][1] == "-5"
    ran(folder, "sql", QUERY, "--format", "csv", "-o", str(target), "--no-spreadsheet")
    assert [row[0] for row in read(target.read_text(encoding="utf-8"))] == plain
    ran(folder, "export", "kernels", "--format", "csv", "-o", str(folder / "out"))
    with (folder / "out" / "kernels.csv").open(encoding="utf-8", newline="") as file:
        assert sorted(row["name"] for row in csv.DictReader(file)) == sorted(safe)


def test_a_column_is_text_too(hostile_lake):
    out = ran(hostile_lake[0], "sql", 'SELECT 1 AS "[red]\x1b[31m", 2 AS "=1+1"', "--format", "csv", "--spreadsheet")
    assert out.splitlines()[0] == r"[red]\x1b[31m,'=1+1"
    assert "[red]\\x1b[31m" in ran(hostile_lake[0], "sql", 'SELECT 1 AS "[red]\x1b[31m"')


def test_a_report_says_the_name_of_its_trace_and_does_not_run_it(hostile_lake):
    folder, _ = hostile_lake
    [trace] = [line["trace_id"] for line in json.loads(ran(folder, "traces", "--format", "json"))]
    page = ran(folder, "report", trace)
    assert page.startswith("# \\<script>[x]\\(http://e)\\\\x1b]0;t\\\\x07\n")
    assert not ACTS.search(page)
    tags = Tags()
    tags.feed(rendered(page))
    assert tags.found == []


@pytest.mark.parametrize("words", [["report", "TRACE"], ["report", "--lake"]])
def test_a_page_shows_names_and_runs_none(hostile_lake, tmp_path, words):
    folder, _ = hostile_lake
    [trace] = [line["trace_id"] for line in json.loads(ran(folder, "traces", "--format", "json"))]
    ran(folder, *(trace if word == "TRACE" else word for word in words), "-o", str(tmp_path / "x.html"))
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    # The charts' own library has such characters, and tags, in its strings.
    ours = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not ACTS.search(ours)
    tags = Tags()
    tags.feed(ours)
    assert not {"img", "script", "b", "javascript:alert(1)"} & set(tags.found)
    assert "&lt;script&gt;[x](http://e)" in ours
    if "TRACE" in words:
        [specs] = re.findall(r"<script>const charts = (.*?);</script>", page, flags=re.DOTALL)
        shown = {bar["label"] for bar in json.loads(specs)["time_line"]["data"]["values"]}
        assert {HOSTILE[0], printable(HOSTILE[9])} <= shown
        assert not any(ACTS.search(label) for label in shown)
        assert "<" not in specs


@pytest.fixture(scope="module")
def hostile_pages(tmp_path_factory):
    """Pages of two traces whose kernels, operators, modules, names and run are hostile."""
    folder = tmp_path_factory.mktemp("hostile-pages")
    run, names = "<script>run</script>", [name for name in HOSTILE if name != "\ud800"]
    with Lake(folder / "lake", stored=False) as lake:
        for rank in range(2):
            step = [Work(name, name, name, 5 + rank) for name in names]
            write_steps(folder / f"{rank}.json", step, steps=2, start_ns=RECORDED_NS + rank)
            lake.ingest(
                folder / f"{rank}.json", trace=f"<img src=x onerror=alert({rank})>\x1b]0;t\x07", rank=rank, run=run
            )
        one, other = (trace_id for (trace_id,) in lake.rows("SELECT trace_id FROM traces ORDER BY rank"))
        lake.set(one, night="<b>one</b>\x1b[31m")
        lake.set(other, night="<b>two</b>")
        answers = {
            "compare": lake.compare_sides(by="night"), "history": lake.history("step_ms", by="night"),
            "ranks": lake.ranks(run),
        }  # fmt: skip
        return {name: lake.write_page(answer, folder / "x.html") for name, answer in answers.items()}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("compare", "&lt;b&gt;two&lt;/b&gt; beside &lt;b&gt;one&lt;/b&gt;\\x1b[31m"),
        ("history", "&lt;b&gt;one&lt;/b&gt;"),
        ("ranks", "&lt;script&gt;run&lt;/script&gt;"),
    ],
)  # fmt: skip
def test_a_page_of_several_traces_shows_names_and_runs_none(hostile_pages, name, shown):
    ours = re.sub(r"<script>.*?</script>", "", hostile_pages[name], flags=re.DOTALL)
    assert not ACTS.search(ours)
    tags = Tags()
    tags.feed(ours)
    assert not {"img", "script", "b", "javascript:alert(1)"} & set(tags.found)
    assert shown in ours
    [specs] = re.findall(r"<script>const charts = (.*?);</script>", hostile_pages[name], flags=re.DOTALL)
    assert "<" not in specs
    assert not ACTS.search("".join(_texts(json.loads(specs))))


def _texts(part):
    """Yield the texts of a chart's specification."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for item in part.values() if isinstance(part, dict) else part:
            yield from _texts(item)


def test_messages_spell_out_names(tmp_path):
    bad = tmp_path / "a\x1b[31m\u202e.json"
    bad.write_text("nonsense")
    ended = CliRunner().invoke(cli, ["--lake", str(tmp_path / "lake"), "ingest", str(bad)])
    assert ended.exit_code != 0
    assert r"a\x1b[31m\u202e.json" in ended.stderr
    assert not ACTS.search(ended.stderr)
    assert isinstance(cli, click.Group)
