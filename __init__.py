"""Profiler traces of LLM training and serving as Parquet tables, and the SQL that explains them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .version import __version__

if TYPE_CHECKING:
    from .lake import Lake

__all__ = ["Lake", "__version__", "open"]


def open(  # noqa: A001
    path: str | os.PathLike[str] = "tracelake", *, create: bool = True, unsafe: bool = False
) -> Lake:
    """Open the lake at `path`, creating an empty one if there is none.

    Args:
        path: the lake's folder, or its address in an object store: `s3://bucket/name`, `gs://`, `az://`.
        create: create a lake if there is none.
        unsafe: `sql` may do all that DuckDB can: read and write any file, attach databases, change settings.

    Raises:
        UsageError: there is no lake and `create` is false, or the folder holds other things.
        InputError: the lake is of a newer format, or cannot be read.
    """
    from .lake import Lake

    return Lake(path, create=create, unsafe=unsafe)


def __getattr__(name: str) -> Any:
    # DuckDB takes a while to import; `tracelake --help` does not need it.
    if name == "Lake":
        from .lake import Lake

        return Lake
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
