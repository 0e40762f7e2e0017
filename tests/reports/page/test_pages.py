"""Pages: one file each that needs no network, and whatever can be told of how it looks."""

import re
import shutil

import pytest

from tracelake.engine.errors import UsageError
from tracelake.lake import Lake
from tracelake.reports.output.table import Column, Table, text
from tracelake.reports.page.page import coded
from tracelake.reports.page.tables import aligned_cells

from ...lakes import ingest_at_once
from ...launching import Trace
from ...support import ROOT, data_files
from .parts import CHROMIUM, assert_stands_alone, charts_of, drawn_by_a_browser, parts_of

SECTIONS = ["time", "layers", "parts", "roofline", "idle", "collectives", "findings", "trust"]
TRACES = data_files(
    "kineto/vllm_gpt-oss_prefill*", "kineto/deepseek*", "jax/*.gz", "ascend/synthetic/forward_passes.csv",
    "kineto/hta_cpu_only*",
)  # fmt: skip


@pytest.mark.parametrize("name", TRACES)
def test_a_page_has_its_sections_and_fetches_nothing(real_lake, name, tmp_path):
    lake = real_lake(name)
    [(trace,)] = lake.rows("SELECT trace_id FROM traces")
    page = lake.report(trace, tmp_path / "t.html")
    assert page == (tmp_path / "t.html").read_text(encoding="utf-8")
    assert_stands_alone(page, SECTIONS)


@pytest.mark.parametrize("name", data_files("ascend/synthetic/forward_passes.csv"))
def test_a_trace_without_host_and_sizes_shows_what_was_waited_for_and_what_of_collectives_is_exposed(
    real_lake, name, tmp_path
):
    lake = real_lake(name)
    [(trace,)] = lake.rows("SELECT trace_id FROM traces")
    charts = charts_of(lake.report(trace, tmp_path / "t.html"))

    def total(chart, **of):
        rows = charts[chart]["data"]["values"]
        return sum(row.get("us", row.get("idle_us")) for row in rows if of.items() <= row.items())

    # By the rules of the profiler's step_trace_time.csv: communication not overlapped, and free.
    assert total("exposed", part="exposed") == pytest.approx(520)
    assert total("exposed", part="hidden") == 0
    assert 0 < total("idle_before") <= 15211
    assert "collectives" not in charts


def test_numbers_of_a_column_have_as_many_decimals_each_and_what_is_typed_looks_like_it():
    rows = ((1.5, 2, "1.5"), (12.25, 30, "`x` <b>"), (None, 4, ""))
    columns = (Column("us"), Column("calls"), text("words"))
    assert aligned_cells(Table(columns, rows)) == [["1.50", "2", "1.5"], ["12.25", "30", "`x` <b>"], ["", "4", ""]]
    assert aligned_cells(Table(columns, ())) == []
    assert coded("see `x <b>`") == "see <code>x &lt;b&gt;</code>"


def test_the_page_of_a_lake_leads_to_the_pages_beside_it(s1_lake, tmp_path):
    assert parts_of(s1_lake.index(tmp_path / "index.html")).links == ["#traces"]
    s1_lake.report("s1", tmp_path / "s1.html")
    assert parts_of(s1_lake.index(tmp_path / "index.html")).links == ["#traces", "./s1.html"]
    with pytest.raises(UsageError, match=r"\.html"):
        s1_lake.index(tmp_path / "index.md")


def test_of_traces_with_one_name_only_those_with_a_page_by_their_id_are_linked(tmp_path):
    files = {}
    for nth, name in enumerate(("rank0", "rank0", "rank0", "alone")):
        (tmp_path / str(nth)).mkdir()
        files[Trace().run(0, 10 + nth, -5).write(tmp_path / str(nth) / f"{name}.json")] = {}
    with Lake(tmp_path / "lake", stored=False) as lake:
        ids = sorted(ingest_at_once(lake, files)[:3])
        # Whose page rank0.html is, its name does not say.
        for name in ("rank0", ids[1], "alone"):
            (tmp_path / f"{name}.html").write_text("")
        page = lake.index(tmp_path / "index.html")
    assert sorted(parts_of(page).links) == ["#traces", f"./{ids[1]}.html", "./alone.html"]
    hints = re.findall("tracelake report (\\S+) -o (\\S+?)<", page)
    assert sorted(hints) == [(one, f"{one}.html") for one in (ids[0], ids[2])]


@pytest.fixture(scope="module")
def pages(s1_lake_folder, fleet, tmp_path_factory):
    """A folder with a page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    with Lake(shutil.copytree(s1_lake_folder, folder / "lake"), stored=True) as lake:
        lake.report("s1", folder / "trace.html")
        lake.index(folder / "index.html")
    for name, answer in fleet.answers().items():
        fleet.lake.write_page(answer(), folder / f"{name}.html")
    return folder


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, to look at pages")
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_draws_every_chart_without_errors_overlaps_or_a_page_wider_than_the_screen(pages, width, scheme):
    names = sorted(path.name for path in pages.glob("*.html") if path.name != "frame.html")
    assert len(names) == 6
    measured, said = drawn_by_a_browser(pages, names, width, scheme)
    assert said == []
    for name, found in measured.items():
        assert found["scroll"] <= width, name
        assert found["drawn"] == found["charts"], name
        assert found["overlaps"] == 0, name
        # On paper no fold is closed; afterwards those are again that were.
        closed, on_paper, after = found["folds"]
        assert (on_paper, after) == (0, closed), name
    assert sum(found["folds"][0] for found in measured.values()) > 15
    assert sum(found["drawn"] for found in measured.values()) > 15


def _luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("sheet", ["page/templates/page.css", "model/templates/report.css"])
@pytest.mark.parametrize("scheme", [0, 1])
def test_words_can_be_read_on_their_paper_in_light_and_dark(sheet, scheme):
    # WCAG 2.1, AA: 4.5 to 1.
    roots = re.findall(r":root \{(.*?)\}", (ROOT / "reports" / sheet).read_text(encoding="utf-8"), flags=re.DOTALL)
    colours = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", roots[scheme]))
    for words in {"ink", "faint", "mark", "bad", "warn", "good"} & set(colours):
        for paper in ("paper", "tint"):
            low, high = sorted((_luminance(colours[words]), _luminance(colours[paper])))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (words, paper)
