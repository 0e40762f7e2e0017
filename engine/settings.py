"""The settings of a trace: which there are, what their values may be, and which its answers depend on."""

from __future__ import annotations

import datetime
from typing import Any

import duckdb

from .errors import UsageError
from .storage.paths import readable

#: Settings with a type of their own; any other key is a tag. The view `traces` gives each its column.
INTEGER_SETTINGS = ("rank", "num_layers", "blocks_per_layer", "tp", "ep", "dp", "pp")
TEXT_SETTINGS = ("trace", "run", "model", "profile", "anchor", "anchor_role", "hardware", "config", "dedup")
ANCHOR_ROLES = ("begin", "inside", "end")
#: Rules for rows of an Ascend trace that show one thing twice: ours, the one of published figures, or all rows count.
DEDUP_RULES = ("tracelake", "compat", "none")
#: Former names of them, which stored settings may have, too.
_FORMER_RULES = {"seed": "compat"}


def check_settings(settings: dict[str, Any]) -> dict[str, str | None]:
    """Return settings as text, checked.

    Raises:
        UsageError: a number or a time is not one, a regular expression cannot be compiled, or a role is unknown.
    """
    checked: dict[str, str | None] = {}
    for key, value in settings.items():
        if not key.isidentifier():
            raise UsageError(f"{key}: not a setting's name: letters, digits and _ only.")
        if value is None or value == "":
            checked[key] = None
            continue
        text = str(value)
        if text != readable(text):
            raise UsageError(f"{key}: the value is not UTF-8.")
        if key in INTEGER_SETTINGS and not (text.isdecimal() and int(text) < 2**31):
            raise UsageError(f"{key}={text}: expected a whole number, as in {key}=8.")
        if key in INTEGER_SETTINGS and key != "rank" and int(text) == 0:
            raise UsageError(f"{key}=0: expected 1 or more.")
        if key == "anchor":
            _check_pattern(text)
        if key == "anchor_role" and text not in ANCHOR_ROLES:
            raise UsageError(f"anchor_role={text}: expected one of {', '.join(ANCHOR_ROLES)}.")
        checked[key] = dedup_rule(text) if key == "dedup" else moment(text) if key == "recorded_at" else text
    return checked


def dedup_rule(name: str) -> str:
    """Return a rule for rows that show one thing twice, given its name or its former one.

    Raises:
        UsageError: there is no such rule.
    """
    rule = _FORMER_RULES.get(name, name)
    if rule not in DEDUP_RULES:
        raise UsageError(f"dedup={name}: expected one of {', '.join(DEDUP_RULES)}.")
    return rule


def moment(text: str) -> str:
    """Return when a trace was recorded as ISO 8601 in UTC; without a zone it is in UTC already.

    Raises:
        UsageError: it is neither a date nor a date with a time.
    """
    try:
        when = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"recorded_at={text}: expected a date or a time, as in 2026-11-21 or 2026-11-21T02:00."
        ) from None
    return (when.astimezone(datetime.UTC) if when.tzinfo else when).replace(tzinfo=None).isoformat(" ")


def _check_pattern(pattern: str) -> None:
    try:
        # Not on DuckDB's own connection of the process, which is the caller's.
        with duckdb.connect() as connection:
            connection.execute("SELECT regexp_matches('', $1)", [pattern]).fetchall()
    except duckdb.Error as error:
        reason = str(error).split("Error: ", 1)[-1]
        raise UsageError(f"anchor={pattern}: not a regular expression (RE2): {reason}") from error


def changes_answers(key: str) -> bool:
    """Whether what is computed of a trace depends on a setting: not on its name, and on no tag."""
    return key in (*INTEGER_SETTINGS, *TEXT_SETTINGS) and key != "trace"
