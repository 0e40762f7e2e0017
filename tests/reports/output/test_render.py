"""Tables on a terminal: numbers stay whole however narrow it is."""

import io
import re
import shutil

import pytest

from tracelake.reports.output.render import write_table
from tracelake.reports.output.table import Column, Table, text


class Terminal(io.StringIO):
    def isatty(self):
        return True


def lines(monkeypatch, width, numbers, name):
    """What a terminal is given of a table of one row: some numbers, and a name."""
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: shutil.os.terminal_size((width, 24)))
    columns = [*(Column(f"us{n}", 3) for n in range(numbers)), text("name")]
    out = Terminal()
    write_table(Table(tuple(columns), [(*[12.345] * numbers, name)]), "table", out)
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).split("\n")


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("numbers", [1, 5, 18])
def test_numbers_are_whole_on_any_terminal(monkeypatch, width, numbers):
    page = "\n".join(lines(monkeypatch, width, numbers, "k" * 60))
    assert page.count("12.345") == numbers


def test_a_long_name_is_folded_where_the_rest_fits(monkeypatch):
    page = lines(monkeypatch, 80, 2, "k" * 100)
    assert max(map(len, page)) <= 80
    assert "".join(page).count("k") == 100
