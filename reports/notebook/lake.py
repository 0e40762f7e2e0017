"""A lake in a notebook: its traces as a table, single traces by name, and answers that display themselves."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...engine.text import printable
from .text import TEXTS, Text

if TYPE_CHECKING:
    from ...lake import Lake

#: The methods whose answers are displayed as tables, and the relations whose columns these have all of.
ANSWERS = {
    "sql": "", "traces": "traces", "doctor": "health", "passes": "passes", "layers": "layers", "kernels": "kernels",
    "layer_types": "layer_types", "layer_diff": "layer_diff", "perfetto": "perfetto_ranges",
    "anchor_candidates": "anchor_candidates", "trace_ops": "trace_ops", "roofline_of": "", "validate": "",
    "template_vs_trace": "", "calibrations": "", "models": "models", "model": "", "operators": "operators",
    "model_roofline": "", "check": "", "shapes": "shapes", "align": "", "compare": "", "compare_sides": "",
    "history": "", "ranks": "", "measured_vs_modelled": "", "model_sweep": "",
}  # fmt: skip


def shows_itself(kind: type[Lake]) -> type[Lake]:
    """Make a lake, and the answers of its methods, display themselves in a notebook."""
    for name, relation in ANSWERS.items():
        setattr(kind, name, _answering(getattr(kind, name), relation))
    for name, html in TEXTS.items():
        setattr(kind, name, _telling(getattr(kind, name), html))
    for name, method in (("__repr__", _name), ("_repr_html_", _html), ("_ipython_key_completions_", _traces)):
        setattr(kind, name, method)
    # `lake[...]` returns one trace, so a lake must not be iterated as a sequence.
    kind.__iter__ = None  # type: ignore[attr-defined]
    return kind


def is_notebook() -> bool:
    """Return whether IPython runs this: elsewhere methods return plain answers."""
    return "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None


def _name(lake: Lake) -> str:
    return f"Lake({printable(str(lake.path))!r})"


def _html(lake: Lake) -> str:
    from ..page.fragment import as_html
    from .answer import relation_part

    traces = lake.store.sql("FROM traces")
    return as_html(relation_part(lake.store, traces, "traces", f"Lake {lake.path}"))


def _traces(lake: Lake) -> list[str]:
    return [trace for (trace,) in lake.rows("SELECT trace FROM traces ORDER BY trace")]


def _answering(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a method whose answer displays itself."""

    @functools.wraps(method)
    def answered(lake: Lake, *given: Any, **named: Any) -> Any:
        if not is_notebook():
            return method(lake, *given, **named)
        from .answer import bare, shown

        found = bare(method(lake, *given, **named))
        layer_kernels = name == "kernels" and "layer_id" in found.columns
        return shown(lake.store, found, "layer_kernels" if layer_kernels else name)

    return answered


def _telling(method: Callable[..., Any], html: Callable[..., str]) -> Callable[..., Any]:
    """Return a method whose text displays itself."""

    @functools.wraps(method)
    def told(lake: Lake, *given: Any, **named: Any) -> str:
        text: str = method(lake, *given, **named)
        if not is_notebook():
            return text
        return Text.of(text, lambda: html(lake.store, text, *given, **named))

    return told
