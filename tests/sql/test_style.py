"""The style of `sql/`, and of the lint that guards it: each rule has a file that breaks it."""

from pathlib import Path

import pytest

from tracelake.engine.modules import parse_module

from ..lint_sql import lint, lint_text, read_header

SQL = Path(__file__).resolve().parents[2] / "sql"

FOLDERS = {
    "rules": "reference",
    "_runs": "core",
    "kernels": "core",
    "layers": "layers",
    "steps": "timeline",
    "operators": "model",
}

GOOD = """\
-- One row per layer and category:
-- where a layer's time goes.
--
-- Overlapping kernels count twice, so the parts of a layer may exceed its wall time.
--
-- layer_id      BIGINT             layer, from 0
-- category      VARCHAR            kernel category, from category_rules
-- sum_us        DOUBLE             sum of their durations
-- dims          BIGINT[]           shape
-- parts         STRUCT             an example whose meaning
--                                  takes two lines
CREATE VIEW layers AS
WITH kernels AS (
    SELECT layer_id, category, dims, parts, dur_ns::DOUBLE AS dur_ns, left(name, 3) AS replace
    FROM kernels  -- Select from the relation, not from the CTE
    WHERE name <> 'Select * FROM x' AND "end" IS NOT NULL
)
SELECT
    layer_id, category,
    sum(dur_ns) FILTER (WHERE dur_ns > 1e3) * 1e-3 AS sum_us,
    any_value(dims) AS dims,
    any_value(parts) AS parts
FROM kernels
LEFT JOIN (VALUES (1, 'a')) AS pair(layer_id, mark) USING (layer_id)
GROUP BY ALL
HAVING count(*) > 0;
"""

HEAD = "-- One row per thing.\n-- a  BIGINT  a thing\n"
VIEW = f"{HEAD}CREATE VIEW layers AS\n"
BODY = "CREATE VIEW layers AS\nSELECT 1 AS a;\n"


def messages(text, stem="layers"):
    return [f"{line}: {message}" for line, message in lint_text(stem, text, FOLDERS)]


def test_our_own_sql_keeps_its_style():
    assert [str(fault) for fault in lint(SQL)] == []


def test_a_well_written_file_has_no_fault():
    assert messages(GOOD) == []


def test_the_header_gives_the_sentence_and_each_column():
    header, faults = read_header(GOOD)
    assert faults == []
    assert header.sentence == "One row per layer and category: where a layer's time goes."
    assert header.columns[0] == ("layer_id", "BIGINT", "layer, from 0", 6)
    assert [name for name, *_ in header.columns] == ["layer_id", "category", "sum_us", "dims", "parts"]
    assert header.columns[-1] == ("parts", "STRUCT", "an example whose meaning takes two lines", 10)
    assert header.length == 11


def test_the_loader_reads_the_same_columns_from_every_header():
    for path in SQL.rglob("*.sql"):
        header, _ = read_header(path.read_text(encoding="utf-8"))
        loaded = [(column.name, column.type, column.text) for column in parse_module(path).columns]
        assert loaded == [column[:3] for column in header.columns], path


@pytest.mark.parametrize(
    "query",
    [
        "SELECT list_transform(l, lambda x: x + 1) AS a FROM kernels",
        "SELECT k.a FROM kernels AS k ASOF JOIN events AS e ON k.start_ns >= e.start_ns",
        "SELECT a, rank, position, first(b ORDER BY c NULLS LAST) AS b FROM kernels",
        "SELECT sum(a) OVER (ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a FROM kernels",
        "WITH RECURSIVE steps AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM steps)\nSELECT a FROM steps",
        "SELECT args ->> '$.Name' AS a, {'a': 1} AS s, l[1:2] AS l, 7 // 2 AS h FROM kernels",
    ],
)
def test_what_duckdb_allows_and_we_want_passes(query):
    assert messages(f"{VIEW}{query};\n") == []


