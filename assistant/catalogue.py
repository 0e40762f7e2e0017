"""The tools from `tools.toml`: the description of each, its arguments, and the next questions."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..engine.errors import UsageError
from ..engine.sql.near import guess

_TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool}
#: Maximum characters of a text argument.
LONGEST_TEXT = 20_000


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes:
        name: its name.
        about: what it answers.
        arguments: its arguments by name: type, about, and optionally required, default, choices, minimum, maximum.
        next: the questions that its answers may propose: tool, why, arguments, and optionally `if`.
        writes: whether it changes the lake.
    """

    name: str
    about: str
    arguments: Mapping[str, Mapping[str, Any]]
    next: tuple[Mapping[str, Any], ...]
    writes: bool

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": {name: _property(given) for name, given in self.arguments.items()},
            "required": [name for name, given in self.arguments.items() if given.get("required")],
            "additionalProperties": False,
        }

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all arguments; missing ones have their default or None.

        Raises:
            UsageError: one is unknown, missing, of another type, or not one of its choices.
        """
        for name in given:
            if name not in self.arguments:
                known = ", ".join(self.arguments)
                raise UsageError(
                    f"{name}: {self.name} has no such argument.{guess(name, self.arguments)} It has {known}."
                )
        return {name: _checked(name, given.get(name), rule) for name, rule in self.arguments.items()}

    def questions(self, facts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the questions to propose after an answer with these facts.

        Args:
            facts: our own ids, numbers and words; never text from a trace.
        """
        for one in self.next:
            given = {key: (str(value)[-2:] != "?}", _filled(value, facts)) for key, value in one["arguments"].items()}
            filled = {key: value for key, (needed, value) in given.items() if needed or value is not None}
            if None not in filled.values() and facts.get(one.get("if", ""), "if" not in one):
                yield {"why": one["why"], "tool": one["tool"], "arguments": filled}


def _property(given: Mapping[str, Any]) -> dict[str, Any]:
    found = {"type": given["type"], "description": given["about"]}
    found |= {key: given[key] for key in ("default", "minimum", "maximum") if key in given}
    if "choices" in given:
        found["enum"] = list(given["choices"])
    return found


def _checked(name: str, value: Any, rule: Mapping[str, Any]) -> Any:
    if value is None:
        if rule.get("required"):
            raise UsageError(f"{name} is missing: {rule['about']}.")
        return rule.get("default")
    kind = _TYPES[rule["type"]]
    # In Python a bool is an int.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UsageError(f"{name}: expected {'an' if kind is int else 'a'} {rule['type']}: {rule['about']}.")
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise UsageError(f"{name}: {len(value)} characters, at most {LONGEST_TEXT}.")
    if "choices" in rule and value not in rule["choices"]:
        raise UsageError(f"{name}: expected one of {', '.join(rule['choices'])}.")
    low, high = rule.get("minimum"), rule.get("maximum")
    if (low is not None and value < low) or (high is not None and value > high):
        raise UsageError(f"{name}: expected a number from {low}{'' if high is None else f' to {high}'}.")
    return value


def _filled(value: Any, facts: Mapping[str, Any]) -> Any:
    """Return an argument with its placeholder filled in; None if there is no such fact."""
    if not isinstance(value, str) or "{" not in value:
        return value
    if value[0] == "{" and value[-1] == "}":
        return facts.get(value[1:-1].removesuffix("?"))  # unchanged: a number stays one
    try:
        return value.format_map(facts)
    except KeyError:
        return None


@functools.cache
def _file() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("tools.toml").read_text(encoding="utf-8"))


@functools.cache
def tools() -> Mapping[str, Tool]:
    """Return the tools by name."""
    from ..reports.summary.sections import SECTIONS

    found = _file()
    choices = {"sections": tuple(section.key for section in SECTIONS)}
    return {
        name: Tool(
            name,
            given["about"],
            {
                argument: rule | ({"choices": choices[rule["choices"]]} if isinstance(rule.get("choices"), str) else {})
                for argument, rule in (
                    given.get("arguments", {}) | {one: found["arguments"][one] for one in given.get("takes", [])}
                ).items()
            },
            tuple(given.get("next", [])),
            bool(given.get("writes")),
        )
        for name, given in found["tools"].items()
    }


def instructions() -> str:
    """Return the instructions for the assistant."""
    return str(_file()["instructions"]).strip()


def notice() -> str:
    """Return the sentence in each answer that its content is quoted."""
    return str(_file()["notice"])


def units(columns: list[str]) -> dict[str, str]:
    """Return the units of columns, by the suffix of their names, or by a name that is one: flop, gbps, tflops."""
    known = _file()["units"]
    # The longest suffix wins: tokens_per_s, not _s.
    longest = (max(filter(f"_{column}".endswith, known), key=len, default="") for column in columns)
    return {suffix: known[suffix] for suffix in dict.fromkeys(longest) if suffix}
