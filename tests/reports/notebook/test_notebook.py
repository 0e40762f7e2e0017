"""Notebooks: the one of the documentation runs, and what a lake shows there is text, whole, and asks for nothing."""

import html
import html.parser
import json
import re
from typing import Any

import duckdb
import pytest

from tracelake.docs import notebook
from tracelake.engine.errors import UsageError
from tracelake.engine.sql import modules
from tracelake.lake import Lake
from tracelake.reports.notebook import lake as notebook_lake
from tracelake.reports.notebook.answer import ROWS
from tracelake.reports.notebook.lake import ANSWERS
from tracelake.reports.trace import report as reports
from tracelake.synthetic.gpu import write_gpu
from tracelake.synthetic.prefill import MODEL, write_prefill


class Seen(html.parser.HTMLParser):
    """Tags and texts of a piece of HTML, and what a browser would fetch for it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.fetched, self.frames, self.widths = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.fetched += [found[key] for key in ("src", "href") if key in found and tag != "a"]
        self.frames += [found["srcdoc"]] if "srcdoc" in found else []
        self.widths += re.findall(r"width: ([\d.]+)%", found.get("style", "")) if tag == "span" else []

    def handle_data(self, data):
        self.texts.append(data.strip())


@pytest.fixture(scope="module", autouse=True)
def in_a_notebook():
    """Answers show themselves where IPython runs, and are plain elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebook_lake, "is_notebook", lambda: True)
        yield


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A trace of one layer type with shapes, and the made-up decode, whose layers 2 and 4 take 12240 us."""
    folder = tmp_path_factory.mktemp("notebook")
    write_prefill(folder / "prefill.json.gz")
    write_gpu(folder / "decode.json.gz")
    with Lake(folder / "lake") as opened:
        opened.ingest(folder / "prefill.json.gz", model=MODEL)
        opened.ingest(folder / "decode.json.gz")
        yield opened


def test_the_notebook_of_the_documentation_runs_and_shows_what_it_says():
    pytest.importorskip("nbclient", reason="needs nbclient and ipykernel, to run notebooks")
    pytest.importorskip("ipykernel")
    source = json.loads(notebook.NOTEBOOK.read_text(encoding="utf-8"))
    assert [cell["outputs"] for cell in source["cells"] if cell["cell_type"] == "code" and cell["outputs"]] == []
    cells = [cell for cell in notebook.executed() if cell["cell_type"] == "code"]
    last = [cell["outputs"][-1] for cell in cells]
    assert {output["output_type"] for output in last} == {"execute_result"}
    # stderr would be a warning, as that of missing widgets.
    assert [output for cell in cells for output in cell["outputs"] if output["output_type"] == "stream"] == []
    shown = [Seen(output["data"]["text/html"]) for output in last if "text/html" in output["data"]]
    assert len(shown) == len(last) - 1
    assert [seen.fetched for seen in shown if seen.fetched] == []
    assert "prefill" in shown[0].texts
    assert {"what", "step", "time", "first", "trust"} <= set(shown[1].texts)
    assert "dur_us" in shown[2].texts
    pages = [seen.frames for seen in shown if seen.frames]
    assert [len(frames) for frames in pages] == [1, 1, 1]
    for [page] in pages:
        assert "default-src 'none'" in page
        assert "vegaEmbed" in page


def test_a_table_has_the_columns_bars_and_meanings_that_the_terminal_has(lake):
    shown = lake["decode"].layers()._repr_html_()
    seen = Seen(shown)
    # The largest layer's bar is whole, by its share of 12240 us: 11400 / 12240 = 93.1 %.
    assert seen.widths == ["93.1", "93.1", "100.0", "94.0", "100.0", "94.0"]
    meaning = next(column.text for column in modules.module("layers").columns if column.name == "wall_us")
    assert f'title="{html.escape(meaning)}">wall_us</th>' in shown
    assert "Same in all rows: device 0, pass_id 3" in shown
    assert "trace_id" not in seen.texts


def test_a_long_answer_is_cut_with_a_count_and_names_in_it_are_text(lake):
    seen = Seen(
        lake.sql("SELECT range AS n, '<script>alert(1)</script>' || range AS \"<b>\" FROM range(1234)")._repr_html_()
    )
    assert seen.tags.count("tr") == ROWS + 1
    assert "The first 50 of 1,234 rows; .pl(), .df() and .fetchall() have all." in seen.texts
    assert "script" not in seen.tags
    assert "b" not in seen.tags
    assert "<script>alert(1)</script>49" in seen.texts


def test_an_answer_is_still_a_relation(lake):
    answer = lake.layers("decode")
    assert answer.columns[0] == "trace_id"
    assert len(answer) == len(answer.fetchall()) == 6
    assert answer.filter("layer_id = 2").select("wall_us").fetchall() == [(12240.0,)]
    assert answer.pl()["wall_us"].max() == 12240.0
    assert answer.union(answer).aggregate("count(*)").fetchall() == [(12,)]
    # What has the same columns is shown alike, what has not is shown whole.
    assert "trace_id" not in Seen(answer.limit(2)._repr_html_()).texts
    assert "Same in all rows: trace_id" in answer.select("trace_id, wall_us")._repr_html_()
    assert "No rows." in answer.filter("false")._repr_html_()


def test_every_method_that_answers_shows_its_answer():
    answering = {
        name for name, method in vars(Lake).items()
        if getattr(method, "__annotations__", {}).get("return") in ("Relation", "duckdb.DuckDBPyRelation")
    }  # fmt: skip
    assert answering
    assert answering - set(ANSWERS) == set()


def test_an_object_with_several_answers_shows_each_below_its_sentences(lake):
    found = lake.compare("prefill", "decode", anyway=True)
    seen = Seen(found._repr_html_())
    assert seen.tags.count("table") == sum(
        isinstance(value, duckdb.DuckDBPyRelation) and len(value) > 0 for value in vars(found._answer).values()
    )
    assert set(found.doubts) <= set(seen.texts)
    assert found.gate._repr_html_()


def test_one_trace_has_the_methods_of_the_lake_and_near_misses(lake):
    trace = lake["prefill"]
    assert trace.layers().fetchall() == lake.layers("prefill").fetchall()
    assert lake[trace.trace_id[:5]].trace_id == trace.trace_id
    assert {"layers", "report", "charts"} <= set(dir(trace))
    with pytest.raises(UsageError, match=r"prefil1: no such trace or file\. Near: prefill"):
        lake["prefil1"]
    with pytest.raises(AttributeError, match=r"no attribute 'layer'\. Near: layers"):
        trace.layer  # noqa: B018
    with pytest.raises(TypeError):
        iter(lake)
    assert UsageError("what: is it?\x1b[31m")._render_traceback_() == ["tracelake: what: is it?\\x1b[31m"]


def test_a_report_is_text_and_shows_itself_as_its_page(lake, monkeypatch):
    report = lake.report("decode", pass_id=2)
    assert report.startswith("# decode\n")
    # The page has tests of its own, and takes seconds.
    monkeypatch.setattr(reports, "as_page", lambda store, trace, pass_id: f"<head></head><h1>{trace} {pass_id}</h1>")
    [page] = Seen(report._repr_html_()).frames
    assert f"<h1>{lake.resolve('decode')} 2</h1>" in page
    assert "default-src 'none'" in page


def test_charts_are_those_of_the_page_as_altair_objects_and_say_why_there_is_none(lake):
    import altair

    charts = lake["prefill"].charts
    drawn: Any = charts.roofline()
    assert issubclass(type(drawn), altair.LayerChart)
    rows = drawn.to_dict()["layer"][1]["data"]["values"]
    [(kernels,)] = lake.rows(
        "SELECT count(*) FROM roofline_points JOIN traces USING (trace_id) WHERE trace = 'prefill'"
    )
    assert len(rows) == kernels > 0
    # Changed, it still shows itself without a network; another renderer is obeyed.
    [page] = Seen(drawn.properties(height=99)._repr_mimebundle_()["text/html"]).frames
    assert "default-src 'none'" in page
    assert '"height": 99' in page
    [page] = Seen(drawn.properties(title="</script><script>alert(1)")._repr_mimebundle_()["text/html"]).frames
    assert page.count("<script>") == page.count("</script>") == 2
    with altair.renderers.enable("json"):
        assert "application/json" in drawn._repr_mimebundle_()[0]
    with pytest.raises(UsageError, match="no chart of collectives: No collectives ran"):
        charts.collectives()


def test_elsewhere_an_answer_is_a_relation_and_a_text_a_text(lake, monkeypatch):
    monkeypatch.setattr(notebook_lake, "is_notebook", lambda: False)
    assert type(lake.layers("decode")) is duckdb.DuckDBPyRelation
    assert type(lake.summary("decode")) is str
