"""Commands by name, imported lazily: a command line runs only one of them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, MutableMapping

import click

from ..engine import replicas


class Commands(MutableMapping[str, click.Command]):
    """The commands of a group, in order of definition.

    When a command is imported, the replicas of other tools' figures add their options to it.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        """Register the commands without importing them.

        Args:
            places: for each command its module in this package and its name there, as `traces.remove`.
        """
        self._places = places
        self._there: dict[str, click.Command | None] = dict.fromkeys(places)

    def __getitem__(self, name: str) -> click.Command:
        if (there := self._there[name]) is None:
            place = self._places[name]
            module, _, attribute = place.partition(".")
            there = self._there[name] = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
            if other_tools := replicas.of("commands"):
                other_tools.extend(place, there)
        return there

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._there[name] = command

    def __delitem__(self, name: str) -> None:
        del self._there[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._there)

    def __len__(self) -> int:
        return len(self._there)
