"""The SQL modules: what the loader reads of them is what a parser, and the database, say."""

import re
from collections import defaultdict

import pytest
import sqlglot
from sqlglot import exp

from tracelake.benchmarks import depths
from tracelake.engine.computing.as_tables import Emptiness
from tracelake.engine.current import Rules
from tracelake.engine.sql import module_files, modules
from tracelake.lake import Lake

from ..support import new_lake

MODULES = {entry.name: entry for entry in modules.modules()}
NAMES = list(MODULES)
RELATIONS = [name for name, entry in MODULES.items() if entry.kind != "MACRO"]
#: Those with a file of their own; the others are private to the file of their one user.
OF_FILES = [name for name in RELATIONS if MODULES[name].path.stem == name]


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    # What is stored, and what is known to have no rows, has the documented columns; here each has its query's own.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Emptiness, "reads_nothing", lambda self, entry: False)
        patch.setattr(Emptiness, "of_no_trace", lambda self, entry: False)
        yield Lake(tmp_path_factory.mktemp("modules") / "lake", stored=False)


@pytest.mark.parametrize("name", NAMES)
def test_the_relations_a_module_uses_are_those_that_a_parser_finds(name):
    entry = MODULES[name]
    # The parser does not read defaults in the signature of a macro.
    query = entry.sql.split(" AS TABLE\n", 1)[-1]
    [tree] = [statement for statement in sqlglot.parse(query, "duckdb") if statement is not None]
    own = {table.alias for table in tree.find_all(exp.CTE)} | {name}
    read = {f"{table.db}.{table.name}".lstrip(".") for table in tree.find_all(exp.Table)}
    called = {call.name for call in tree.find_all(exp.Anonymous)}
    known = {one.name for one in modules.relations()}
    assert entry.uses & known == ((read - own) | called) & known


@pytest.fixture(scope="module")
def comments(empty):
    """What the database says of each relation. Asked once of all: to describe one alone plans its view."""
    return dict(
        empty.sql(
            "SELECT view_name, comment FROM duckdb_views() WHERE schema_name = 'main' "
            "UNION ALL SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = 'main'"
        ).fetchall()
    )


@pytest.fixture(scope="module")
def columns(empty):
    """For each relation of the database its columns in order: name, type, comment."""
    found = defaultdict(list)
    for name, *column in empty.sql(
        "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() "
        "WHERE schema_name = 'main' ORDER BY table_name, column_index"
    ).fetchall():
        found[name].append(tuple(column))
    return found


@pytest.mark.parametrize("name", OF_FILES)
def test_every_column_is_documented_with_its_own_type_and_no_other_is(columns, name):
    # Of nested types the outer one is documented.
    found = [(column, re.sub(r"^(STRUCT|MAP)\(.*\)", r"\1", kind)) for column, kind, _ in columns[name]]
    documented = [(column.name, column.type) for column in MODULES[name].columns]
    assert found == documented
    assert all(column.text.strip() for column in MODULES[name].columns)


@pytest.mark.parametrize("name", OF_FILES)
def test_what_a_row_of_a_public_relation_is_and_its_columns_are_comments_in_the_database(comments, columns, name):
    """Helpers have none there: to comment on a column takes as long as to plan its view. `schema` shows theirs."""
    entry = MODULES[name]
    assert comments[name] == (entry.doc if entry.public else None)
    texts = [(column.name, column.text if entry.public else None) for column in entry.columns]
    assert [(column, comment) for column, _, comment in columns[name]] == texts


def test_a_module_comes_after_those_it_uses():
    places = {name: nth for nth, name in enumerate(NAMES)}
    late = [(name, used) for name in NAMES for used in MODULES[name].uses & set(NAMES) if places[used] > places[name]]
    assert late == []


def test_what_models_cost_rests_on_lookup_tables_alone_and_is_there_again_over_passes():
    """The first so that a what-if touches nothing of a trace; the second by the same SQL, for these alone."""
    of_models = {name for name, entry in MODULES.items() if entry.folder == "model"}
    below = {other for name in of_models for other in modules.sources(name)}
    assert {MODULES[name].folder for name in below} == {"model", "lookup", "config"}
    assert len(modules.sources("operators")) <= 57
    twins = {entry.name: entry for entry in modules.relations() if entry.name.startswith("of_passes.")}
    assert {"of_passes.operators", "of_passes.phase_roofline", "of_passes.architectures"} <= twins.keys()
    assert "of_passes.hardware_peaks" not in twins
    for name, entry in twins.items():
        twin = MODULES[name.removeprefix("of_passes.")]
        assert entry.columns == twin.columns or twin.name in ("_scenario_rows", "_known_configs")
        assert "traces" in modules.sources(name)
        assert not {"_scenario_rows", "_known_configs"} & modules.sources(name)
    assert "scenarios" not in modules.sources("measured_vs_modelled")


