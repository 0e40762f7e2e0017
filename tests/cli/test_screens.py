"""Golden screens: ten commands as terminals of 80, 100, 120 and 200 columns show them.

The screens are `screens/*.txt`. To write them anew after a change: UPDATE_SCREENS=1 pytest tests/cli/test_screens.py
"""

import contextlib
import io
import os
import re
import sys
from pathlib import Path

import pytest

from tracelake.cli import main
from tracelake.lake import Lake
from tracelake.synthetic.gpu import write_gpu
from tracelake.synthetic.npu import write_npu

pexpect = pytest.importorskip("pexpect", reason="needs a pseudo-terminal: pexpect")
pyte = pytest.importorskip("pyte")

SCREENS = Path(__file__).parent / "screens"
WIDTHS = (80, 100, 120, 200)
COMMANDS = {
    "traces": ["traces"],
    "summary": ["decode"],
    "passes": ["passes", "decode"],
    "layers": ["layers", "decode"],
    "kernels": ["kernels", "decode", "--layer", "2"],
    "doctor": ["doctor"],
    "perfetto": ["perfetto", "decode"],
    "shapes": ["shapes", "npu", "--limit", "12"],
    "schema": ["schema"],
    "sql": ["sql", "SELECT category, sum(dur_us) AS sum_us FROM kernels GROUP BY ALL ORDER BY ALL", "--sort", "sum_us"],
}
#: What differs from run to run.
_MOVING = re.compile(r"\b[0-9a-f]{16}\b")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screens")
    write_gpu(folder / "decode.json.gz")
    write_npu(folder / "npu.csv")
    with Lake(folder / "lake") as opened:
        opened.ingest(folder / "decode.json.gz", folder / "npu.csv")
    return folder / "lake"


class Terminal(io.StringIO):
    """What a command in this process takes for a terminal."""

    def isatty(self):
        return True


def seen(raw, width):
    """Return the lines that a terminal shows."""
    screen = pyte.Screen(width, 500)
    pyte.Stream(screen).feed(raw)
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def shown(lake, width, words, **environment):
    """Return the lines that a terminal shows of a command, and the raw text."""
    child = pexpect.spawn(
        sys.executable, ["-m", "tracelake", "--lake", str(lake), *words], dimensions=(500, width), encoding="utf-8",
        timeout=120, cwd=lake.parent,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": str(width), "NO_COLOR": "", **environment},
    )  # fmt: skip
    raw = child.read()
    return seen(raw, width), raw


@pytest.fixture
def drawn(lake, monkeypatch):
    """Return what shows a command as `shown` does, without a process of its own."""

    def drawn(width, words):
        terminal = Terminal()
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys, "argv", ["tracelake", "--lake", str(lake), *words])
        monkeypatch.setattr(sys, "stdout", terminal)
        monkeypatch.setattr(sys, "stderr", terminal)
        with contextlib.suppress(SystemExit):
            main()
        monkeypatch.undo()
        return seen(terminal.getvalue().replace("\n", "\r\n"), width)

    return drawn


@pytest.mark.parametrize("name", COMMANDS)
def test_a_screen_is_as_it_was_looked_at(drawn, name):
    pages = {width: drawn(width, COMMANDS[name]) for width in WIDTHS}
    text = "\n".join(f"--- {width} columns\n" + "\n".join(lines) + "\n" for width, lines in pages.items())
    text = _MOVING.sub("0" * 16, text)
    file = SCREENS / f"{name}.txt"
    if "UPDATE_SCREENS" in os.environ:
        SCREENS.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_a_real_terminal_breaks_no_line_and_shows_the_same(lake, drawn):
    lines, raw = shown(lake, 80, COMMANDS["layers"])
    plain = re.sub(r"\x1b\[[0-9;]*m", "", raw).replace("\r", "")
    assert max(map(len, plain.split("\n"))) <= 80
    assert lines == drawn(80, COMMANDS["layers"])


def test_shares_of_the_peak_fit_the_terminal_and_keep_the_mfu(drawn):
    lines = drawn(80, ["model", "mfu", "qwen3-8b", "--hardware", "h100", "--measured-ms", "20"])
    # Not wrapped by the terminal: each column that has no room is named.
    assert [line for line in lines if line.startswith("No room for: ") and "shape" in line]
    assert [line for line in lines if line.split()[:2] == ["of", "ms"] or "MFU" in line.split()]


def test_colours_are_there_unless_they_are_not_wanted(lake):
    assert "\x1b[" in shown(lake, 80, ["traces"])[1]
    assert "\x1b[" not in shown(lake, 80, ["traces"], NO_COLOR="1")[1]
    assert "\x1b[" not in shown(lake, 80, ["traces", "--color", "never"])[1]
    assert "\x1b[" in shown(lake, 80, ["traces", "--color", "always"], NO_COLOR="1")[1]


def test_wide_shows_every_column_and_whole_names(lake):
    _, raw = shown(lake, 80, ["kernels", "decode", "--layer", "2", "--wide"])
    for column in ("pass_id", "layer_id", "rel_ms", "input_dims"):
        assert column in raw
    assert "…" not in raw
