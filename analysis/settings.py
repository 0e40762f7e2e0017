"""The valid values of a trace's settings."""

from __future__ import annotations

import datetime
from typing import Any

import duckdb

from ..engine.errors import UsageError
from ..engine.settings import FROM_ZERO, INTEGER_SETTINGS
from ..engine.storage.paths import readable

ANCHOR_ROLES = ("begin", "inside", "end")
#: Rules for duplicate rows of an Ascend trace: ours, that of published figures, or keep all.
DEDUP_RULES = ("tracelake", "compat", "none")
#: Former names of the rules, which stored settings may still have.
_FORMER_RULES = {"seed": "compat"}


def check_settings(settings: dict[str, Any]) -> dict[str, str | None]:
    """Validate settings and return them as text.

    Raises:
        UsageError: a number or a time is invalid, a regular expression does not compile, or a role is unknown.
    """
    checked: dict[str, str | None] = {}
    for key, value in settings.items():
        if not key.isidentifier():
            raise UsageError(f"{key}: not a setting's name: letters, digits and _ only.")
        if value is None or value == "":
            checked[key] = None
            continue
        if key == "name":
            raise UsageError(f"name={value}: a trace's name is its setting trace, as in trace={value}.")
        text = str(value)
        if text != readable(text):
            raise UsageError(f"{key}: the value is not UTF-8.")
        if key in INTEGER_SETTINGS and not (text.isdecimal() and int(text) < 2**31):
            raise UsageError(f"{key}={text}: expected a whole number, as in {key}=8.")
        if key in INTEGER_SETTINGS and key not in FROM_ZERO and int(text) == 0:
            raise UsageError(f"{key}=0: expected 1 or more.")
        if key == "anchor":
            _check_pattern(text)
        if key == "anchor_role" and text not in ANCHOR_ROLES:
            raise UsageError(f"anchor_role={text}: expected one of {', '.join(ANCHOR_ROLES)}.")
        checked[key] = dedup_rule(text) if key == "dedup" else moment(text) if key == "recorded_at" else text
    return checked


def dedup_rule(name: str) -> str:
    """Return the rule for duplicate rows, given its current or former name.

    Raises:
        UsageError: there is no such rule.
    """
    rule = _FORMER_RULES.get(name, name)
    if rule not in DEDUP_RULES:
        raise UsageError(f"dedup={name}: expected one of {', '.join(DEDUP_RULES)}.")
    return rule


def moment(text: str) -> str:
    """Return a recording time as ISO 8601 in UTC; a time without a zone is taken as UTC.

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
        # Not on DuckDB's default connection, which belongs to the caller.
        with duckdb.connect() as connection:
            connection.execute("SELECT regexp_matches('', $1)", [pattern]).fetchall()
    except duckdb.Error as error:
        reason = str(error).split("Error: ", 1)[-1]
        raise UsageError(f"anchor={pattern}: not a regular expression (RE2): {reason}") from error
