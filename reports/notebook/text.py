"""Reports as text that displays itself in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import os

    from ...engine.store import Store

#: Height of a page within a notebook, pixels.
_HEIGHT = 640
#: A framed page may run its own scripts, but load nothing.
_POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


class Text(str):
    """A text with an HTML display for notebooks."""

    __slots__ = ("_html",)
    _html: Callable[[], str]

    @classmethod
    def of(cls, text: str, html: Callable[[], str]) -> Self:
        """Return a text with a function that returns its HTML, called on display."""
        made = cls(text)
        made._html = html
        return made

    def _repr_html_(self) -> str:
        return self._html()


def framed(page: str, height: int = _HEIGHT) -> str:
    """Return a page in a frame of its own: its scripts cannot access the notebook, nor any network."""
    guarded = page.replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{_POLICY}">', 1)
    return (
        f'<iframe srcdoc="{escape(guarded)}" sandbox="allow-scripts" '
        f'style="width: 100%; height: {height}px; border: 0;"></iframe>'
    )


def plain(store: Store, text: str, *_: Any, **__: Any) -> str:  # noqa: ARG001
    """Return a text with its line breaks."""
    from ..page.fragment import Part, as_html

    return as_html(Part(plain=text))


def summary(store: Store, text: str, trace: str, format: str = "md", *, top: int = 10) -> str:
    """Return a summary as five lines and its tables."""
    from ..page.fragment import as_html
    from .summary import parts

    return plain(store, text) if format == "json" else as_html(*parts(store, trace, top))


def report(
    store: Store, text: str, trace: str, output: str | os.PathLike[str] | None = None, pass_id: int | None = None
) -> str:
    """Return a report as its page."""
    from ...analysis.passes import pass_to_show
    from ...analysis.traces import locate
    from ..trace.report import as_page

    if output is not None and Path(output).suffix.lower() == ".html":
        return framed(text)
    trace_id = locate(store, trace)
    return framed(as_page(store, trace_id, pass_to_show(store, trace_id, pass_id)))


#: The methods of a lake that return text, and their display functions of the store, the text and the arguments.
TEXTS: dict[str, Callable[..., str]] = {"summary": summary, "report": report, "mfu": plain, "trace_mfu": plain}
