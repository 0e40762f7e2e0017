"""Computes answers: which relations become tables, when, with how much memory, and how their rows are published."""

from typing import TYPE_CHECKING

from ...later import submodules

if TYPE_CHECKING:
    from . import cluster, renew

__all__ = ["cluster", "renew"]
__getattr__ = submodules(__name__)
