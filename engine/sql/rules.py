"""Rule tables compiled into SQL functions.

DuckDB compiles a regular expression from a table again for every pair of name and rule, but a constant one only
once per query. So the rules of a table become one expression of constants when a query needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import duckdb

from ..errors import InputError
from . import parsed
from .modules import MATCHED, quoted


def create_rule_function(connection: duckdb.DuckDBPyConnection, table: str, *, check: bool) -> None:
    """Create the function of a table's rules.

    `_category_rule(name, profile)` is the priority of the first matching category rule, `_op_category_rule(text)` and
    `_trace_op_rule(text)` that of the first matching operator rule, `_matching_TABLE(text)` the priorities of all
    matching rules, `_display_name(name)` the name after all replacements, `_is_gap_marker(name)` if an operation of
    that name does no work of its own.

    Args:
        connection: the connection.
        table: the table, filled.
        check: try the expressions, for rules written by a user.

    Raises:
        InputError: a rule's regular expression cannot be compiled.
    """
    macro, call = _MACROS[table](connection)
    try:
        parsed.execute(connection, f"CREATE OR REPLACE MACRO {macro}")
        if check:
            connection.execute(f"SELECT {call}").fetchall()
    except duckdb.Error as error:
        raise InputError(f"{table}: a rule is not a regular expression (RE2): {error}") from error


def _category_rule(connection: duckdb.DuckDBPyConnection) -> tuple[str, str]:
    rules = connection.execute("SELECT priority, pattern, profile FROM category_rules ORDER BY priority").fetchall()
    branches = []
    for priority, pattern, profile in rules:
        condition = f"regexp_matches(kernel, {quoted(pattern)})"
        if profile:
            condition = f"kernel_profile = {quoted(profile)} AND {condition}"
        branches.append(f"WHEN {condition} THEN {priority}")
    return f"_category_rule(kernel, kernel_profile) AS {_ladder(branches)}", "_category_rule('', '')"


def _first(table: str, connection: duckdb.DuckDBPyConnection) -> tuple[str, str]:
    function = f"_{table.removesuffix('s')}"
    return f"{function}(text) AS {_ladder(_branches(table, connection))}", f"{function}('')"


def _all(table: str, connection: duckdb.DuckDBPyConnection) -> tuple[str, str]:
    tried = ", ".join(map(_ladder, ([branch] for branch in _branches(table, connection))))
    return (
        f"_matching_{table}(text) AS list_filter([{tried}]::INTEGER[], LAMBDA rule: rule IS NOT NULL)",
        f"_matching_{table}('')",
    )


def _branches(table: str, connection: duckdb.DuckDBPyConnection) -> list[str]:
    rules = connection.execute(f"SELECT priority, pattern FROM {table} ORDER BY priority").fetchall()
    return [f"WHEN regexp_matches(text, {quoted(pattern)}) THEN {priority}" for priority, pattern in rules]


def _ladder(branches: list[str]) -> str:
    return "CASE " + " ".join(branches) + " END" if branches else "NULL::INTEGER"


def _display_name(connection: duckdb.DuckDBPyConnection) -> tuple[str, str]:
    shown = "kernel"
    names = connection.execute("SELECT pattern, coalesce(replacement, '') FROM name_rules ORDER BY priority").fetchall()
    for pattern, replacement in names:
        shown = f"regexp_replace({shown}, {quoted(pattern)}, {quoted(replacement)}, 'g')"
    return f"_display_name(kernel) AS {shown}", "_display_name('')"


def _is_gap_marker(connection: duckdb.DuckDBPyConnection) -> tuple[str, str]:
    patterns = [pattern for (pattern,) in connection.execute("SELECT pattern FROM gap_markers ORDER BY 1").fetchall()]
    tried = " OR ".join(f"regexp_matches(lower(operation), {quoted(pattern)})" for pattern in patterns)
    return f"_is_gap_marker(operation) AS {tried or 'false'}", "_is_gap_marker('')"


_MACROS: dict[str, Callable[[duckdb.DuckDBPyConnection], tuple[str, str]]] = {
    "category_rules": _category_rule,
    "op_category_rules": partial(_first, "op_category_rules"),
    "trace_op_rules": partial(_first, "trace_op_rules"),
    "name_rules": _display_name,
    "gap_markers": _is_gap_marker,
    **{table: partial(_all, table) for table in MATCHED},
}
