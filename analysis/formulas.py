"""The sets of formulas that model costs: the physical ones, and those of the replicas if present."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ..engine import replicas
from ..engine.errors import UsageError
from ..engine.sql import modules


@dataclass(frozen=True)
class Formulas:
    """A set of formulas, and how a report on its results is made.

    Attributes:
        name: its name in the table scenarios.
        about: a short description.
        profiles: execution profiles of a report: the base, and the one that figures use.
        batches: batches of its decode sweep, sequences.
        frontier_batches: batches tried to find the smallest compute-bound one; empty: the anchor's only.
        schema: the schema of their relations; empty: the default.
        former: a former name that is accepted.
        unread: columns of the relations that these formulas ignore.
        open_type: type of weights and activations left open; None: weights as published, activations in BF16.
        open_words: the same as text; empty: the name of the type.
        tp_shares_experts: ranks of tensor parallelism share experts too.
        one_peak: a chip has one peak for all types.
        vector_work: work outside the matrix units can be the bottleneck.
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
        """Return the relation of a name that has these formulas' results."""
        return modules.within(self.schema, name)

    def replicas(self, ranks: str, ep: str) -> str:
        """Return, as SQL, the number of replicas of a layout: experts are shared by all their ranks.

        Args:
            ranks: SQL, the number of a replica's ranks.
            ep: SQL, the degree of expert parallelism.
        """
        return f"greatest(({ep}) // ({ranks}), 1)" if self.tp_shares_experts else ep


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
