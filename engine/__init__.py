"""The lake: on-disk layout, catalog, DuckDB connection, SQL modules, materialisation."""

from typing import TYPE_CHECKING

from ..later import submodules

if TYPE_CHECKING:
    from . import changes, checks, invariants

__all__ = ["changes", "checks", "invariants"]
__getattr__ = submodules(__name__)
