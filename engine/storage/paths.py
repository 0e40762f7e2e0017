"""Paths as DuckDB takes them, and what a lake may contain: plain files and folders, never a link out of it.

In paths to read DuckDB takes `*`, `?` and `[` for wildcards, `key=value` of a folder for a column, and prefixes such as
`s3:` for remote places. A lake may have any path, so special characters are escaped. A lake in an object store has
objects instead of files, and the same functions handle them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

from ..errors import InputError, UsageError
from .objects import ObjectPath, is_address

#: The location of a lake, or of a file in it.
Place = Path | ObjectPath
#: A trace id: a prefix of a digest. Anything else is never used in a path.
TRACE_ID = re.compile(r"[0-9a-f]{16}")
_WILD = re.compile(r"[*?\[]")
#: Tried with deltalake 1.6, which parses paths as URLs, however they are quoted.
_NOT_OF_TABLES = re.compile(r"[%\[\]\\^|\x00-\x1f\x7f]")


def place_of(path: str | os.PathLike[str] | ObjectPath) -> Place:
    """Return the place for a path given by a user: an address with `://` is an object store, anything else a folder.

    Raises:
        UsageError: the address is not valid for a lake, or was turned into a Path.
    """
    if isinstance(path, ObjectPath):
        return path
    if isinstance(path, str) and is_address(path):
        return ObjectPath.parse(path)
    if not isinstance(path, str) and re.match(r"(s3|gs|az):/", str(path)):
        raise UsageError(f"{path}: a path has lost a part of this address; give it as text.")
    return Path(path)


def check_usable(path: Path) -> None:
    """Check that DuckDB can open a path.

    Raises:
        InputError: it is not UTF-8, or no pattern can match it.
    """
    try:
        text = as_text(path)
    except UnicodeDecodeError:
        raise InputError(
            f"{readable(path)}: this path is not UTF-8, and DuckDB opens no other. Give another."
        ) from None
    except OSError as error:
        # The current folder was removed.
        raise InputError(f"{path}: cannot be found: {error.strerror}.") from error
    if "\\" in text and _WILD.search(text):
        raise InputError(f"{path}: DuckDB cannot open a path that holds a backslash and one of * ? [. Give another.")


def check_table_path(path: Path) -> None:
    """Check that Delta's library can open a path.

    Raises:
        InputError: it has a character that the library misinterprets or drops.
    """
    if found := _NOT_OF_TABLES.search(as_text(path)):
        raise InputError(
            f"{path}: a lake's path cannot hold {found[0]!r}: Delta tables cannot lie there. Give another."
        )


def readable(path: str | os.PathLike[str]) -> str:
    """Return a path or a command-line word as text to store; bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def pattern(path: Place) -> str:
    """Return the pattern that matches exactly one file, for DuckDB's readers."""
    if isinstance(path, ObjectPath):
        return path.url
    return _WILD.sub(r"[\g<0>]", as_text(path))


def file_literal(path: Path) -> str:
    """Return the SQL literal of the path of a file to write."""
    return "'" + as_text(path).replace("'", "''") + "'"


def parquet_rows(files: Iterable[Place]) -> str:
    """Return the table function that reads these Parquet files, without columns from their paths."""
    listed = ", ".join("'" + pattern(path).replace("'", "''") + "'" for path in files)
    return f"read_parquet([{listed}], hive_partitioning = false)"


def is_plain_folder(path: Path) -> bool:
    """Whether a path is a folder, not a link to one."""
    return _kind(path) == stat.S_IFDIR


@overload
def plain_files(folder: Path, suffix: str) -> list[Path]: ...
@overload
def plain_files(folder: Place, suffix: str) -> Sequence[Place]: ...
def plain_files(folder: Place, suffix: str) -> Sequence[Place]:
    """Return the files of a folder that end in `suffix`, sorted; links, and files in a linked folder, are left out."""
    if isinstance(folder, ObjectPath):
        return sorted(path for path in folder.iterdir() if path.info and path.name.endswith(suffix))
    return sorted(path for path in _inside(folder) if path.name.endswith(suffix) and _kind(path) == stat.S_IFREG)


def plain_folders(folder: Place) -> Sequence[Place]:
    """Return the folders in a folder, sorted; links are left out."""
    if isinstance(folder, ObjectPath):
        return sorted(path for path in folder.iterdir() if not path.info)
    return sorted(path for path in _inside(folder) if is_plain_folder(path))


def as_text(path: Path) -> str:
    """Return an absolute path as UTF-8, independent of the locale."""
    # From the bytes: with a locale other than UTF-8, Python decodes them differently.
    return os.fsencode(path.absolute()).decode("utf-8")


def _inside(folder: Path) -> Iterator[Path]:
    # A name that is not UTF-8 is not ours, and DuckDB could not open it.
    names = os.listdir(folder) if is_plain_folder(folder) else []  # noqa: PTH208
    return (folder / name for name in names if readable(name).isprintable())


def _kind(path: Path) -> int:
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except PermissionError:
        # It may well be there.
        raise
    except OSError:
        return 0
