"""What an assistant can read: the relations, documented by the comments of their SQL, and the guides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..engine.errors import UsageError
from ..engine.sql.near import guess
from ..reports.output import schema as pages

_DOCS = Path(__file__).resolve().parents[1] / "docs"
RELATIONS = "tracelake://relations"
RELATION = RELATIONS + "/{relation}"
_GUIDES = "tracelake://guides/"


@dataclass(frozen=True)
class Page:
    """A readable page.

    Attributes:
        uri: its address.
        name: its name.
        title: what it is about.
        kind: its media type.
    """

    uri: str
    name: str
    title: str
    kind: str


def listed() -> Iterator[Page]:
    """Yield the listed pages: a page of all relations, and the guides."""
    yield Page(RELATIONS, "relations", "The relations for SQL, each with what a row of it is", "text/plain")
    for name, path in _guides().items():
        title = path.read_text(encoding="utf-8").partition("\n# " if name == "skill" else "# ")[2].partition("\n")[0]
        yield Page(_GUIDES + name, name, title, "text/markdown")


def read(uri: str) -> tuple[str, str]:
    """Return the media type of a page and its text.

    Raises:
        UsageError: there is no such page.
    """
    if uri == RELATIONS:
        return "text/plain", "\n".join(f"{'  ' * bool(name)}{name}  {text}" for _, name, text in pages.overview())
    if uri.startswith(f"{RELATIONS}/"):
        return "text/plain", pages.describe(uri.removeprefix(f"{RELATIONS}/"))
    guides = _guides()
    name = uri.removeprefix(_GUIDES)
    if name not in guides:
        known = [RELATIONS, RELATION, *(_GUIDES + one for one in guides)]
        raise UsageError(f"{uri}: no such page.{guess(uri, known)}")
    return "text/markdown", guides[name].read_text(encoding="utf-8")


def _guides() -> dict[str, Path]:
    """Return the guides by name, the skill for assistants first."""
    found = {path.stem: path for path in sorted((_DOCS / "guide").glob("*.md"))}
    return {"skill": _DOCS / "skills" / "tracelake-analysis" / "SKILL.md"} | found
