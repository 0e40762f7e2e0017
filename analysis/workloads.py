"""The subject of a model report: a model, chips, formulas, and the work of its anchor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..engine.errors import UsageError
from ..engine.store import Store
from .formulas import PHYSICAL, Formulas, find
from .models import resolve_hardware, resolve_model

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Workload:
    """The subject of a report.

    Attributes:
        model: a model of the relation architectures.
        hardware: chips; the first is the subject, the others are shown beside it.
        formulas: the set of formulas.
        executions: execution profiles; the last is the one that figures use, the first the base for comparison.
        batch: sequences of a replica.
        seq_len: new tokens of a sequence in prefill and training.
        kv_len: cached tokens of a sequence in decode.
        tp: degree of tensor parallelism.
        ep: degree of expert parallelism.
        dp: data-parallel replicas.
        pp: pipeline stages.
        weight_dtype: type of weights; None: as published.
        activation_dtype: type of activations.
        kv_dtype: type of the KV cache.
    """

    model: str
    hardware: tuple[str, ...]
    formulas: Formulas = PHYSICAL
    executions: tuple[str, ...] = PHYSICAL.profiles
    batch: int = 8
    seq_len: int = 4096
    kv_len: int = 4096
    tp: int = 1
    ep: int = 1
    dp: int = 1
    pp: int = 1
    weight_dtype: str | None = None
    activation_dtype: str | None = None
    kv_dtype: str | None = None

    @property
    def base(self) -> str:
        """The execution profile shown beside the main one."""
        return self.executions[0]

    @property
    def main(self) -> str:
        """The execution profile that figures use by default."""
        return self.executions[-1]


def workload(
    store: Store,
    model: str | os.PathLike[str],
    hardware: str | Sequence[str],
    formulas: str,
    executions: Sequence[str],
    **work: Any,
) -> Workload:
    """Return the subject of a report; UsageError for an unknown model, chip or formulas, InputError for a bad file."""
    rules = find(formulas)
    chips = [resolve_hardware(store, chip) for chip in listed(hardware)]
    if not chips:
        raise UsageError("hardware: the report needs a chip. tracelake hardware list shows all.")
    given = {key: value for key, value in work.items() if value is not None}
    if "kv_len" not in given and "seq_len" in given:
        given["kv_len"] = given["seq_len"]
    tp, ep = given.get("tp", 1), given.get("ep", 1)
    given.setdefault("dp", max(ep // tp, 1) if rules.tp_shares_experts else ep)
    try:
        return Workload(
            resolve_model(store, model), tuple(dict.fromkeys(chips)), rules,
            tuple(executions) or rules.profiles, **given,
        )  # fmt: skip
    except TypeError as error:
        raise UsageError(f"model report: {error}.") from error


def listed(value: Any) -> list[Any]:
    """Return one value, or several, as a list."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def check(connection: duckdb.DuckDBPyConnection, work: Workload) -> None:
    """Check the names and degrees of a workload.

    Raises:
        UsageError: an execution profile or a type is unknown, or a degree of parallelism is invalid.
    """
    profiles = [
        name for (name,) in connection.execute("SELECT execution FROM execution_profiles ORDER BY ALL").fetchall()
    ]
    for name in work.executions:
        if name not in profiles:
            known = ", ".join(name for name in profiles if not name.startswith("report "))
            raise UsageError(f"{name}: unknown execution profile. Known: {known}.")
    types = {name for (name,) in connection.execute("SELECT DISTINCT dtype FROM dtypes WHERE bytes > 0").fetchall()}
    for dtype in (work.weight_dtype, work.activation_dtype, work.kv_dtype):
        if dtype is not None and dtype not in types:
            raise UsageError(f"{dtype}: unknown type. Known: {', '.join(sorted(types))}.")
    [(experts,)] = connection.execute("SELECT num_experts FROM architectures WHERE model = $1", [work.model]).fetchall()
    if work.ep > max(experts, 1):
        has = f"{experts} routed experts" if experts else "no routed experts"
        raise UsageError(f"ep={work.ep}: {work.model} has {has}; at most {max(experts, 1)} ranks can share them.")
