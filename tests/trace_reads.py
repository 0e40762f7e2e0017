"""Which relations read rows of other traces: found by a parser, to be compared with what they declare.

A query stays within a trace when every join of two relations with a column `trace_id` equates these, every group and
every window has it among its keys, and every subquery is tied to it. Names, shapes and types are made into tables of
distinct values without a trace, of which each row follows from its own columns: to join these reads nothing of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sqlglot
from sqlglot import exp

#: What relations of the engine have a trace's rows, besides those of `sql/`.
TABLES = frozenset({"_event_rows", "_catalog", "_settings"})
#: Aggregates that the parser takes for any function.
AGGREGATES = frozenset("any_value arg_max arg_min bool_and bool_or first last list max_by min_by product".split())


def reads_of_other_traces(query: str, with_trace: frozenset[str]) -> list[str]:
    """Return the places of a view's query where rows of several traces meet.

    Args:
        query: the SELECT.
        with_trace: relations with a column `trace_id`.
    """
    found: list[str] = []
    known = dict.fromkeys(with_trace | TABLES, True)
    _rows_have_a_trace(sqlglot.parse_one(query, dialect="duckdb"), known, found)
    return found


def has_trace(query: str, with_trace: frozenset[str]) -> bool:
    """Whether the rows of a view's query have a column `trace_id`."""
    known = dict.fromkeys(with_trace | TABLES, True)
    return _rows_have_a_trace(sqlglot.parse_one(query, dialect="duckdb"), known, [])


def _rows_have_a_trace(query: exp.Expr, known: Mapping[str, bool], found: list[str]) -> bool:
    """Whether the rows of a query have a column `trace_id`; adds to `found` what is wrong inside."""
    if isinstance(query, exp.Subquery):
        return _rows_have_a_trace(query.this, known, found)
    names = dict(known)
    with_ = query.args.get("with_")
    for cte in with_.expressions if with_ else ():
        # A recursive query names itself.
        names[cte.alias.lower()] = bool(with_.recursive)
        names[cte.alias.lower()] = _rows_have_a_trace(cte.this, names, found)
    if isinstance(query, exp.SetOperation):
        sides = [_rows_have_a_trace(side, names, found) for side in (query.this, query.expression)]
        return any(sides)
    if not isinstance(query, exp.Select):
        return False
    has_trace = _lint_joins(query, names, found)
    _lint_subqueries(query, names, found)
    if has_trace:
        _lint_groups(query, found)
        _lint_windows(query, found)
        if query.args.get("limit"):
            found.append("LIMIT")
    columns = {column.alias_or_name for column in query.expressions}
    has_star = any(column.find(exp.Star) and not column.find(exp.Count) for column in query.expressions)
    return "trace_id" in columns or (has_star and has_trace)


def _source_has_trace(source: exp.Expr, names: Mapping[str, bool], found: list[str]) -> bool:
    if isinstance(source, exp.Table):
        return names.get(source.name.lower(), False)
    return isinstance(source, exp.Subquery) and _rows_have_a_trace(source.this, names, found)


def _lint_joins(query: exp.Select, names: Mapping[str, bool], found: list[str]) -> bool:
    """Whether any source of a query has a trace; each after the first must be tied to those before."""
    from_ = query.args.get("from_")
    has_trace = from_ is not None and _source_has_trace(from_.this, names, found)
    for join in query.args.get("joins") or ():
        joined = _source_has_trace(join.this, names, found)
        tied = any(column.name == "trace_id" for column in join.args.get("using") or ())
        if joined and has_trace and not (tied or _equates_traces(join.args.get("on"))):
            found.append(join.sql("duckdb"))
        has_trace |= joined
    return has_trace


def _lint_subqueries(query: exp.Select, names: Mapping[str, bool], found: list[str]) -> None:
    for inner in _within(query, exp.Subquery, exp.Exists, exp.In):
        held = inner.args.get("query") if isinstance(inner, exp.In) else inner.this
        held = held.this if isinstance(held, exp.Subquery) else held
        if not isinstance(held, exp.Select) or isinstance(inner.parent, exp.From | exp.Join):
            continue
        sources: list[str] = []
        from_ = held.args.get("from_")
        reads_trace = from_ is not None and _source_has_trace(from_.this, names, sources)
        where = held.args.get("where")
        if reads_trace and not _equates_traces(where.this if where else None):
            found.append(held.sql("duckdb"))


def _lint_groups(query: exp.Select, found: list[str]) -> None:
    group = query.args.get("group")
    if group is None:
        found.extend(call.sql("duckdb") for call in _aggregates(query))
        return
    by_all = group.args.get("all") and "trace_id" in {column.alias_or_name for column in query.expressions}
    # Of grouping sets each is a grouping of its own.
    sets = [one for each in group.find_all(exp.GroupingSets) for one in each.expressions]
    keys = [[*group.expressions, *one.find_all(exp.Column)] for one in sets] or [group.expressions]
    if not by_all and not all(any(map(_is_trace, of_one)) for of_one in keys):
        found.append(group.sql("duckdb"))


def _aggregates(query: exp.Select) -> Iterator[exp.Expr]:
    for call in _within(query, exp.AggFunc, exp.Anonymous):
        is_aggregate = isinstance(call, exp.AggFunc) or call.name.lower() in AGGREGATES
        if is_aggregate and not call.find_ancestor(exp.Window, exp.Lambda):
            yield call


def _lint_windows(query: exp.Select, found: list[str]) -> None:
    named = {window.this.name: window for window in query.args.get("windows") or ()}
    for window in _within(query, exp.Window):
        alias = window.args.get("alias")
        keys = window.args.get("partition_by") or (
            named[alias.name].args.get("partition_by") if alias is not None and alias.name in named else None
        )
        if not any(map(_is_trace, keys or ())):
            found.append(window.sql("duckdb"))


def _within(query: exp.Select, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Nodes of a query that are not those of a query inside it."""
    for node in query.find_all(*kinds):
        if node.find_ancestor(exp.Select) is query:
            yield node


def _is_trace(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name == "trace_id"


def _equates_traces(condition: exp.Expr | None) -> bool:
    """Whether a condition that must hold says that two traces are one."""
    if isinstance(condition, exp.And):
        return _equates_traces(condition.this) or _equates_traces(condition.expression)
    if isinstance(condition, exp.Paren):
        return _equates_traces(condition.this)
    return isinstance(condition, exp.EQ) and _is_trace(condition.this) and _is_trace(condition.expression)
