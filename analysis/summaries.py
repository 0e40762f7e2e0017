"""What a lake answers about whole traces: the profile summary, and two traces beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.errors import UsageError
from ..engine.store import Store

if TYPE_CHECKING:
    from ..reports.trace.comparison import Comparison


class Summaries(Store):
    """A lake that sums up."""

    def summary(self, trace: str, format: str = "md", *, top: int = 10) -> str:
        """Return where the time of a trace goes, section by section, and what to look at next.

        Args:
            trace: the trace.
            format: md for a page, json for one object with all rows.
            top: rows shown of long tables of a page; 0 for all. Long names are cut on a page.

        Raises:
            UsageError: the format is neither.
        """
        from ..reports.summary.document import as_json, as_markdown, build, short_names

        summary = build(self, self.locate(_checked(format, trace)))
        return as_json(summary) if format == "json" else as_markdown(summary, top, short_names(self, summary))

    def compare(self, before: str, after: str, *, strict: bool = False, anyway: bool = False) -> Comparison:
        """Return the measures, the operations and their families of two traces beside each other, and a gate's verdict.

        Args:
            before: the first trace.
            after: the second trace.
            strict: refuse a trace beside itself.
            anyway: compare also different work, such as prefill and decode, each in its own measure; `warnings` and
                `work` of the answer state the difference, and its gate does not judge.

        Raises:
            UsageError: a trace is unknown; has no device operation, or the two are measured in different ways, and not
                `anyway`; or they are one and `strict`.
        """
        from ..reports.trace.comparison import compare

        sides = ((before, self.locate(before)), (after, self.locate(after)))
        return compare(self, *sides, strict=strict, anyway=anyway)


def _checked(format: str, trace: str) -> str:
    if format not in ("md", "json"):
        raise UsageError(f"format={format}: a summary is Markdown (md) or JSON (json).")
    return trace
