"""One trace of a lake: its five lines, the methods of the lake about it, its charts."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from ...engine.sql.near import guess
from ..page.fragment import Part, as_html
from .charts import Charts

if TYPE_CHECKING:
    from ...lake import Lake


class Trace:
    """One trace, as returned by `lake["decode"]`.

    It has the methods of the lake whose first argument is a trace: `lake["decode"].layers(pass_id=2)` is
    `lake.layers("decode", pass_id=2)`.
    """

    def __init__(self, lake: Lake, trace_id: str) -> None:
        """Refer to a trace of a lake by its id."""
        self._lake = lake
        self.trace_id = trace_id

    @functools.cached_property
    def charts(self) -> Charts:
        """The charts of the trace's page."""
        return Charts(self._lake.store, self.trace_id)

    def __getattr__(self, name: str) -> Any:
        known = _methods(self)
        if name not in known:
            raise AttributeError(f"a trace has no attribute {name!r}.{guess(name, [*known, 'charts', 'trace_id'])}")
        return functools.partial(getattr(self._lake, name), self.trace_id)

    def __dir__(self) -> list[str]:
        return sorted({"charts", "trace_id", *_methods(self)})

    def __repr__(self) -> str:
        from ..summary.headline import headline

        found = headline(self._lake.store, self.trace_id)
        return "\n".join([found.trace, *(f" {label:<6} {line}" for label, line in found.lines())])

    def _repr_html_(self) -> str:
        from ..summary.headline import headline

        found = headline(self._lake.store, self.trace_id)
        hint = "Ask on: .summary(), .layers(), .kernels(layer=0), .charts.roofline(), .report()."
        return as_html(Part(found.trace, opening=found, notes=(hint,)))


def _methods(trace: Trace) -> list[str]:
    """Return the methods of the lake that are about one trace."""
    public = inspect.getmembers(type(trace._lake), inspect.isfunction)  # noqa: SLF001
    return [
        name for name, method in public
        if not name.startswith("_") and list(inspect.signature(method).parameters)[1:2] == ["trace"]
    ]  # fmt: skip
