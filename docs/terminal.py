"""The picture at the top of the README: the first answer on a terminal, for a synthetic trace.

python docs/terminal.py    writes docs/images/first_answer.svg; docs/build.py does so, too
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tracelake.lake import Lake
from tracelake.reports.output.screen import Screen
from tracelake.reports.summary.headline import headline, write_headline
from tracelake.synthetic.prefill import MODEL, write_prefill

PICTURE = Path(__file__).resolve().parent / "images" / "first_answer.svg"
_COMMAND = "$ tracelake summary prefill.json.gz"
_WIDTH = 96
#: rich's template, without the font that it would load from another host.
_FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>The five lines that tracelake summary opens with</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


def answer() -> str:
    """Return what a colour terminal shows, including the command."""
    with tempfile.TemporaryDirectory(prefix="tracelake-picture-") as folder:
        trace = Path(folder) / "prefill.json.gz"
        write_prefill(trace)
        with Lake(Path(folder) / "lake", stored=False) as lake:
            lake.ingest(trace, model=MODEL)
            out = io.StringIO()
            write_headline(headline(lake.store, lake.resolve("prefill")), out, Screen(_WIDTH, colour=True))
    return f"{_COMMAND}\n{out.getvalue()}"


def drawn(shown: str) -> str:
    """Return terminal output as SVG."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(Text.from_ansi(shown))
    svg = console.export_svg(title="tracelake", code_format=_FORMAT, unique_id="answer")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def write() -> None:
    """Write the picture."""
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn(answer()), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write()
