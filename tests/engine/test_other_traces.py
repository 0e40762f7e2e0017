"""What a stored relation reads of other traces is declared, and read whole."""

import pytest

from tracelake.engine.sql import modules

from ..trace_reads import has_trace, reads_of_other_traces

MODULES = {entry.name: entry for entry in modules.modules()}


def with_trace() -> frozenset[str]:
    """Return the relations with a column `trace_id`; those in a file of another describe no columns."""
    found: set[str] = set()
    for name, entry in MODULES.items():
        described = any(column.name == "trace_id" for column in entry.columns)
        if described or (entry.kind == "VIEW" and not entry.columns and has_trace(entry.query, frozenset(found))):
            found.add(name)
    return frozenset(found)


WITH_TRACE = with_trace()
#: What is computed for a trace and stored, or held for all, and what that is made from. What is held of no trace, as
#: comparisons of sides, is computed anew where one of theirs changes.
STORED = sorted(
    name
    for name in set().union(*(modules.sources(name) for name in WITH_TRACE if MODULES[name].kept))
    # Those of the schema of_passes are the models' SQL: a row is of a scenario, and no two traces share one.
    if name in MODULES and MODULES[name].kind == "VIEW"
)
#: Relations that number the threads of all traces and go on by that number: their windows stay within a trace.
NUMBERED = {"_crowded_ops", "_op_nesting", "_scope_paths", "counted_operators", "module_calls"}


@pytest.mark.parametrize("name", STORED)
def test_a_stored_relation_reads_rows_of_other_traces_only_where_it_declares_them(name):
    found = [] if name in NUMBERED else reads_of_other_traces(MODULES[name].query, WITH_TRACE)
    tells = any(name in entry.others for entry in MODULES.values())
    assert MODULES[name].others or tells or not found, found


@pytest.mark.parametrize("name", sorted(set().union(*(entry.others for entry in MODULES.values()))))
def test_what_tells_of_other_traces_has_their_pairs_for_rows(lake, name):
    assert {"trace_id", "other_trace_id"} <= set(lake.sql(f"FROM {name}").columns)


@pytest.mark.parametrize(
    ("query", "stays"),
    [
        ("SELECT trace_id, x FROM a JOIN b USING (trace_id, y)", True),
        ("SELECT a.trace_id, x FROM a JOIN b ON b.y = a.y AND b.trace_id = a.trace_id", True),
        ("SELECT trace_id, x FROM a JOIN b USING (y)", False),
        ("SELECT a.trace_id, x FROM a JOIN b ON b.y = a.y OR b.trace_id = a.trace_id", False),
        ("SELECT trace_id, x FROM a SEMI JOIN b USING (y)", False),
        ("SELECT trace_id, max(x) FROM a GROUP BY trace_id", True),
        ("SELECT trace_id, max(x) FROM a GROUP BY ALL", True),
        ("SELECT run, max(x) FROM a GROUP BY run", False),
        ("SELECT trace_id, max(x) FROM a GROUP BY GROUPING SETS ((trace_id, y), (trace_id))", True),
        ("SELECT trace_id, max(x) FROM a GROUP BY GROUPING SETS ((trace_id, y), (y))", False),
        ("SELECT arg_max(x, y) FROM a", False),
        ("SELECT trace_id, max(x) OVER one FROM a WINDOW one AS (PARTITION BY trace_id)", True),
        ("SELECT trace_id, max(x) OVER (PARTITION BY y) FROM a", False),
        ("SELECT trace_id, x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.trace_id = a.trace_id)", True),
        ("SELECT trace_id, x FROM a WHERE y IN (SELECT y FROM b)", False),
        ("SELECT trace_id, x FROM a WHERE x = (SELECT max(x) FROM b)", False),
        ("SELECT trace_id, x FROM a LIMIT 1", False),
        ("WITH c AS (SELECT * FROM a) SELECT trace_id, x FROM c JOIN b USING (y)", False),
        ("WITH c AS (SELECT DISTINCT name, len(name) AS n FROM a) SELECT trace_id, n FROM a JOIN c USING (name)", True),
        ("SELECT trace_id, x FROM a JOIN rules USING (y)", True),
    ],
)
def test_the_parser_tells_a_query_that_stays_within_a_trace_from_one_that_does_not(query, stays):
    assert (reads_of_other_traces(query, frozenset("ab")) == []) is stays
