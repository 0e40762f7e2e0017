"""Replicas of other tools' reports, including their errors; nothing else reads them."""

from pathlib import Path

from .lake import Compat

__all__ = ["PROSE", "Compat"]

#: Prose of model reports that a set of formulas replaces.
PROSE = {"compat": Path(__file__).with_name("prose.md")}
