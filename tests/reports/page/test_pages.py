"""Pages: one file each that needs no network, and whatever can be told of how it looks."""

import html.parser
import json
import re
import shutil
import subprocess

import pytest

from tracelake.engine.errors import UsageError

from ...support import ROOT, data_files

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECTIONS = ["time", "layers", "parts", "roofline", "idle", "collectives", "findings", "trust"]
TRACES = data_files(
    "kineto/vllm_gpt-oss_prefill*", "kineto/deepseek*", "jax/*.gz", "ascend/synthetic/forward_passes.csv",
    "kineto/hta_cpu_only*",
)  # fmt: skip


class Parts(html.parser.HTMLParser):
    """Ids, links inside the page, and addresses that a browser would fetch."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.fetched = [], [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if tag == "a" else []
        self.fetched += [found[key] for key in ("src", "href") if key in found and tag != "a"]


def parts_of(page):
    parts = Parts()
    parts.feed(re.sub(r"(<script>).*?(</script>)", r"\1\2", page, flags=re.DOTALL))
    return parts


@pytest.mark.parametrize("name", TRACES)
def test_a_page_has_its_sections_and_fetches_nothing(real_lake, name, tmp_path):
    lake = real_lake(name)
    [(trace,)] = lake.rows("SELECT trace_id FROM traces")
    page = lake.report(trace, tmp_path / "t.html")
    assert page == (tmp_path / "t.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 3_000_000
    parts = parts_of(page)
    assert [one for one in parts.ids if one in SECTIONS] == SECTIONS
    assert len(parts.ids) == len(set(parts.ids))
    assert {link.removeprefix("#") for link in parts.links} <= set(parts.ids)
    assert set(parts.fetched) <= {"data:,"}
    for spec in re.findall(r"<script>const charts = (.*?);</script>", page, flags=re.DOTALL):
        for chart in json.loads(spec).values():
            assert "url" not in json.dumps(chart.get("data", {}))


def test_the_page_of_a_lake_leads_to_the_pages_beside_it(s1_lake, tmp_path):
    assert parts_of(s1_lake.index(tmp_path / "index.html")).links == ["#traces"]
    s1_lake.report("s1", tmp_path / "s1.html")
    assert parts_of(s1_lake.index(tmp_path / "index.html")).links == ["#traces", "./s1.html"]
    with pytest.raises(UsageError, match=r"\.html"):
        s1_lake.index(tmp_path / "index.md")


#: Measures the page in a frame as wide as a screen.
_FRAME = """<body style="margin:0"><iframe id="f" src="{name}" style="border:0;width:{width}px;height:3000px"></iframe>
<pre id="found"></pre><script>
f.onload = () => setTimeout(() => {{
  const page = f.contentDocument;
  const texts = [...page.querySelectorAll("h1, h2, .five dd, .see")].map((one) => one.getBoundingClientRect());
  found.textContent = JSON.stringify({{
    scroll: page.documentElement.scrollWidth, drawn: page.querySelectorAll(".chart svg").length,
    charts: page.querySelectorAll(".chart").length,
    overlaps: texts.filter((one, n) => n && one.top < texts[n - 1].bottom - 1).length,
  }});
}}, 1500);
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, to look at pages")
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_draws_every_chart_without_errors_overlaps_or_a_page_wider_than_the_screen(
    s1_lake, tmp_path, width, scheme
):
    s1_lake.report("s1", tmp_path / "s1.html")
    (tmp_path / "frame.html").write_text(_FRAME.format(name="s1.html", width=width), encoding="utf-8")
    ended = subprocess.run(
        [
            str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
            "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=10000",
            *(["--force-dark-mode"] if scheme == "dark" else []), "--dump-dom", f"file://{tmp_path / 'frame.html'}",
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    [found] = re.findall(r'<pre id="found">(.+?)</pre>', ended.stdout)
    measured = json.loads(found)
    assert measured["scroll"] <= width
    assert measured["drawn"] == measured["charts"] > 0
    assert measured["overlaps"] == 0
    assert "CONSOLE" not in ended.stderr


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
