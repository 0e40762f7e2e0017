"""What went wrong with single events: counted all, kept a few."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

#: Samples kept of each kind.
_LIMIT = 20
#: Characters kept of a sample's text.
_TEXT = 200


@dataclass
class Notes:
    """Counts and samples of events that were rejected or mended while a file was read.

    Attributes:
        rejected: events that are not in the lake.
        repaired: events that are, after their text was mended.
        truncated: why the file ends before its end, None when it does not.
    """

    rejected: int = 0
    repaired: int = 0
    truncated: str | None = None
    _samples: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    def reject(self, event: int, reason: str, text: bytes | str, count: int = 1) -> None:
        """Count a rejected event and keep it as a sample while there are few."""
        self.rejected += count
        self._keep("rejected", event, reason, text)

    def withdraw(self, event: int) -> None:
        """Take back that an event was rejected."""
        self.rejected -= 1
        samples = [sample for sample in self._samples.pop("rejected", []) if sample["event"] != event]
        if samples:
            self._samples["rejected"] = samples

    def repair(self, event: int, reason: str, text: bytes | str) -> None:
        """Count a mended event."""
        self.repaired += 1
        self._keep("repaired", event, reason, text)

    def truncate(self, event: int, reason: str, text: bytes | str = "") -> None:
        """Say that the file ends too early; a partial last event is a rejected one."""
        self.truncated = reason
        if text.strip():
            self.reject(event, reason, text)

    def first(self) -> str:
        """Return the first reason noted, empty when there is none."""
        return next((str(samples[0]["reason"]) for samples in self._samples.values() if samples), "")

    def to_json(self) -> str:
        """Return the samples as JSON text: {"rejected": [{event, reason, text}, …], "repaired": […]}."""
        return json.dumps(self._samples, ensure_ascii=False)

    def _keep(self, kind: str, event: int, reason: str, text: bytes | str) -> None:
        samples = self._samples.setdefault(kind, [])
        if len(samples) < _LIMIT:
            shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
            samples.append({"event": event, "reason": reason, "text": shown[:_TEXT]})
