"""The site: every page is in its navigation, its flow charts are drawn, and no page loads anything from elsewhere."""

import html
import importlib.util
import itertools
import re

import pytest

from tracelake.docs import graphs, terminal, website

from ..support import ROOT


def test_every_page_of_the_documentation_is_in_the_navigation():
    listed = list(website.pages(website.navigation()))
    assert len(listed) == len(set(listed))
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    notebooks = {
        path.relative_to(ROOT / "docs").with_suffix(".md").as_posix() for path in (ROOT / "docs").rglob("*.ipynb")
    }
    assert set(listed) == written | notebooks | {"readme.md", "contributing.md", "gallery/index.md"}


def test_a_flow_chart_is_drawn_with_every_node_right_of_what_leads_to_it_and_none_on_another():
    lines = [
        "flowchart LR", '  file(["a file"]) -->|"read"| a[("x <br>key")]', "  a & b --> c", '  c --> d[["stored"]]',
        "  a --> d",
    ]  # fmt: skip
    graph = graphs.parsed(lines)
    assert graph.edges == [("file", "a", "read"), ("a", "c", ""), ("b", "c", ""), ("c", "d", ""), ("a", "d", "")]
    drawn = graphs.drawn(lines, lambda name: "#d" if name == "d" else None)
    box = r'<rect class="\w+" x="(.+?)" y="(.+?)" width="(.+?)" height="(.+?)" rx="\d+"/><text class="name"[^>]*>(.+?)<'
    boxes = {name: tuple(map(float, found)) for *found, name in re.findall(box, drawn)}
    names = {"file": "a file", "a": "x ", "b": "b", "c": "c", "d": "stored"}
    assert set(boxes) == set(names.values())
    for before, after, _ in graph.edges:
        assert boxes[names[before]][0] + boxes[names[before]][2] < boxes[names[after]][0]
    for (x, y, width, height), (x2, y2, width2, height2) in itertools.combinations(boxes.values(), 2):
        assert x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y
    assert drawn.count('<path class="edge"') == len(graph.edges)
    assert re.search(r'<a href="#d"><rect class="stored"', drawn)
    with pytest.raises(ValueError, match="not a node"):
        graphs.parsed(["flowchart LR", "  a --> ?"])


def test_what_a_page_loads_from_elsewhere_is_found_and_where_it_leads_is_not(tmp_path):
    (tmp_path / "page.html").write_text(
        '<a href="https://example.com">there</a><link rel="canonical" href="https://example.com/"><img src="own.png">'
        '<script>"<img src=https://no.example>"</script><script src="//cdn.example/a.js"></script>'
        '<iframe srcdoc="&lt;img src=&quot;https://img.example/b.png&quot;&gt;"></iframe>'
    )
    (tmp_path / "page.css").write_text("@import 'https://fonts.example/c'; a { background: url(data:x) }")
    assert website.loaded_from_elsewhere(tmp_path) == [
        "page.css: https://fonts.example/c", "page.html: //cdn.example/a.js", "page.html: https://img.example/b.png",
    ]  # fmt: skip


@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="needs zensical: the extra [site]")
def test_the_site_builds_with_every_page_its_search_and_no_dead_link(tmp_path):
    # Whole, it runs the demo and the notebook, which have tests of their own.
    website.build(quick=True, site=tmp_path / "site")
    built = {path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*")}
    assert {page.replace(".md", ".html") for page in website.pages(website.navigation())} <= built
    assert {"search.js", "site/worker.js", "site/site.css", "images/first_answer.svg"} <= built
    page = (tmp_path / "site" / "reference" / "sql" / "layers.html").read_text(encoding="utf-8")
    assert "../../site/worker.js" in page
    assert re.search(r'<svg class="graph".*<a href="#passes">', page, re.DOTALL)
    assert "flowchart LR" not in page
    assert "source/sql/layers/layers/layers.sql.txt" in built


def test_the_picture_of_the_readme_shows_what_the_command_answers():
    texts = re.findall(r"<text [^>]*>([^<]*)</text>", terminal.PICTURE.read_text(encoding="utf-8"))
    seen = "".join(html.unescape(text).replace("\xa0", " ") for text in texts)
    shown = re.sub(r"\x1b\[\d*m", "", terminal.answer())
    # Where a line is broken, or spaces are left out, is the picture's own.
    assert re.sub(r"\s", "", shown) in re.sub(r"\s", "", seen), "not up to date; run: make docs"
    assert "http://www.w3.org/2000/svg" in (text := terminal.PICTURE.read_text(encoding="utf-8"))
    assert re.findall(r"url\((?!#)|@import|href=", text) == []
