"""Tables on a terminal: numbers stay whole however narrow it is, names lose their middle."""

import csv
import io
import json

import duckdb
import pytest

from tracelake.reports.output.render import shown_value, to_text, write_table
from tracelake.reports.output.screen import PLAIN, Look, Screen
from tracelake.reports.output.table import Column, Table, shown, text


def lines(screen, rows, *columns):
    out = io.StringIO()
    write_table(Table(columns, tuple(rows)), "table", out, screen)
    return out.getvalue().strip("\n").split("\n")


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("numbers", [1, 5, 18])
def test_a_row_is_whole_on_any_terminal(width, numbers):
    columns = [Column(f"us{n}", 3) for n in range(numbers)]
    page = lines(Screen(width), [(*[12.345] * numbers, "k" * 30)], *columns, text("name"))
    assert "\n".join(page).count("12.345") == numbers
    assert max(map(len, page)) <= width
    assert "".join(page).count("k") == 30


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_of_several_rows_no_number_is_broken_and_what_has_no_room_is_named(width):
    columns = [Column(f"us{n}", 3) for n in range(18)]
    rows = [(f"{row}" + "k" * 60 + f"{row}", *[100 * row + n + 0.125 for n in range(18)]) for row in (1, 2)]
    page = lines(Screen(width, looks={"name": Look(1, "name")}), rows, text("name"), *columns)
    assert max(map(len, page)) <= width
    whole = "\n".join(page)
    for n in range(18):
        assert (f"{100 + n}.125" in whole) == (f"us{n}," not in whole and f"us{n}." not in whole)
    assert "1kkk" in whole
    assert "kkk1" in whole


def test_columns_that_are_the_same_or_empty_are_named_below():
    page = lines(Screen(80), [(0, "a", None), (0, "b", None)], Column("rank"), text("name"), text("note"))
    assert page == [" name", " ────", " a", " b", "Same in all rows: rank 0.", "Empty: note."]


def test_numbers_of_a_column_have_as_many_decimals():
    page = lines(Screen(80), [(1.5, 1), (12.25, 2), (3.0, 3)], Column("us"), Column("n"))
    assert page[2:] == ["  1.50   1", " 12.25   2", "  3.00   3"]


def test_a_number_has_three_digits_however_small_and_zero_no_sign():
    numbers = {
        0.0004: "0.0004", 1e-5: "1e-05", -5e-7: "-5e-07", 0.0999996: "0.1", 0.0123456: "0.0123", 0.1 + 0.2: "0.3",
        1.00049: "1", 12.3456: "12.346", -1.5: "-1.5", 0.0: "0", 2e15: "2e+15",
    }  # fmt: skip
    assert {number: shown_value(number) for number in numbers} == numbers
    # Of a table of Python's, too; an explicit number of decimals is that, without a sign that nothing follows.
    assert [shown(0.0004), shown(-0.0), shown_value(-0.0), shown(-0.0004, 3)] == ["0.0004", "0", "0", "0.000"]


def test_points_stand_below_each_other_without_digits_that_no_number_has():
    page = lines(Screen(80), [("a", 12345.678), ("b", 0.000123), ("c", 1.5)], text("name"), Column("us"))
    assert page[2:] == [" a      12345.678", " b          0.000123", " c          1.500"]


def test_names_that_would_be_cut_to_the_same_keep_where_they_begin_to_differ():
    names = [f"FSDP::pre_forward (blocks.{block}._fsdp_wrapped_module)" for block in (0, 11)]
    page = lines(Screen(36), [(names[0], 1), (names[1], 2), ("k" * 40, 3)], text("name"), Column("n"))
    # 31 characters: 12 of the beginning, the ellipsis, and 18 from the number on, cut in the middle.
    assert [line.split()[0:-1] for line in page[2:]] == [
        ["FSDP::pre_fo…0._fsdp_wra…odule)"], ["FSDP::pre_fo…11._fsdp_wr…odule)"], ["k" * 18 + "…" + "k" * 12],
    ]  # fmt: skip


def test_a_share_has_a_bar_of_its_whole_and_a_size_one_of_the_largest():
    looks = {"pct": Look(2, "share"), "us": Look(2, "size")}
    page = lines(Screen(80, looks=looks), [(50, 1), (25, 2)], Column("pct"), Column("n"))
    assert page[2:] == [" 50 ████       1", " 25 ██         2"]
    page = lines(Screen(80, looks=looks), [(40, 1), (20, 2), (0, 3)], Column("us"), Column("n"))
    assert page[2:] == [" 40 ████████   1", " 20 ████       2", "  0            3"]


def test_the_columns_with_the_highest_priority_are_left_out_first():
    looks = {"a": Look(4), "b": Look(1), "c": Look(3)}
    rows = [(1000000000000001, 2000000000000001, 3000000000000001), (2, 3, 4)]
    page = lines(Screen(40, looks=looks), rows, Column("a"), Column("b"), Column("c"))
    assert page[0].split() == ["b", "c"]
    assert page[-1] == "No room for: a. --wide shows them."


def test_rows_are_cards_where_the_main_columns_do_not_fit():
    looks = {"check": Look(1, "id"), "message": Look(1, "prose"), "severity": Look(1, "state")}
    rows = [("one_long_check", "error", "word " * 12, 3), ("another_check", "info", "short", 4)]
    columns = (text("check"), text("severity"), text("message"), Column("value"))
    assert lines(Screen(40, looks=looks), rows, *columns) == [
        " one_long_check  error",
        "   word word word word word word word",
        "   word word word word word",
        "   value 3",
        "",
        " another_check  info",
        "   short",
        "   value 4",
    ]


def test_colours_stand_beside_words_and_only_where_they_are_wanted():
    looks = {"severity": Look(1, "state")}
    rows = [("error", 1), ("ok", 2)]
    plain, coloured = (
        lines(Screen(80, colour, looks), rows, text("severity"), Column("n")) for colour in (False, True)
    )
    assert "\x1b" not in "".join(plain)
    assert "\x1b[31merror" in coloured[2]
    assert "\x1b[32mok" in coloured[3]


def test_a_file_has_all_of_it():
    page = lines(PLAIN, [(0, "k" * 300), (0, "l" * 300)], Column("rank"), text("name"))
    assert page[0].split() == ["rank", "name"]
    assert page[2].endswith("k" * 300)


@pytest.mark.parametrize("format", ["table", "csv", "json", "markdown"])
def test_times_keep_their_nanoseconds(format):
    with duckdb.connect() as connection:
        answered = to_text(connection.sql("SELECT make_timestamp_ns(1682725899313566001) AS at"), format)
    assert "2023-04-28T23:51:39.313566001" in answered


def test_lists_and_structs_are_json_in_text():
    with duckdb.connect() as connection:
        answer = connection.sql(
            "SELECT ['a', NULL] AS names, {'k': 1.5, 'n': [true]} AS part, MAP {'x': 2.25} AS sizes"
        )
        csv_text, table = to_text(answer, "csv"), to_text(answer)
    [_, cells] = csv.reader(io.StringIO(csv_text))
    assert list(map(json.loads, cells)) == [["a", None], {"k": 1.5, "n": [True]}, {"x": 2.25}]
    assert all(cell in table for cell in cells)