def test_what_stands_in_a_place_has_the_columns_of_what_is_there_elsewhere(empty):
    """Other relations name them; more columns do no harm."""
    instead = {entry.instead_of: name for name, entry in MODULES.items() if entry.instead_of}
    assert {"of_passes._scenario_rows", "of_passes._known_configs"} <= instead.keys()
    for place, name in instead.items():
        wanted = {row[:2] for row in empty.sql(f"DESCRIBE {place.partition('.')[2]}").fetchall()}
        assert wanted <= {row[:2] for row in empty.sql(f"DESCRIBE {name}").fetchall()}, place


def test_in_a_schema_nothing_rests_on_what_has_another_in_its_place(empty):
    places = [entry.instead_of for entry in MODULES.values() if entry.instead_of]
    for entry in modules.relations():
        if entry.is_twin:
            schema = entry.name.partition(".")[0]
            taken = {place.partition(".")[2] for place in places if place.startswith(f"{schema}.")}
            stands_in = {name for name, one in MODULES.items() if one.instead_of == entry.name}
            below = set() if stands_in else {used for used in entry.uses if "." not in used}
            assert not taken & below, entry.name
    assert empty.rows("SELECT count(*) FROM of_passes.phase_roofline") == [(0,)]


def test_a_relation_of_a_schema_is_created_only_where_it_is_named_with_it():
    assert modules.names_in("SELECT formulas = 'of_passes' FROM phase_roofline") == {"phase_roofline"}
    assert modules.names_in('SELECT 1 FROM "of_passes".phase_roofline') >= {"of_passes.phase_roofline"}
    assert modules.within("of_passes", "phase_roofline") == "of_passes.phase_roofline"
    assert modules.within("of_passes", "hardware") == "hardware"


def test_between_stored_relations_lie_a_dozen_views_at_most():
    views = [entry.name for entry in modules.modules() if entry.kind == "VIEW" and entry.folder != "invariants"]
    assert {name: deep for name in views if (deep := depths.depth(name)) > depths.LIMIT} == {}
    # Counted by hand: kernels reads stored rows alone, and a lookup table is no view.
    assert depths.depth("kernels") == 1
    assert depths.depth("category_rules") == 0


def test_own_rows_and_settings_give_another_fingerprint(tmp_path):
    layout = new_lake(tmp_path / "lake")
    shipped = Rules(layout).of({})
    assert shipped == Rules(layout).of({})
    assert shipped != Rules(layout).of({"model": "a"}) != Rules(layout).of({"model": "b"})
    layout.lookup.mkdir()
    (layout.lookup / "prices.csv").write_text("offer,hardware,usd_per_hour\n")
    assert Rules(layout).of({}) == shipped
    (layout.lookup / "category_rules.csv").write_text("priority,category,label,kind,pattern\n")
    assert Rules(layout).of({}) != shipped


def test_what_only_stored_relations_read_is_not_stored():
    # `layers` reads the one; the other is what anchors are chosen from.
    assert {"_layer_spans", "_kernels"} <= modules.stored()
    assert modules.module("_anchor_candidates").materialised
    assert "_anchor_candidates" not in modules.stored()
    assert modules.linked() <= modules.stored()


def test_a_file_that_creates_nothing_or_the_same_twice_is_refused(tmp_path):
    (tmp_path / "a.sql").write_text("-- Nothing.\nSELECT 1;\n")
    with pytest.raises(ValueError, match=r"a\.sql: no CREATE VIEW"):
        module_files.parsed(tmp_path)
    (tmp_path / "a.sql").write_text("-- One row.\nCREATE VIEW a AS\nSELECT 1 AS x;\n")
    (tmp_path / "b.sql").write_text("-- One row.\nCREATE VIEW a AS\nSELECT 1 AS x;\n")
    with pytest.raises(ValueError, match="a is created twice"):
        module_files.parsed(tmp_path)


def test_a_column_line_gives_name_type_and_text_and_goes_on_indented(tmp_path):
    (tmp_path / "a.sql").write_text(
        "-- One row per thing.\n--\n-- It has more to say.\n--\n"
        "-- x   BIGINT         what it is,\n--                    at length\n"
        "-- y   DECIMAL(38, 2) money\n-- zs  VARCHAR[]      words\nCREATE VIEW a AS\nSELECT 1 AS x;\n"
    )
    [entry] = module_files.parsed(tmp_path)
    assert entry.doc == "One row per thing.\n\nIt has more to say."
    assert [(column.name, column.type, column.text) for column in entry.columns] == [
        ("x", "BIGINT", "what it is, at length"), ("y", "DECIMAL(38, 2)", "money"), ("zs", "VARCHAR[]", "words"),
    ]  # fmt: skip
