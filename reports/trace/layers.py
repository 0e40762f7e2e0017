"""Layers for people: kinds of layers side by side, the kernels of one layer, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...analysis.passes import as_number
from ..output.columns import for_people
from ..output.table import Column, Table, cut, text, which
from .coverage import HALF, framed

if TYPE_CHECKING:
    import duckdb

    from ...analysis.passes import Pass
    from ...engine.store import Store
    from ..output.render import Part

#: Maximum groups of categories with columns of their own; the rest is one column.
GROUPS = 6


@dataclass(frozen=True)
class Verdict:
    """What to look at first in a pass.

    Attributes:
        layer_type: the layers' type, kind-A, kind-B without a config that defines types, or both.
        layers: number of layers of the type, without outliers.
        of: number of layers of the pass, without outliers.
        alike: all layers are of one type.
        pass_pct: percent of all layers' wall time.
        target: a kernel category, or idle.
        target_pct: its percent of their wall time.
        note: why target_pct is above 100; None if it is not.
        category: the kernel category with most time, regardless of the target.
        coverage_pct: percent of the device's busy time that the layers of the series hold.
        spread: the shortest and the longest layer of the type, as in `_pass_targets`; None if they differ little.
        outlier: the layers that wait much longer than others of their type; None if there are none.
    """

    layer_type: str
    layers: int
    of: int
    alike: bool
    pass_pct: float
    target: str
    target_pct: float
    note: str | None
    category: str
    coverage_pct: float
    spread: dict[str, Any] | None
    outlier: dict[str, Any] | None

    def __str__(self) -> str:
        """Return it as a sentence."""
        others = "others" if self.outlier else "layers"
        where = f"all {self.layers} {others} are alike" if self.alike else (
            f"{self.layer_type} layers ({self.layers} of {self.of}) take {self.pass_pct:.1f} % of the {others}' time"
        )  # fmt: skip
        # If the layers are a small part of the work, they are not the bottleneck of the trace.
        what = "Bottleneck"
        if self.coverage_pct < HALF:
            what = f"Within these layers, {self.coverage_pct:.1f} % of the device's busy time"
        share = f"{self.target_pct:.1f} % of their wall time"
        why = f" ({self.note})" if self.note else ""
        target = f"{self.target}, {share}{why}"
        if self.target == "idle":
            target = f"idle time, {share}; of the kernels, {self.category}"
        return f"{self._outlier()}{what}: {where}{self._spread()}. Next target: {target}."

    def _outlier(self) -> str:
        if self.outlier is None:
            return ""
        ids, pct, ratio, idle = (self.outlier[name] for name in ("ids", "pct", "ratio", "idle_pct"))
        who, takes, most = (f"layer {ids[0]}", "takes", "") if len(ids) == 1 else (
            f"layers {which(sorted(ids))}", "take", f"layer {ids[0]} "
        )  # fmt: skip
        return (
            f"Outlier{'s' if most else ''}: {who} {takes} {pct:.1f} % of the layers' time, {most}{ratio:.1f} times the "
            f"median of its type; the device is idle for {idle:.1f} % of it. "
        )

    def _spread(self) -> str:
        if self.spread is None:
            return ""
        wall = [
            f"{self.spread[f'{side}_wall_us'] / 1e3:.2f} ms (layer {self.spread[name]})"
            for side, name in (("min", "shortest"), ("max", "longest"))
        ]
        busy = [f"{self.spread[f'{side}_busy_us'] / 1e3:.2f}" for side in ("min", "max")]
        return (
            f"{' by their kernels' if self.alike else ''}; their wall times range from {wall[0]} to {wall[1]}, "
            f"the time with kernels from {busy[0]} to {busy[1]} ms"
        )


def verdict(store: Store, trace_id: str, pass_id: int) -> Verdict | None:
    """Return what to look at first in a pass; of several devices, on the one with the longest layers."""
    found = store.rows(
        """
        SELECT
            layer_type, layers, layer_count, alike, pass_pct, target, target_pct, target_note, category,
            coverage_pct, spread, outlier
        FROM _pass_targets
        WHERE trace_id = $1 AND pass_id = $2
        ORDER BY wall_us DESC, device LIMIT 1
        """,
        [trace_id, pass_id],
    )
    return Verdict(*found[0]) if found else None


def group_columns(store: Store, trace_id: str, pass_id: Pass) -> list[str]:
    """Return the groups of categories with most time in a pass, the longest first."""
    found = store.rows(
        "SELECT category_group FROM _group_times WHERE trace_id = $1 AND pass_id IS NOT DISTINCT FROM $2 "
        f"AND category_group <> 'other' ORDER BY sum_us DESC, category_group LIMIT {GROUPS}",
        [trace_id, as_number(pass_id)],
    )
    return [str(name) for (name,) in found]


def _by_group(values: Mapping[str, float], groups: Sequence[str], unit: float = 1.0) -> tuple[float, ...]:
    """Return the value of each group, 0 if it has none, and the sum of all others."""
    others = sum(value for group, value in values.items() if group not in groups)
    return tuple(value / unit for value in (*(values.get(group, 0.0) for group in groups), others))


#: How one kind of layer differs from another, by `kind_reason`.
_KIND_REASONS = {
    "kernels": "the kernels they run",
    "shapes": "the shapes of their attention",
    "times": "times that repeat every few layers",
}


def types_table(store: Store, trace_id: str, pass_id: Pass, note: str = "no config has their types") -> Table:
    """Return the types of layers of a pass side by side, with the share of each group of categories."""
    groups = group_columns(store, trace_id, pass_id)
    found = store.rows(
        """
        SELECT rank, device, pass_id, kind_reason, type, layers, layer_ids, mean_wall_us / 1e3, median_wall_us / 1e3,
            mean_sum_us / 1e3, median_sum_us / 1e3, pass_pct, group_pct
        FROM _type_groups
        WHERE trace_id = $1 AND pass_id = coalesce($2, pass_id)
        ORDER BY rank, device, pass_id, layer_ids
        """,
        [trace_id, as_number(pass_id)],
    )
    several = len({row[:3] for row in found}) > 1
    keys = (Column("rank"), Column("device"), Column("pass")) if several else ()
    told_by = {row[3] for row in found} - {None}
    reasons = " and ".join(words for reason, words in _KIND_REASONS.items() if reason in told_by | {"kernels"})
    rows = [
        (*(row[:3] if several else ()), row[4], row[5], which(row[6]), *row[7:12], *_by_group(row[12], groups))
        for row in found
    ]
    measures = ("mean_wall_ms", "median_wall_ms", "mean_sum_ms", "median_sum_ms")
    return Table(
        columns=(
            *keys, text("type"), Column("layers"), text("which"), *(Column(name, 3) for name in measures),
            Column("pass_pct", 1), *(Column(f"{name}_pct", 1) for name in (*groups, "other")),
        ),
        rows=tuple(rows),
        title=(
            f"Kinds of layers, by {reasons} ({note})" if told_by else "Types of layers"
        ),
        unit="Times in ms. pass_pct: percent of the layers' wall time; the others: percent of the type's kernel time.",
    )  # fmt: skip


def parts(store: Store, answer: duckdb.DuckDBPyRelation, trace_id: str, pass_id: Pass) -> list[Part]:
    """Return layers in readable form: each one, their types side by side, and for a single pass what to do next."""
    number = as_number(pass_id)
    found = None if number is None else verdict(store, trace_id, number)
    shown = for_people(store, "layers", answer)
    answer_parts = framed(store, trace_id, pass_id, [shown, in_sql_names(types_table(store, trace_id, pass_id))])
    return [*answer_parts, *([str(found)] if found else [])]


def in_sql_names(types: Table) -> Table:
    """Return a table of types with the names, and thus the units, of the relation layer_types."""
    names = {"pass": "pass_id", "type": "layer_type", "which": "layer_ids"}
    in_ms = [column.name.endswith("_ms") for column in types.columns]
    columns = (
        Column(f"{column.name.removesuffix('_ms')}_us", 1)
        if ms
        else replace(column, name=names.get(column.name, column.name))
        for column, ms in zip(types.columns, in_ms, strict=True)
    )
    rows = (tuple(value * 1e3 if ms else value for value, ms in zip(row, in_ms, strict=True)) for row in types.rows)
    return replace(types, columns=tuple(columns), rows=tuple(rows), unit=types.unit.replace("in ms", "in µs"))


def layers_table(store: Store, trace_id: str, pass_id: int) -> Table:
    """Return the layers of a pass, with the time of each group of categories."""
    groups = group_columns(store, trace_id, pass_id)
    found = store.rows(
        """
        SELECT device, layer_id, compress_ratio, type, flags, wall_us / 1e3, sum_us / 1e3, busy_us / 1e3, group_us,
            comm_count, kernel_count, memory_count
        FROM _layer_groups
        WHERE trace_id = $1 AND pass_id = $2
        ORDER BY device, layer_id
        """,
        [trace_id, pass_id],
    )
    times = [
        Column(name, 3) for name in ("wall_ms", "sum_ms", "busy_ms", *(f"{name}_ms" for name in (*groups, "other")))
    ]
    return Table(
        columns=(
            Column("device"), Column("layer"), Column("ratio"), text("type"), text("flags"), *times,
            Column("comm"), Column("kernels"), Column("copies"),
        ),
        rows=tuple((*row[:8], *_by_group(row[8], groups, 1e3), *row[9:]) for row in found),
        title=f"Layers of pass {pass_id}",
        unit="Times in ms; comm and kernels count kernels, copies count copies and fills of memory; "
        "ratio: compression of the attention's keys.",
    )  # fmt: skip


def flow_table(store: Store, trace_id: str, pass_id: int, layer: int) -> Table | None:
    """Return the kernels of a layer, longest first, under a title that names the layer; None without kernels.

    Of several devices, the first is used.
    """
    found = store.rows(
        """
        SELECT k.hot_rank, k.half, k.category, k.display_name, k.dur_us, k.layer_pct, k.rel_ms, k.input_dims
        FROM layer_kernels AS k
        WHERE k.trace_id = $1 AND k.pass_id = $2 AND k.layer_id = $3
        QUALIFY dense_rank() OVER (ORDER BY k.rank, k.device) = 1
        ORDER BY k.hot_rank
        """,
        [trace_id, pass_id, layer],
    )
    if not found:
        return None
    [(kind, ratio, sum_us, wall_us, rel_ms, kernels, copies)] = store.rows(
        """
        SELECT type, compress_ratio, sum_us, wall_us, rel_ms, kernel_count, memory_count
        FROM _layer_pages
        WHERE trace_id = $1 AND pass_id = $2 AND layer_id = $3
        ORDER BY rank, device LIMIT 1
        """,
        [trace_id, pass_id, layer],
    )
    about = [f"Layer {layer}" + (f" [{kind}]" if kind else ""), *([f"ratio {ratio}"] if ratio is not None else [])]
    about += [
        f"pass {pass_id}", f"sum {sum_us:.0f} us ({sum_us / 1e3:.2f} ms)", f"wall {wall_us / 1e3:.3f} ms",
        f"{kernels} kernels", *([f"{copies} copies"] if copies else []), f"starts at {rel_ms:.3f} ms",
    ]  # fmt: skip
    return Table(
        columns=(
            Column("#"), text("Half"), text("Category"), text("Simplified Name"), Column("dur(us)", 1),
            Column("%", 1), Column("ts_rel(ms)", 3), text("Input Dims"),
        ),
        rows=tuple((*row[:3], cut(row[3], 48), *row[4:7], _dims(row[7])) for row in found),
        title=", ".join(about),
        unit="dur in us; % of the layer's summed kernel time; ts_rel in ms from the trace's first event.",
    )  # fmt: skip


def representatives(store: Store, trace_id: str, pass_id: int) -> list[int]:
    """Return a typical layer of each of the two types with most time: the one closest to its type's median."""
    found = store.rows(
        """
        SELECT layer_id FROM _layer_pages
        WHERE trace_id = $1 AND pass_id = $2
        QUALIFY is_typical AND dense_rank() OVER (ORDER BY rank, device) = 1
        ORDER BY pass_pct DESC, layer_id
        """,
        [trace_id, pass_id],
    )
    return [int(layer) for (layer,) in found[:2]]


def _dims(dims: str | None) -> str:
    return "-" if dims is None else cut(dims, 20)
