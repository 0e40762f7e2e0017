"""The depth of the SQL: what a query of each public relation makes DuckDB expand.

    python benchmarks/depths.py [RELATION...]

Prints, deepest first: the number of relations that one depends on (closure), and the longest chain of views from it to
what is stored, in files, in memory or as a lookup table (depth). DuckDB expands views into the query, so the closure is
what a query may have to plan while nothing is stored, the depth what it expands at most once everything is. The design
limit is a dozen; if a relation exceeds it the exit code is 1.
"""

from __future__ import annotations

import functools
import sys

from tracelake.engine.sql import modules

LIMIT = 12


@functools.cache
def depth(name: str) -> int:
    """Return the number of views on the longest path from a relation to stored rows, itself included; not macros."""
    entry = modules.known(name)
    below = max((depth(other.name) for other in modules.direct(entry) if not _is_stored(other)), default=0)
    return below + (entry.kind == "VIEW")


def _is_stored(entry: modules.Module) -> bool:
    return entry.kind == "TABLE" or entry.materialised or entry.in_memory


def main() -> int:
    """Print the figures; return 1 if a relation is too deep."""
    relations = [entry.name for entry in modules.modules() if entry.kind == "VIEW" and entry.folder != "invariants"]
    shown = sys.argv[1:] or [name for name in relations if not name.startswith("_")]
    print(f"{'relation':<32} closure  depth")
    for name in sorted(shown, key=lambda name: (-depth(name), name)):
        print(f"{name:<32} {len(modules.sources(name)):>7} {depth(name):>6}")
    deep = [name for name in relations if depth(name) > LIMIT]
    print(f"above {LIMIT}: {', '.join(deep) or 'none'}")
    return 1 if deep else 0


if __name__ == "__main__":
    sys.exit(main())
