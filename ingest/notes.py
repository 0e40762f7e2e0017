"""Faults of single events: all are counted, a few kept as samples."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from ..engine.secrets import redacted

#: Maximum samples of each kind.
LIMIT = 20
#: Maximum characters of a sample's text.
_TEXT = 200
#: Characters searched for credentials, so that none is truncated and then not recognised.
_LOOK = 8192
#: Characters that JSON writers escape needlessly.
_SPELLED = re.compile(r"\\u00([2-7][0-9a-fA-F])|\\/")


@dataclass
class Notes:
    """Counts and samples of events that were rejected or repaired while a file was read.

    Attributes:
        rejected: events that are not in the lake.
        repaired: events that are, after their text was repaired.
        skipped: bytes of damaged text, in which events cannot be separated.
        redacted: credentials that were replaced in what is stored.
        truncated: why the file ends too early, None if it does not.
    """

    rejected: int = 0
    repaired: int = 0
    skipped: int = 0
    redacted: int = 0
    truncated: str | None = None
    _samples: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    def reject(self, event: int, reason: str, text: bytes | str) -> None:
        """Count a rejected event, and store it as a sample while there are few."""
        self.rejected += 1
        self._keep("rejected", event, reason, text)

    def repair(self, event: int, reason: str, text: bytes | str) -> None:
        """Count a repaired event."""
        self.repaired += 1
        self._keep("repaired", event, reason, text)

    def truncate(self, event: int, reason: str, partial: bytes | str | None = None) -> None:
        """Record that the file ends too early; a partial last event, of which this may be shown, is a rejected one."""
        self.truncated = self.clean(reason)
        if partial is not None:
            self.reject(event, reason, partial)

    def first(self) -> str:
        """Return the first reason recorded, empty if there is none."""
        return next((str(samples[0]["reason"]) for samples in self._samples.values() if samples), "")

    def to_json(self) -> str:
        """Return the samples as JSON text: {"rejected": [{event, reason, text}, …], "repaired": […]}."""
        return json.dumps(self._samples, ensure_ascii=False)

    def clean(self, text: str) -> str:
        """Return text to be stored: with credentials replaced and counted, and lone surrogates replaced."""
        cleaned, count = redacted(text.encode("utf-8", "replace").decode())
        self.redacted += count
        return cleaned

    def _keep(self, kind: str, event: int, reason: str, text: bytes | str) -> None:
        samples = self._samples.setdefault(kind, [])
        if len(samples) < LIMIT:
            shown = text[:_LOOK].decode("utf-8", "replace") if isinstance(text, bytes) else text[:_LOOK]
            plain = _SPELLED.sub(_plain, shown)
            shown, count = redacted(plain if redacted(plain, cut_off=True)[1] else shown, cut_off=True)
            self.redacted += count
            samples.append({"event": event, "reason": self.clean(reason), "text": shown[:_TEXT]})


def _plain(spelled: re.Match[str]) -> str:
    character = chr(int(spelled[1], 16)) if spelled[1] else "/"
    return spelled[0] if character in '"\\' else character
