"""Writes an answer about several traces as a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...analysis.history import History
from ...analysis.ranks import Ranks
from ...analysis.sides import SideComparison
from ...engine.errors import UsageError
from ..notebook.answer import bare
from ..output.files import check_target, write_text
from ..page.page import as_html
from . import compare, history, ranks

if TYPE_CHECKING:
    from ...engine.store import Store


def write_page(store: Store, answer: SideComparison | History | Ranks, output: str | os.PathLike[str]) -> str:
    """Write an answer as a page and return it.

    Args:
        store: the lake that answered.
        answer: of `compare_sides`, `history` or `ranks`; a comparison must be the latest one.
        output: the file, .html.

    Raises:
        UsageError: the file is not .html, or the answer is of another kind.
        InputError: the file cannot be written.
    """
    if Path(output).suffix.lower() != ".html":
        raise UsageError(f"{os.fspath(output)}: a page is HTML (.html).")
    check_target(output)
    answer = bare(answer)
    if isinstance(answer, SideComparison):
        page = compare.page(store, answer)
    elif isinstance(answer, History):
        page = history.page(store, answer)
    elif isinstance(answer, Ranks):
        page = ranks.page(store, answer)
    else:
        raise UsageError("a page is of what compare_sides, history or ranks answered.")
    text = as_html(page)
    write_text(output, text)
    return text
