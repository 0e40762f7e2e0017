"""Builds the documentation as a site in build/site that loads nothing from other hosts.

python docs/website.py            all of it: `make site`; opens from the file system, with its search
python docs/website.py --quick    without the generated parts: the gallery, and the outputs of the notebook

The generator is zensical, the successor of mkdocs-material, with that theme's settings. It checks links between
pages; `loaded_from_elsewhere` checks what a page loads.
"""

from __future__ import annotations

import argparse
import html.parser
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracelake.docs import graphs, showcase

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / "build" / "site"
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
#: Pages outside docs/, and their place on the site.
_BESIDE = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing.md"}
_CONFIG: dict[str, Any] = {
    "site_name": "tracelake",
    "site_description": "Profiler traces of LLM training and serving as tables, and the SQL that explains them",
    "docs_dir": "site-pages",
    "site_dir": "site",
    "use_directory_urls": False,
    "theme": {
        "name": "material",
        "font": False,
        "palette": [
            {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "teal",
             "toggle": {"icon": "material/weather-night", "name": "Dark"}},
            {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "teal",
             "toggle": {"icon": "material/weather-sunny", "name": "Light"}},
        ],
        "features": ["navigation.tabs", "navigation.top", "search.highlight", "content.code.copy"],
    },
    "plugins": ["search", "offline"],
    "markdown_extensions": [
        "tables", "attr_list", "md_in_html", "pymdownx.superfences", {"toc": {"permalink": True}},
        {"pymdownx.highlight": {"anchor_linenums": False}},
    ],
    "extra": {"generator": False},
    "extra_css": ["site/site.css"],
}  # fmt: skip
#: A script that the theme loads for its search, and our replacement.
_SHIM, _WORKER = "https://unpkg.com/iframe-worker/shim", "site/worker.js"


def navigation() -> list[Any]:
    """Return the site's navigation: the index page's sections with the pages that they list, and the folders of SQL."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    nav: list[Any] = [{"Home": ["index.md", {"Five minutes": "readme.md"}]}]
    heads = list(_HEADING.finditer(index))
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        listed = _listed(index[head.end() : after.start() if after else len(index)])
        entries = [entry for title, page in listed for entry in _entries(title, page)]
        nav.append({head[1]: entries})
        if head[1] == "Guides":
            nav.append({"Gallery": ["gallery/index.md"]})
    nav[-1][heads[-1][1]].append({"Contributing": "contributing.md"})
    return nav


def _entries(title: str, page: str) -> Iterator[Any]:
    yield {title: page}
    if page == "reference/sql.md":
        text = (DOCS / page).read_text(encoding="utf-8")
        of_folders = dict.fromkeys(re.findall(r"^## \[(\w+)\]\((sql/\w+\.md)\)", text, re.MULTILINE))
        yield {"by folder": [{folder: f"reference/{name}"} for folder, name in of_folders]}


def _listed(text: str) -> Iterator[tuple[str, str]]:
    for title, link in _LINK.findall(text):
        target = link.partition("#")[0]
        if target.endswith((".md", ".ipynb")) and not target.startswith(".."):
            yield title.strip("[]"), re.sub(r"\.ipynb$", ".md", target)


def pages(nav: list[Any]) -> Iterator[str]:
    """Yield the pages of a navigation."""
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for value in entry.values():
                yield from [value] if isinstance(value, str) else pages(value)


def stage(target: Path, *, quick: bool) -> None:
    """Write the pages in the generator's format, and the files that they link to.

    Args:
        target: an empty folder.
        quick: leave out the gallery's reports and the notebook's outputs.
    """
    shutil.copytree(DOCS / "site", target / "site")
    for path in [*DOCS.rglob("*.md"), *(ROOT / name for name in _BESIDE)]:
        _write(target / _place(path), _page(path, target))
    showcase.write_notebook(target / "notebooks", quick=quick)
    showcase.write_gallery(target / "gallery", quick=quick)


def _place(path: Path) -> Path:
    """Return the place of a file on the site: pages as in docs/, other files as text below source/."""
    name = path.relative_to(ROOT).as_posix()
    if name in _BESIDE:
        return Path(_BESIDE[name])
    if path.suffix in (".md", ".svg", ".png") and path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    if path.suffix == ".ipynb":
        return path.relative_to(DOCS).with_suffix(".md")
    return Path("source") / f"{name}.txt"


def _page(path: Path, target: Path) -> str:
    """Return a page with links as on the site, and its flow charts drawn."""
    text = path.read_text(encoding="utf-8")
    own = _place(path).parent

    def led(match: re.Match[str]) -> str:
        link, _, anchor = match[2].partition("#")
        if not link or re.match(r"[a-z]+:", link):
            return match[0]
        wanted = (path.parent / link).resolve()
        place = _place(wanted)
        if place.suffix != ".md" and not (target / place).exists():
            if wanted.is_dir():
                _write(target / place, _files_of(wanted))
            else:
                (target / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(wanted, target / place)
        address = Path(os.path.relpath(place, own)).as_posix()
        return f"{match[1]}({address}{'#' + anchor if anchor else ''})"

    def drawn(match: re.Match[str]) -> str:
        known = set(re.findall(r"^## \[?(\w+)", text, re.MULTILINE))
        svg = graphs.drawn(match[1].splitlines(), lambda name: f"#{name}" if name in known else None)
        return f'<div class="graph-box">\n{svg}\n</div>'

    pieces, end = [], 0
    for fence in _FENCED.finditer(text):
        # Words after the language are for replay.py.
        block = re.sub(r"\A```(\w+)[^\n]*", r"```\1", fence[0])
        pieces += [_LINK.sub(led, text[end : fence.start()]), _MERMAID.sub(drawn, block)]
        end = fence.end()
    return "".join([*pieces, _LINK.sub(led, text[end:])])


def _files_of(folder: Path) -> str:
    """Return the files of a folder as one text, each below its name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "\n".join(f"==> {path.relative_to(folder)}\n\n{path.read_text(encoding='utf-8')}" for path in files)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


