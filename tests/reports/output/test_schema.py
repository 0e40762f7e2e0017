"""The description of a relation on a terminal."""

import os
import shutil
import sys
from itertools import pairwise

from tracelake.reports.output import schema


def test_a_description_fills_the_lines_of_a_terminal(monkeypatch):
    """A paragraph of a header, whose lines in the file are longer, is wrapped as a whole."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((80, 24)))
    about, key = schema.describe("passes").split("\n\n")[:2]
    lines = about.split("\n")
    assert len(lines) > 2
    for line, following in pairwise(lines):
        assert len(line) < 80 <= len(f"{line} {following.split()[0]}")
    assert key.startswith("Key: ")
