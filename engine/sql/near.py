"""Suggestions for an unknown word: known words with a similar spelling."""

from __future__ import annotations

from collections.abc import Iterable


def near(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return the words most similar to one, best first: our name for it, a similar spelling, or a superstring."""
    import difflib

    from .glossary import ours

    spelled = {other.lower(): other for other in known}
    found = difflib.get_close_matches(word.lower(), spelled, n=most, cutoff=0.5)
    held = sorted(other for other in spelled if len(word) > 2 and word.lower() in other and other not in found)
    called = [name] if (name := ours(word)) in spelled else []
    return [spelled[other] for other in dict.fromkeys([*called, *found, *held])][:most]


def guess(word: str, known: Iterable[str], most: int = 3) -> str:
    """Return " Near: a, b." for a message, or an empty text."""
    found = near(word, known, most)
    return f" Near: {', '.join(found)}." if found else ""