class _Loads(html.parser.HTMLParser):
    """What a browser would load for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the addresses of a tag that loads something."""
        given = dict(attrs)
        if tag == "link" and given.get("rel") in ("canonical", "prev", "next", "alternate"):
            return
        names = ("href",) if tag in ("link", "image", "use") else ("src", "srcset", "data", "poster")
        self.found += [given[name] or "" for name in names if given.get(name)]
        if srcdoc := given.get("srcdoc"):
            framed = _Loads()
            framed.feed(srcdoc)
            self.found += framed.found


def loaded_from_elsewhere(folder: Path = SITE) -> list[str]:
    """Return what the pages and style sheets of a site load from other hosts, each with its file."""
    elsewhere = re.compile(r"\s*(?:[a-z]+:)?//", re.IGNORECASE)
    found = []
    for path in sorted(folder.rglob("*")):
        loads: list[str] = []
        if path.suffix == ".html":
            parser = _Loads()
            # The content of a script may look like tags.
            parser.feed(re.sub(r"(<script[^>]*>).*?(</script>)", r"\1\2", path.read_text("utf-8"), flags=re.DOTALL))
            loads = parser.found
        elif path.suffix == ".css":
            loads = re.findall(r"""(?:url\(|@import)\s*["']?([^"')\s]+)""", path.read_text("utf-8"))
        found += [f"{path.relative_to(folder)}: {load}" for load in loads if elsewhere.match(load)]
    return found


def build(*, quick: bool = False, site: Path = SITE) -> None:
    """Build the site.

    Args:
        quick: leave out the gallery's reports and the notebook's outputs.
        site: the folder; its content is replaced.

    Raises:
        SystemExit: the generator is not installed, a link is broken, or a page loads from another host.
    """
    if importlib.util.find_spec("zensical") is None:
        raise SystemExit("the site needs zensical: pip install -e '.[site]'")
    with tempfile.TemporaryDirectory(prefix="tracelake-site-") as folder:
        work = Path(folder)
        stage(work / "site-pages", quick=quick)
        # JSON is valid YAML.
        (work / "mkdocs.yml").write_text(json.dumps({**_CONFIG, "nav": navigation()}), encoding="utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", "mkdocs.yml"]
        ran = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise SystemExit(ran.stdout + ran.stderr.partition("Traceback")[0])
        for path in (work / "site").rglob("*.html"):
            worker = Path(os.path.relpath(work / "site" / _WORKER, path.parent)).as_posix()
            path.write_text(path.read_text(encoding="utf-8").replace(_SHIM, worker), encoding="utf-8")
        if elsewhere := loaded_from_elsewhere(work / "site"):
            raise SystemExit("\n".join(["loaded from another host:", *elsewhere]))
        shutil.rmtree(site, ignore_errors=True)
        site.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(work / "site", site)


def main() -> None:
    """Build the site with the options of the command line."""
    parser = argparse.ArgumentParser(description="Build the documentation as a site in build/site.")
    parser.add_argument("--quick", action="store_true", help="without the gallery and the notebook's outputs")
    build(quick=parser.parse_args().quick)
    print(f"site: open {SITE / 'index.html'}")


if __name__ == "__main__":
    main()