@pytest.mark.parametrize(
    "macro",
    [
        "CREATE MACRO layers(x, y := 3, z := [1, (2)]) AS TABLE\nSELECT a FROM kernels WHERE a = x + y",
        "CREATE MACRO layers(x, y := 3) AS x + y",
    ],
)
def test_a_macro_may_have_defaults(macro):
    assert messages(f"{HEAD}{macro};\n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the header
        (BODY, "1: the file opens with a sentence in a comment"),
        (f"-- no capital.\n-- a  BIGINT  x\n{BODY}", "1: the file opens with a sentence"),
        (f"-- No full stop\n-- a  BIGINT  x\n{BODY}", "1: the file opens with a sentence"),
        (f"-- One row.\n{BODY}", "2: no column is described"),
        (f"-- One row.\n-- a  bigint  x\n{BODY}", "3: no column is described"),
        (f"{HEAD}-- More prose.\n{BODY}", "3: not a column line"),
        (f"-- One row.\n--   a  BIGINT  x\n{BODY}", "2: reads as a column"),
        (f"{HEAD}-- a  DOUBLE  again\n{BODY}", "3: column a is described twice"),
        # the statement
        (f"{HEAD}SELECT 1 AS a;\n", "3: a file holds one CREATE VIEW, TABLE or MACRO"),
        (HEAD, "1: a file holds one CREATE VIEW, TABLE or MACRO"),
        (f"{HEAD}CREATE VIEW lairs AS\nSELECT 1 AS a;\n", "3: the file is named layers but creates lairs"),
        (f"{VIEW}SELECT 1 AS a;\nCREATE VIEW b AS\nSELECT 1;\n", "5: a file holds one relation"),
        (f"{HEAD}CREATE TABLE layers (a BIGINT);\n", "3: reference rows stand in a table"),
        (f"{HEAD}CREATE VIEW layers AS SELECT 1 AS a;\n", "3: AS ends its line"),
        (f"{VIEW}SELECT 1 AS a\nFROM (kernels;\n", "5: cannot be parsed: "),
        # the layout
        (f"{VIEW}SELECT {'1' * 93} AS a;\n", "4: 106 columns wide, the limit is 100"),
        (f"{VIEW}\tSELECT 1 AS a;\n", "4: a tab"),
        (f"{HEAD}CREATE VIEW layers AS \nSELECT 1 AS a;\n", "3: space at the end of the line"),
        (f"{VIEW}SELECT 1 AS a;", "4: the file ends with exactly one line break"),
        (f"{VIEW}SELECT 1 AS a;\n\n", "6: the file ends with exactly one line break"),
        # the case of words
        (f"{VIEW}select 1 AS a;\n", "4: keywords and types are upper case: select"),
        (f"{VIEW}SELECT 1::bigint AS a;\n", "4: keywords and types are upper case: bigint"),
        (f"{VIEW}SELECT 1 AS a FROM b left JOIN c USING (a);\n", "4: keywords and types are upper"),
        (f"{VIEW}SELECT 1 AS aB;\n", "4: names are lower snake case: aB"),
        (f"{VIEW}SELECT COUNT(*) AS a;\n", "4: names are lower snake case: COUNT"),
        (f'{VIEW}SELECT 1 AS "Big a";\n', '4: names are lower snake case: "Big a"'),
        # the query
        (f"{VIEW}SELECT * FROM kernels;\n", "4: SELECT * in a public relation"),
        (f"{VIEW}SELECT 1 AS a,\n    k.* FROM kernels AS k;\n", "5: SELECT * in a public relation"),
        (f"{VIEW}FROM kernels;\n", "3: SELECT * in a public relation"),
        # the layering
        (f"{VIEW}SELECT a\nFROM operators;\n", "5: layers may not build on operators: model is not"),
        (f"{VIEW}SELECT a FROM steps;\n", "4: layers may not build on steps: timeline is not below"),
        (f"{VIEW}SELECT a FROM _runs;\n", "4: _runs is private to core"),
        (f"{VIEW}SELECT a FROM _runs(1, x := 2);\n", "_runs is private to core"),
        (f"{VIEW}SELECT operators(1) AS a;\n", "layers may not build on operators"),
        (
            f"{VIEW}WITH operators AS (SELECT a FROM operators) SELECT a FROM operators;\n",
            "4: layers may not build on operators",
        ),
    ],
)
def test_a_broken_rule_is_named_with_its_line(text, expected):
    found = messages(text)
    assert any(expected in message for message in found), found


def test_a_reference_table_is_a_table():
    assert messages(f"{HEAD}CREATE TABLE rules (a BIGINT, PRIMARY KEY (a));\n", stem="rules") == []


def test_a_private_relation_may_select_everything():
    assert messages(f"{HEAD}CREATE VIEW _runs AS\nSELECT * FROM kernels;\n", stem="_runs") == []


def test_a_file_outside_the_layering_and_a_name_used_twice_are_faults(tmp_path):
    for path in ("core/one.sql", "layers/one.sql", "elsewhere/two.sql"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(f"{HEAD}CREATE VIEW {Path(path).stem} AS\nSELECT 1 AS a;\n")
    strange, twice = [str(fault).removeprefix(f"{tmp_path}/") for fault in lint(tmp_path)]
    assert strange.startswith("elsewhere/two.sql:1: folder 'elsewhere' has no place in the layering")
    assert twice.startswith(f"layers/one.sql:1: one is also defined by {tmp_path}/core/one.sql")
