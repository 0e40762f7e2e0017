"""Replicas of other tools' reports, errors included; nothing else reads them."""

from pathlib import Path

from .lake import Compat

__all__ = ["PROSE", "Compat"]

#: Prose of model reports that sets of formulas have in the place of the usual one.
PROSE = {"compat": Path(__file__).with_name("prose.md")}
