"""The style of `sql/`, and of the lint that guards it: each rule has a file that breaks it."""

from pathlib import Path

import pytest

from tracelake.engine.sql.module_files import parse_file, statements

from ..lint_sql import lint, lint_text, read_header

SQL = Path(__file__).resolve().parents[2] / "sql"

FOLDERS = {
    "rules": "lookup",
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
-- key: layer_id, category
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

HEAD = "-- One row per thing.\n--\n-- key: a\n--\n-- a  BIGINT  a thing\n"
VIEW = f"{HEAD}CREATE VIEW layers AS\n"
ONWARDS = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"
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
    assert header.columns[0] == ("layer_id", "BIGINT", "layer, from 0", 8)
    assert [name for name, *_ in header.columns] == ["layer_id", "category", "sum_us", "dims", "parts"]
    assert header.columns[-1] == ("parts", "STRUCT", "an example whose meaning takes two lines", 12)
    assert header.key == ("layer_id", "category")
    assert header.length == 13


def test_the_loader_reads_the_same_columns_and_key_from_every_header():
    for path in SQL.rglob("*.sql"):
        texts = statements(path.read_text(encoding="utf-8"))
        for text, module in zip(texts, parse_file(path), strict=True):
            header, _ = read_header(text)
            loaded = [(column.name, column.type, column.text) for column in module.columns]
            assert loaded == [column[:3] for column in header.columns], path
            if module.kind == "VIEW":
                assert [f"{name}{'?' * (name in module.optional)}" for name in module.key] == list(header.key), path


HELPER = "-- One row per kernel that counts.\nCREATE VIEW _counted AS\nSELECT 1 AS a\nFROM kernels;\n"


@pytest.mark.parametrize(
    ("helper", "expected"),
    [
        (HELPER, None),
        (HELPER.replace("_counted", "counted"), "2: a file holds one relation, and above it private views of its own"),
        (HELPER.replace("-- One row per kernel that counts.\n", ""), "1: the file opens with a sentence"),
        (HELPER.replace("CREATE", "--\n-- a  BIGINT  it\nCREATE"), "1: a helper in its user's file is described in"),
        (HELPER.replace("FROM kernels", "FROM steps"), "layers may not build on steps"),
    ],
)
def test_a_private_view_may_stand_above_its_one_user(helper, expected):
    found = messages(f"{helper}\n{GOOD}")
    assert found == [] if expected is None else any(expected in message for message in found), found
    # What is wrong below it has the line of the file: that of the helper's four and a blank one before it.
    assert messages(f"{HELPER}\n{VIEW}SELECT * FROM kernels;\n") == [
        "12: SELECT * in a public relation: name the columns"
    ]


def test_a_private_view_in_its_user_s_file_is_no_one_else_s(tmp_path):
    (tmp_path / "layers").mkdir()
    (tmp_path / "layers" / "_owner.sql").write_text(
        f"{HELPER.replace('FROM kernels', 'ORDER BY 1')}\n{PLAIN.format('_owner', '_counted')}"
    )
    (tmp_path / "layers" / "_other.sql").write_text(PLAIN.format("_other", "_counted"))
    assert [str(fault).partition("_other.sql")[2] for fault in lint(tmp_path)] == [":5: _counted belongs to _owner.sql"]


PLAIN = "-- One row.\n--\n-- a  BIGINT  it\nCREATE VIEW {} AS\nSELECT a FROM {};\n"


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
        (f"{HEAD}-- More prose.\n{BODY}", "6: not a column line"),
        (f"-- One row.\n--   a  BIGINT  x\n{BODY}", "2: reads as a column"),
        (f"{HEAD}-- a  DOUBLE  again\n{BODY}", "6: column a is described twice"),
        (HEAD.replace("-- key", "-- stored: for ever\n--\n-- key") + BODY, "3: no such tag"),
        # the statement
        (f"{HEAD}SELECT 1 AS a;\n", "6: a file holds one CREATE VIEW, TABLE or MACRO"),
        (HEAD, "1: a file holds one CREATE VIEW, TABLE or MACRO"),
        (f"{HEAD}CREATE VIEW lairs AS\nSELECT 1 AS a;\n", "6: the file is named layers but creates lairs"),
        (f"{VIEW}SELECT 1 AS a;\nCREATE VIEW b AS\nSELECT 1;\n", "8: a file holds one relation"),
        (f"{HEAD}CREATE TABLE layers (a BIGINT);\n", "6: tables stand in lookup or model or compare or compat"),
        (f"{HEAD}CREATE VIEW layers AS SELECT 1 AS a;\n", "6: AS ends its line"),
        (f"{VIEW}SELECT 1 AS a\nFROM (kernels;\n", "8: cannot be parsed: "),
        # the layout
        (f"{VIEW}SELECT {'1' * 93} AS a;\n", "7: 106 columns wide, the limit is 100"),
        (f"{VIEW}\tSELECT 1 AS a;\n", "7: a tab"),
        (f"{HEAD}CREATE VIEW layers AS \nSELECT 1 AS a;\n", "6: space at the end of the line"),
        (f"{VIEW}SELECT 1 AS a;", "7: the file ends with exactly one line break"),
        (f"{VIEW}SELECT 1 AS a;\n\n", "9: the file ends with exactly one line break"),
        # the case of words
        (f"{VIEW}select 1 AS a;\n", "7: keywords and types are upper case: select"),
        (f"{VIEW}SELECT 1::bigint AS a;\n", "7: keywords and types are upper case: bigint"),
        (f"{VIEW}SELECT 1 AS a FROM b left JOIN c USING (a);\n", "7: keywords and types are upper"),
        (f"{VIEW}SELECT 1 AS aB;\n", "7: names are lower snake case: aB"),
        (f"{VIEW}SELECT COUNT(*) AS a;\n", "7: names are lower snake case: COUNT"),
        (f'{VIEW}SELECT 1 AS "Big a";\n', '7: names are lower snake case: "Big a"'),
        # the query
        (f"{VIEW}SELECT * FROM kernels;\n", "7: SELECT * in a public relation"),
        (f"{VIEW}SELECT 1 AS a,\n    k.* FROM kernels AS k;\n", "8: SELECT * in a public relation"),
        (f"{VIEW}FROM kernels;\n", "6: SELECT * in a public relation"),
        # the layering
        (f"{VIEW}SELECT a\nFROM operators;\n", "8: layers may not build on operators: model is not"),
        (f"{VIEW}SELECT a FROM steps;\n", "7: layers may not build on steps: timeline is not below"),
        (f"{VIEW}SELECT a FROM _runs;\n", "7: _runs is private to core"),
        (f"{VIEW}SELECT a FROM _runs(1, x := 2);\n", "_runs is private to core"),
        (f"{VIEW}SELECT operators(1) AS a;\n", "layers may not build on operators"),
        (f"{HEAD.replace('-- key: a', '--')}{BODY}", "6: a public relation names its key"),
        (f"{HEAD.replace('key: a', 'key: a, b')}{BODY}", "6: the key's b is no column"),
        (f"{HEAD.replace('key: a', 'key: rank')}{BODY}", "6: rank is no part of a key"),
        (f"{HEAD.replace('key: a', 'key: device?')}{BODY}", "6: device? is no part of a key where it may be NULL"),
        (
            f"{VIEW}SELECT a FROM kernels AS k JOIN kernels AS l ON k.device IS NOT DISTINCT FROM l.device;\n",
            "device are keys: join with = or USING",
        ),
        (f"{VIEW}SELECT sum(a) OVER (PARTITION BY rank) AS a FROM kernels;\n", "rank is an attribute of the trace"),
        (f"{VIEW}SELECT count(*) FILTER (a) OVER (ORDER BY a) AS a FROM kernels;\n", "a running count FILTER takes"),
        (
            f"{VIEW}SELECT count(*) FILTER (a) OVER in_order AS a FROM kernels WINDOW in_order AS (ORDER BY a);\n",
            "a running count FILTER takes",
        ),
        (
            f"{VIEW}SELECT count(a) FILTER (a) OVER (w ROWS 1 PRECEDING) AS a FROM kernels WINDOW w AS (ORDER BY a);\n",
            "a running count FILTER takes",
        ),
        (f"{VIEW}SELECT min(a) OVER (ORDER BY a {ONWARDS}) AS a FROM kernels;\n", "a frame to the end takes"),
        (
            f"{VIEW}SELECT sum(a) OVER (w {ONWARDS}) AS a FROM kernels WINDOW w AS (ORDER BY a);\n",
            "a frame to the end takes",
        ),
        (
            f"{VIEW}SELECT count(*) OVER w AS a FROM kernels WINDOW v AS (ORDER BY a), w AS (v {ONWARDS});\n",
            "a frame to the end takes",
        ),
        (
            f"{VIEW}WITH operators AS (SELECT a FROM operators) SELECT a FROM operators;\n",
            "7: layers may not build on operators",
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


def test_a_schema_is_of_the_folder_whose_relations_stand_in_places_there(tmp_path):
    for path, text in {
        "model/costs.sql": f"{HEAD}CREATE VIEW costs AS\nSELECT 1 AS a;\n",
        "compat/_other.sql": f"{HEAD.replace('-- key: a', '-- instead of: compat.costs')}CREATE VIEW _other AS\n"
        "SELECT 1 AS a;\n",
        "match/one.sql": f"{HEAD}CREATE VIEW one AS\nSELECT a FROM compat.costs;\n",
    }.items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    [fault] = map(str, lint(tmp_path))
    assert fault.endswith("match/one.sql:6: match may not build on compat: compat is not below it"), fault
