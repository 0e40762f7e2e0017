"""All traces of a lake as a page, newest first, each with its main facts."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.errors import UsageError
from ..output.files import check_target, write_text
from ..summary.headline import Headline, headlines
from .page import Card, Page, Section, as_html

if TYPE_CHECKING:
    from ...engine.store import Store

#: Maximum number of traces on a page, which keeps it under 3 MB.
_MOST = 1000


def write_index(store: Store, output: str | os.PathLike[str]) -> str:
    """Write all traces of a lake as a page and return it.

    A trace links to its own page if that lies beside this one, as written by `tracelake report T -o T.html`, with T its
    name if no other trace has it, or its id.

    Args:
        store: the lake.
        output: the file, .html.

    Raises:
        UsageError: the file is not .html.
        InputError: the file cannot be written.
    """
    if Path(output).suffix.lower() != ".html":
        raise UsageError(f"{os.fspath(output)}: the report of a lake is a page (.html).")
    check_target(output)
    text = as_html(_page(headlines(store), str(store.path), Path(output).absolute().parent))
    write_text(output, text)
    return text


def _page(found: list[Headline], lake: str, folder: Path) -> Page:
    shown = found[:_MOST]
    some = f" The newest {_MOST} of {len(found)} are shown." if len(found) > _MOST else ""
    see = f"The newest first; a coloured edge marks checks that found something.{some}"
    if not found:
        see = "The lake is empty: `tracelake ingest FILE` adds a trace."
    times = Counter(one.trace for one in found)
    cards = tuple(_card(one, folder, is_only=times[one.trace] == 1) for one in shown)
    title = f"{len(found)} trace{'' if len(found) == 1 else 's'}"
    return Page(title, f"Lake {lake}", None, (Section("traces", "Traces", see, cards=cards),))


def _card(found: Headline, folder: Path, *, is_only: bool) -> Card:
    """Return the card of a trace.

    Args:
        found: its headline.
        folder: where its page may be.
        is_only: no other trace has its name.
    """
    lines = dict(found.lines())
    # If several traces share a name, the page of that name may belong to another one.
    words = [found.trace, found.trace_id] if is_only else [found.trace_id]
    own = next((f"{word}.html" for word in words if os.sep not in word and (folder / f"{word}.html").is_file()), "")
    hint = () if own else (f"`tracelake report {words[0]} -o {words[0]}.html` writes its page.",)
    return Card(
        found.trace, (lines["what"], lines["step"], found.lead, lines["trust"], *hint), found.mood,
        link=_address(own) if own else "", parts=found.parts,
    )  # fmt: skip


def _address(name: str) -> str:
    from urllib.parse import quote

    # "./": a name such as javascript:x.html must not be taken for a URL.
    return "./" + quote(name)
