"""The site's showcase: reports of the demo's traces, and a notebook with its outputs."""

from __future__ import annotations

import html
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracelake.docs import notebook, replay
from tracelake.lake import Lake
from tracelake.synthetic.prefill import MODEL

_FRAME = re.compile(
    r'<iframe srcdoc="(?P<page>.*?)" sandbox="allow-scripts" style="(?P<style>.*?)"></iframe>', re.DOTALL
)
#: The demo traces that are shown, and a description of each.
_TRACES = {
    "prefill": "A prefill of Llama 3 8B on one H100, with shapes: roofline, operators, layers of one type.",
    "demo": "Decode steps of a small model with layers of three types, two of which wait for an indexer.",
    "demo_cut_short": "The same trace from a process that died: what is missing is said first.",
}


def write_notebook(folder: Path, *, quick: bool) -> None:
    """Write the notebook as a page, with its charts in separate files.

    Args:
        folder: where the page goes.
        quick: without outputs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = json.loads(notebook.NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    cells = source if quick else notebook.executed()
    page = "\n\n".join(piece for place, cell in enumerate(cells) for piece in _cell(cell, place, folder))
    (folder / notebook.NOTEBOOK.with_suffix(".md").name).write_text(page + "\n", encoding="utf-8")


def _cell(cell: dict[str, Any], place: int, folder: Path) -> Iterator[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
        return
    yield f"```python\n{text}\n```"
    for output in cell["outputs"]:
        shown = output.get("data", {}).get("text/html")
        if shown is None:
            continue

        def framed(match: re.Match[str]) -> str:
            name = f"output-{place}.html"
            (folder / name).write_text(html.unescape(match["page"]), encoding="utf-8")
            return f'<iframe src="{name}" title="Output" sandbox="allow-scripts" style="{match["style"]}"></iframe>'

        # A blank line would end the HTML for Markdown.
        whole = re.sub(r"\n\s*\n", "\n", _FRAME.sub(framed, "".join(shown)))
        yield f'<div class="output">\n{whole}\n</div>'


def write_gallery(folder: Path, *, quick: bool) -> None:
    """Write the reports of the demo's traces, and the page that links to them.

    Args:
        folder: where they go.
        quick: write only the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    about = (
        "Reports of the traces that `tracelake demo` makes, as commands write them: one file each, without a network."
    )
    lines = ["# Gallery", "", about, ""]
    if quick:
        lines.append("They are made where the site is built whole: `make site`.")
    else:
        lines += _reports(folder)
    (folder / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _reports(folder: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="tracelake-site-") as scratch:
        lake = Lake(replay.make_playground(Path(scratch)) / "lake")
        for trace, what in _TRACES.items():
            lake.report(trace, folder / f"{trace}.html")
            yield f"- [{trace}]({trace}.html): `tracelake report {trace} -o {trace}.html`. {what}"
        lake.index(folder / "lake.html")
        yield "- [all traces](lake.html): `tracelake report --lake -o lake.html`. What matters of each, with links."
        lake.model_report(MODEL, folder / "model.html", hardware="h100_sxm")
        yield f"- [a model](model.html): `tracelake model report {MODEL} --hardware h100_sxm -o model.html`."
        lake.close()
