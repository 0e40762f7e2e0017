"""What can be told of a page: its parts and addresses, and how a browser draws it."""

import html.parser
import json
import re
import shutil
import subprocess

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


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


def charts_of(page):
    """Return the charts of a page, by name."""
    specs = re.findall(r"<script>const charts = (.*?);</script>", page, flags=re.DOTALL)
    return json.loads(specs[0]) if specs else {}


def assert_stands_alone(page, sections):
    """Check that a page is small, has these sections, leads nowhere and fetches nothing."""
    assert len(page.encode()) < 3_000_000
    parts = parts_of(page)
    assert [one for one in parts.ids if one in sections] == sections
    assert len(parts.ids) == len(set(parts.ids))
    assert {link.removeprefix("#") for link in parts.links} <= set(parts.ids)
    assert set(parts.fetched) <= {"data:,"}
    charts = charts_of(page)
    assert {f"chart-{name}" for name in charts} == {one for one in parts.ids if one.startswith("chart-")}
    for chart in charts.values():
        assert "url" not in json.dumps(chart.get("data", {}))


#: Measures pages in frames as wide as a screen.
_FRAME = """<body style="margin:0">{frames}<pre id="found"></pre><script>
const measured = {{}};
onload = () => setTimeout(() => {{
  for (const frame of document.querySelectorAll("iframe")) {{
    const page = frame.contentDocument;
    const texts = [...page.querySelectorAll("h1, h2, .five dd, .see")].map((one) => one.getBoundingClientRect());
    const closed = () => page.querySelectorAll("main details:not([open])").length;
    const print = (moment) => {{ frame.contentWindow.dispatchEvent(new Event(moment)); return closed(); }};
    measured[frame.getAttribute("src")] = {{
      folds: [closed(), print("beforeprint"), print("afterprint")],
      scroll: page.documentElement.scrollWidth, drawn: page.querySelectorAll(".chart svg").length,
      charts: page.querySelectorAll(".chart").length,
      overlaps: texts.filter((one, n) => n && one.top < texts[n - 1].bottom - 1).length,
    }};
  }}
  found.textContent = JSON.stringify(measured);
}}, 3000);
</script></body>"""


def drawn_by_a_browser(folder, names, width, scheme):
    """Open the pages of a folder; return what is measured of each, and what the console said."""
    frames = "".join(f'<iframe src="{name}" style="border:0;width:{width}px;height:3000px"></iframe>' for name in names)
    (folder / "frame.html").write_text(_FRAME.format(frames=frames), encoding="utf-8")
    ended = subprocess.run(
        [
            str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
            "--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=20000",
            *(["--force-dark-mode"] if scheme == "dark" else []), "--dump-dom", f"file://{folder / 'frame.html'}",
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    [found] = re.findall(r'<pre id="found">(.+?)</pre>', ended.stdout)
    return json.loads(found), [line for line in ended.stderr.splitlines() if "CONSOLE" in line]
