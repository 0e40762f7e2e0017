"""The charts of a trace's page as altair objects, which display themselves without network access."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from ...engine.errors import UsageError
from ..charts.vega import altair_module, scripts
from ..page.page import spelled
from ..trace.page import drawn_section
from .text import framed

if TYPE_CHECKING:
    from ...engine.store import Store

#: Pixels of a chart without its axes and legend, and of those.
_WIDTH, _HEIGHT, _AROUND = 720, 300, 110
#: Greys that are readable on white and on black, and colours of points.
_GREY, _LINE = "#7b7b7b", "rgba(128, 128, 128, 0.35)"
_TEXT = {"labelColor": _GREY, "titleColor": _GREY, "titleFontWeight": "normal"}
_CONFIG = {
    "background": "transparent", "font": "system-ui, Helvetica, Arial, sans-serif",
    "axis": {**_TEXT, "gridColor": _LINE, "domainColor": _LINE, "tickColor": _LINE},
    "legend": {**_TEXT, "labelLimit": 220, "symbolType": "square"}, "view": {"stroke": "transparent"},
    "title": {"color": _GREY, "anchor": "start", "fontSize": 13, "fontWeight": "normal"},
    "range": {"category": [
        "#2f9c77", "#cf6a2c", "#4a7fc4", "#a4569a", "#b58a10", "#7f8a95", "#c4483c", "#4fa3a8", "#7768c0", "#6fa83f",
    ]},
}  # fmt: skip
_PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<style>body {{ margin: 0; }} #chart {{ width: 100%; }}</style></head>
<body><div id="chart"></div><script>{scripts}</script>
<script>vegaEmbed("#chart", {spec}, {{actions: false, renderer: "svg"}});</script></body></html>"""


class Charts:
    """The charts of one trace's page. Each is an altair chart, which can be changed and saved.

    If there is nothing to draw, a UsageError gives the reason.
    """

    def __init__(self, store: Store, trace_id: str) -> None:
        """Initialise without drawing."""
        self._store = store
        self._trace_id = trace_id

    def time_line(self) -> Any:
        """Return the timeline of the first device in its chosen step: kernels by category, communication, idle time."""
        return self._drawn("time")

    def layers(self) -> Any:
        """Return the layers of the chosen pass side by side, with the time of each group of kernels."""
        return self._drawn("layers")

    def breakdown(self) -> Any:
        """Return where the time goes: modules and the operations in them, as shares of the total."""
        return self._drawn("parts")

    def roofline(self) -> Any:
        """Return the kernels with known work under the roofs of their chip."""
        return self._drawn("roofline")

    def idle(self) -> Any:
        """Return the idle time by what the host did meanwhile, and its causes."""
        return self._drawn("idle")

    def collectives(self) -> Any:
        """Return the calls of collectives by size and bus bandwidth."""
        return self._drawn("collectives")

    def _drawn(self, key: str) -> Any:
        section = drawn_section(self._store, self._trace_id, key)
        if not section.charts:
            raise UsageError(f"no chart of {section.title.lower()}: {section.see}")
        [chart, *_] = section.charts
        spec: Any = spelled(chart.spec)
        drawn = altair_module().Chart.from_dict(spec | {"config": _CONFIG})
        drawn = drawn.properties(title=spelled(chart.title), width=_WIDTH)
        # Altair's `__setattr__` would take attributes for parts of the chart.
        object.__setattr__(drawn, "__class__", _offline(drawn.__class__))
        return drawn


@functools.cache
def _offline(kind: Any) -> type:
    """Return a subclass of an altair chart that displays itself offline, unless another renderer is enabled."""

    def _repr_mimebundle_(self: Any, *given: Any, **named: Any) -> Any:
        if altair_module().renderers.active != "default":
            return kind._repr_mimebundle_(self, *given, **named)
        return {"text/html": _html(self.to_dict()), "text/plain": repr(self)}

    return type(kind.__name__, (kind,), {"_repr_mimebundle_": _repr_mimebundle_})


def _html(spec: dict[str, Any]) -> str:
    """Return a chart in a frame, as wide as its page, with the scripts that draw it."""
    given = spec.get("height")
    height = _AROUND + (round(given) if isinstance(given, int | float) else _HEIGHT)
    # No name may end the script, or begin a comment in it.
    text = json.dumps({**spec, "width": "container"}).replace("<", "\\u003c")
    return framed(_PAGE.format(scripts=scripts().replace("</script", "<\\/script"), spec=text), height)
