"""What somebody may have meant: words that are spelled much like one that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def near(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return the words most like one, the likeliest first: our name for it, spelled alike, or holding it."""
    import difflib

    from .glossary import ours

    spelled = {other.lower(): other for other in known}
    found = difflib.get_close_matches(word.lower(), spelled, n=most, cutoff=0.5)
    held = sorted(other for other in spelled if len(word) > 2 and word.lower() in other and other not in found)
    called = [name] if (name := ours(word)) in spelled else []
    return [spelled[other] for other in dict.fromkeys([*called, *found, *held])][:most]


def guess(word: str, known: Iterable[str], most: int = 3) -> str:
    """Return " Near: a, b." for a message, or nothing."""
    found = near(word, known, most)
    return f" Near: {', '.join(found)}." if found else ""
