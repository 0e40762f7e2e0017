"""The command that checks traces against budgets, for CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine.storage.paths import Place
from .common import open_lake, output_options, render_rows, say, write_answer

if TYPE_CHECKING:
    import duckdb


@click.command()
@click.argument("budgets", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--of", "sides", multiple=True, metavar="SIDE", help="What to judge: a trace, a run, a filter; repeatable."
)
@click.option("--baseline", metavar="SIDE", help="What budgets compare with; default: the baseline that is set.")
@click.option("--allow-unknown", is_flag=True, help="Let what cannot be judged pass.")
@click.option("--anyway", is_flag=True, help="Compare even what is measured in different ways.")
@output_options("junit")
@click.pass_obj
def check(
    lake: Place | None,
    budgets: tuple[Path, ...],
    sides: tuple[str, ...],
    baseline: str | None,
    allow_unknown: bool,
    anyway: bool,
    format_: str,
    output: Path | None,
    limit: int,
) -> None:
    """Hold traces against BUDGETS: TOML files of SQL queries with a name, a threshold and a sentence.

    A budget's query gives a row per thing judged: `value`, and if it likes `item`, `threshold` and `noise`. It may name
    any relation: comparisons and comparison_terms for changes, checked_traces for the traces that are judged.
    What exceeds its threshold fails; without a row, a value or a threshold, or within the noise, it cannot be judged,
    nor can what has nothing to compare, a baseline that is not in the lake, a comparison in which a run lacks ranks, or
    one whose steps of another program got slower.

    Exits with 0 if all pass, with 1 if one fails or cannot be judged, with 3 if a file or a query is unusable.

    \b
    Examples:
      tracelake check budgets.toml --of tuesday --baseline monday
      tracelake check budgets.toml --of tuesday --baseline monday --format junit -o budgets.xml
    """
    opened = open_lake(lake, trace=sides[0] if sides else None)
    answer = opened.check(*budgets, of=sides, baseline=baseline, anyway=anyway)
    rows = answer.fetchall()
    if format_ == "junit":
        write_answer(_junit(answer.columns, rows), output)
    else:
        render_rows(_for_people(answer) if format_ in ("table", "markdown") else answer, format_, output, limit)
    judged = [dict(zip(answer.columns, row, strict=True)) for row in rows]
    verdicts = [row["verdict"] for row in judged]
    if "cannot judge" in verdicts:
        for (doubt,) in opened.rows("SELECT DISTINCT message FROM _missing_ranks ORDER BY message"):
            say(f"{doubt}: that comparison cannot be judged.")
    for row in judged:
        # Where there are no numbers, the sentence has the reason; a narrow terminal has no room for it.
        if row["verdict"] == "cannot judge" and row["value"] is None:
            say(f"{row['budget']}: cannot judge: {row['sentence']}")
    say(", ".join(f"{verdict}: {verdicts.count(verdict)}" for verdict in ("pass", "fail", "cannot judge")) + ".")
    if "fail" in verdicts or ("cannot judge" in verdicts and not allow_unknown):
        raise SystemExit(1)


def _for_people(answer: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    return answer.order("list_position(['fail', 'cannot judge', 'pass'], verdict)").select(
        "verdict, budget, item, round(value, 3) AS value, round(threshold, 3) AS threshold, round(noise, 3) AS noise, "
        "unit, sentence"
    )


def _junit(columns: list[str], rows: list[tuple[object, ...]]) -> str:
    """Return verdicts as the XML that CI servers read: a suite per file, a case per row."""
    from xml.etree import ElementTree

    from ..engine.text import printable

    root = ElementTree.Element("testsuites")
    suites: dict[str, ElementTree.Element] = {}
    for row in rows:
        one = {name: "" if value is None else printable(str(value)) for name, value in zip(columns, row, strict=True)}
        if one["file"] not in suites:
            suites[one["file"]] = ElementTree.SubElement(root, "testsuite", name=one["file"])
        suite = suites[one["file"]]
        case = ElementTree.SubElement(suite, "testcase", classname=one["budget"], name=one["item"] or one["budget"])
        found = f" value {one['value']}, threshold {one['threshold']} {one['unit']}" if one["value"] else ""
        message = f"{one['sentence']}{found}".strip()
        if one["verdict"] == "fail":
            ElementTree.SubElement(case, "failure", message=message)
        elif one["verdict"] == "cannot judge":
            ElementTree.SubElement(case, "error", message=f"cannot judge: {message}")
    for suite in suites.values():
        suite.set("tests", str(len(suite)))
        for kind in ("failure", "error"):
            suite.set(f"{kind}s", str(len(suite.findall(f"testcase/{kind}"))))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
