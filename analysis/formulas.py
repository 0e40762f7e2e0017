"""The sets of formulas that models are priced by: the physical ones, and those of the replicas where they are there."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ..engine import replicas
from ..engine.errors import UsageError
from ..engine.sql import modules


@dataclass(frozen=True)
class Formulas:
    """A set of formulas, and how a report on what they give is made.

    Attributes:
        name: as the table scenarios has it.
        about: what they are, in a few words.
        profiles: execution profiles of a report: the base, and the one that figures are of.
        batches: batches of its sweep of decode, sequences.
        frontier_batches: batches tried for the least one that is bound by compute; none: the anchor's alone.
        schema: where their relations are; empty: in none of their own.
        former: another name that is accepted.
        unread: columns of the relations that mean nothing by them.
        open_type: type of weights and activations that are left open; None: weights as published, activations in BF16.
        open_words: the same for people; empty: by name.
        tp_shares_experts: ranks of tensor parallelism share experts, too.
        one_peak: a chip has one peak for all types.
        vector_work: work outside the matrix units can be the longest.
    """

    name: str
    about: str
    profiles: tuple[str, str]
    batches: tuple[int, ...]
    frontier_batches: tuple[int, ...] = ()
    schema: str = ""
    former: str = ""
    unread: tuple[str, ...] = ()
    open_type: str | None = None
    open_words: str = ""
    tp_shares_experts: bool = True
    one_peak: bool = False
    vector_work: bool = True

    def relation(self, name: str) -> str:
        """Return the relation of a name that has what these formulas give."""
        return modules.within(self.schema, name)

    def replicas(self, tp: str, ep: str) -> str:
        """Return, in SQL, how many replicas a layout has: experts are shared by all their ranks."""
        return f"greatest({ep} // {tp}, 1)" if self.tp_shares_experts else ep


BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
PHYSICAL = Formulas(
    "physical", "every byte and FLOP counted once", ("naive", "physical"), (*BATCHES, 256, 512, 1024),
    frontier_batches=tuple(1 << n for n in range(15)),
    unread=("attention_residency", "dense_residency", "moe_residency", "activation_factor", "elementwise_factor"),
)  # fmt: skip


@functools.cache
def known() -> dict[str, Formulas]:
    """Return the sets of formulas by name."""
    others = replicas.of("analysis")
    return {PHYSICAL.name: PHYSICAL} | ({others.FORMULAS.name: others.FORMULAS} if others else {})


def find(name: str) -> Formulas:
    """Return a set of formulas.

    Raises:
        UsageError: the name is unknown.
    """
    for one in known().values():
        if name in (one.name, one.former or one.name):
            return one
    raise UsageError(f"formulas={name}: unknown. Known: {', '.join(known())}.")
