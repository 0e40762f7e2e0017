"""The content of a model report's sections: tables, charts, diagrams and lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...analysis.studies import SCHEMA
from ...analysis.workloads import Workload
from ..charts import bars, sweeps
from ..charts import diagrams as drawings
from ..charts import vega as charts
from ..charts.diagrams import Diagram
from ..charts.vega import Chart, Roof
from .facts import Facts, advice
from .format import figures, many, written
from .tables import Table, read, records

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Items:
    """A list, numbered or not."""

    lines: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True)
class Remark:
    """A paragraph below its subject."""

    text: str


Block = Table | Chart | Diagram | Items | Remark


@dataclass
class Source:
    """The input of sections: the connection with the tables of the report, the workload, the facts."""

    connection: duckdb.DuckDBPyConnection
    work: Workload
    facts: Facts
    roofs: tuple[Roof, ...] = ()
    categories: tuple[str, ...] = ()
    dims: dict[str, Any] = field(default_factory=dict)

    def table(self, name: str) -> Table:
        """Return a table of the report."""
        return read(self.connection, self.work, name)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a table of the report, with numbers unrounded."""
        columns, rows = records(self.connection, self.work, name)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def ask(self, query: str, **values: Any) -> list[dict[str, Any]]:
        """Return the rows of a query."""
        answer = self.connection.execute(query, values)
        columns = [column[0] for column in answer.description or ()]
        return [dict(zip(columns, row, strict=True)) for row in answer.fetchall()]


def roofs(source: Source) -> list[Roof]:
    """Return the limits of the points in charts: a roof for each chip and type of the products."""
    if source.work.formulas.one_peak:
        return [
            Roof(row["hardware"], "", row["peak_tflops"], row["hbm_gbps"], place)
            for place, row in enumerate(source.rows("single_peaks"))
        ]
    return [
        Roof(
            row["hardware"],
            row["dtype"],
            row["peak_tflops"],
            row["hbm_gbps"],
            source.work.hardware.index(row["hardware"]),
        )
        for row in source.rows("chips")
        if row["hbm_gbps"]
    ]


def sentences(source: Source, place: str, most: int | None = None, *, numbered: bool = False) -> list[Block]:
    """Return the sentences that the facts trigger at a place, as a list."""
    lines = advice(source.connection, source.work, source.facts, place, most)
    return [Items(tuple(lines), numbered)] if lines else []


def _pairs(rows: list[tuple[str, str]], title: str, source: str) -> Table:
    return Table(("Property", "Value and unit"), (False, False), tuple(rows), title, source)


def fingerprint(source: Source) -> list[Block]:
    """Return the kind of model, and its dimensions."""
    dims = source.dims
    latent = {"gqa": "grouped heads" if dims["num_kv_heads"] != dims["num_heads"] else "a key and value for each head"}
    latent |= {"mla": "latent (MLA)", "dsa": "latent and sparse (DSA)", "v4": "compressed and sparse (V4)"}
    family = "encoder" if dims["is_encoder"] else "decoder-only Transformer"
    experts = f"{dims['num_experts']} experts, {dims['top_k']} per token" if dims["num_experts"] else "none"
    pairs = [
        ("Family", f"{family} ({dims['model_type'] or 'type not given'})"),
        ("Attention", latent[dims["attention"]]),
        ("Mixture of experts", experts),
        ("MLP", "gated" if dims["gated_mlp"] else "plain"),
        ("Queries and keys normalised", "yes" if dims["qk_norm"] else "no"),
        ("Head is the embedding", ("yes" if dims["tied_embeddings"] else "no") if dims["has_head"] else "no head"),
        ("Weights as published", str(dims["weight_dtype"] or "not given")),
    ]
    units = source.ask("SELECT property, title, unit FROM report_properties ORDER BY place")
    config = [(row["title"], written(dims[row["property"]], row["unit"])) for row in units if dims.get(row["property"])]
    return [_pairs(pairs, "Fingerprint", "architectures"), _pairs(config, "Configuration", "architectures")]


def diagrams(source: Source) -> list[Block]:
    """Return the diagrams of the model, and the kind of each layer."""
    runs = source.ask(f"SELECT layer_kind AS kind, layers FROM {SCHEMA}._report_layer_runs ORDER BY first_layer")
    return [
        *drawings.diagrams(source.dims, [(row["kind"], row["layers"]) for row in runs]),
        source.table("layer_kinds"),
    ]


def parameters(source: Source) -> list[Block]:
    """Return the distribution of the parameters, and whether those of a token are as published."""
    rows = source.rows("parameter_categories")
    shown = [
        {"part": row["part"], "share": float(row["parameters_pct"]),
         "label": f"{_share_words(row['parameters_pct'])}, {many(row['parameters'])}"}
        for row in rows
    ]  # fmt: skip
    total = sum(row["parameters"] for row in rows)
    active = sum(row["active_parameters"] for row in rows)
    table = Table(
        ("Metric", "Value and unit"), (False, False),
        (("All parameters", f"{total:,} parameters"),
         ("Used by one token, embedding table included", f"{active:,} parameters"),
         ("Memory at one byte each", f"{figures(total / 1e9)} GB"),
         ("Memory at two bytes each", f"{figures(2 * total / 1e9)} GB"),
         ("Memory at four bytes each", f"{figures(4 * total / 1e9)} GB")),
        "In all", "parameters",
    )  # fmt: skip
    return [table, source.table("parameter_categories"), bars.parameters(shown), *sentences(source, "check")]


def _share_words(percent: float) -> str:
    return f"{percent:.1f} %" if percent >= 0.05 else "below 0.1 %"


def module_sizes(source: Source) -> list[Block]:
    """Return the largest kinds of modules."""
    [row] = source.ask(f"SELECT count(*) AS kinds FROM {SCHEMA}.parameters")
    more = row["kinds"] - 20
    return [
        source.table("module_sizes"),
        *([Remark(f"{more} smaller kinds of modules are left out.")] if more > 0 else []),
    ]


def configuration(source: Source) -> list[Block]:
    """Return the anchor, the chips and the rates of each phase."""
    work = source.work
    published = source.dims["weight_dtype"] or "not given"
    cached = source.dims["kv_cache_dtype"]
    cached = f"{cached}, as published" if cached else f"as activations, {work.activation_dtype or 'bf16'}"
    unset = work.formulas.open_words
    pairs = [
        ("Formulas", work.formulas.name),
        ("Execution profiles", ", ".join(work.executions)),
        ("B, sequences of a replica", written(work.batch, "sequences")),
        ("S, new tokens of a sequence in prefill and training", written(work.seq_len, "tokens")),
        ("L, cached tokens of a sequence in decode", written(work.kv_len, "tokens")),
        ("Type of weights", work.weight_dtype or unset or f"{published}, as published"),
        ("Type of activations", work.activation_dtype or unset or "bf16"),
        ("Type of the KV cache", work.kv_dtype or unset or cached),
        ("TP", written(work.tp, "ranks")),
        ("EP", written(work.ep, "ranks")),
        ("DP", written(work.dp, "replicas")),
        ("PP", written(work.pp, "stages")),
        ("Chips in all", source.facts["ranks"]),
        ("Chip", f"{source.facts['chip_name']} (`{work.hardware[0]}`)"),
    ]  # fmt: skip
    if source.dims["num_experts"]:
        pairs.insert(-2, ("Experts of a rank, E/EP", written(-(-source.dims["num_experts"] // work.ep), "experts")))
    peaks = source.table("single_peaks" if work.formulas.one_peak else "chips")
    return [_pairs(pairs, "Anchor", "scenarios"), peaks, source.table("phase_knees")]


def _points(source: Source) -> list[dict[str, Any]]:
    return source.ask(
        f"SELECT phase, execution, intensity, tflops, mfu FROM {SCHEMA}._report_points "
        "WHERE study = 'report anchor' ORDER BY phase, execution"
    )


def overview(source: Source) -> list[Block]:
    """Return the roofline of the phases."""
    return [charts.roofline(_points(source), source.roofs, source.work.executions)]


def kpi(source: Source) -> list[Block]:
    """Return the headline figures, including other chips."""
    others = [source.table("chips_kpi")] if len(source.work.hardware) > 1 else []
    return [source.table("kpi"), *others]


def _sweep(source: Source, study: str, axis: str) -> list[dict[str, Any]]:
    return source.ask(
        f"""
        SELECT execution, {axis} AS value, intensity, tflops, compute_ms AS T_comp, hbm_ms AS T_hbm,
            net_ms AS T_net, CASE fits WHEN TRUE THEN 'yes' WHEN FALSE THEN 'no' ELSE 'unknown' END AS fits
        FROM {SCHEMA}._report_points
        WHERE study = $study ORDER BY execution, value
        """,
        study=study,
    )


def batches(source: Source) -> list[Block]:
    """Return decode by batch, and the figures of one batch step by step."""
    work = source.work
    [critical] = source.ask(
        f"SELECT intensity_batch, time_batch, smallest_batch FROM {SCHEMA}.critical_batch WHERE execution = $main",
        main=work.main,
    )
    [room] = source.ask(
        f"SELECT max_batch FROM {SCHEMA}.memory_per_gpu "
        "WHERE study = 'report anchor' AND phase = 'decode' AND execution = $main",
        main=work.main,
    )
    crossing = critical["time_batch"] if (critical["time_batch"] or 0) > critical["smallest_batch"] else None
    marks = [("B_crit", crossing), ("memory is full", room["max_batch"])]
    chart = sweeps.sweep(
        "decode_batch", "Decode by batch", _sweep(source, "report batch", "batch"), source.roofs, work.executions,
        "B (sequences)", marks,
    )  # fmt: skip
    return [source.table("batches"), chart, *_worked(source)]


def _worked(source: Source) -> list[Block]:
    """Return the figures of one batch step by step: 128, or the largest of the sweep."""
    rows = source.ask(
        f"""
        SELECT *, tflops / mfu AS peak, hbm_bytes / hbm_ms / 1e6 AS gbps FROM {SCHEMA}.phase_roofline
        WHERE study = 'report batch' AND execution = $main ORDER BY batch = 128 DESC, batch DESC LIMIT 1
        """,
        main=source.work.main,
    )
    at = rows[0]
    slope = at["gbps"] * at["intensity"] / 1e3
    flop, bytes_, net = figures(at["flop"] / 1e12), figures(at["hbm_bytes"] / 1e9), figures(at["net_bytes"] / 1e9)
    rates = f"{figures(at['peak'])} TFLOP/s / {figures(at['gbps'])} GB/s"
    knee = f"{rates} = {figures(1e3 * at['peak'] / at['gbps'])} FLOP/byte"
    steps = (
        ("F_theory", "sum over modules", f"{flop} TFLOP"),
        ("bytes_hbm", "sum over modules", f"{bytes_} GB"),
        ("AI_hbm", "F_theory / bytes_hbm", f"{flop} TFLOP / {bytes_} GB = {figures(at['intensity'])} FLOP/byte"),
        ("OI_knee", "P_peak / BW_hbm", knee),
        ("Slope at AI_hbm", "BW_hbm · AI_hbm", f"{figures(slope)} TFLOP/s"),
        ("Roof at AI_hbm", "the smaller of slope and P_peak", f"{figures(min(slope, at['peak']))} TFLOP/s"),
        ("T_comp", "F_realizable / P_peak, or vector work" if source.work.formulas.vector_work
         else "F_realizable / P_peak", f"{figures(at['compute_ms'])} ms"),
        ("T_hbm", "bytes_hbm / BW_hbm", f"{bytes_} GB / {figures(at['gbps'])} GB/s = {figures(at['hbm_ms'])} ms"),
        ("T_net", "bytes_net / BW_net", f"{net} GB: {figures(at['net_ms'])} ms"),
        ("T_est", "the longest of the three", f"{figures(at['time_ms'])} ms, {at['bound']}-bound"),
        ("TF_est", "F_theory / T_est", f"{figures(at['tflops'])} TFLOP/s"),
        ("Throughput", "B / T_est", f"{figures(at['tokens_per_s'])} tokens/s"),
    )  # fmt: skip
    title = f"Worked example: B = {at['batch']:,} sequences, L = {at['kv_len']:,} tokens, {source.work.main} kernels"
    return [Table(("What", "Formula", "With numbers, and unit"), (False, False, False), steps, title, "phase_roofline")]


def prompts(source: Source) -> list[Block]:
    """Return prefill by the length of the prompt."""
    chart = sweeps.sweep(
        "prefill_prompt", "Prefill by prompt length", _sweep(source, "report prompt", "seq_len"), source.roofs,
        source.work.executions, "S (tokens)",
    )  # fmt: skip
    return [source.table("prompts"), chart]


def shares(source: Source) -> list[Block]:
    """Return the categories' shares of FLOP, bytes and time."""
    rows = source.ask(
        "SELECT phase, execution, category, flop_pct AS F_theory, bytes_pct AS bytes_hbm, time_pct AS T_serial "
        f"FROM {SCHEMA}._report_categories ORDER BY phase, execution, category"
    )
    found: list[Block] = [source.table("shares")]
    for execution in dict.fromkeys(source.work.executions):
        long = [
            {
                "phase": row["phase"], "category": row["category"], "measure": measure,
                "share": row[measure] or 0.0, "place": source.categories.index(row["category"]),
            }
            for row in rows if row["execution"] == execution for measure in ("F_theory", "bytes_hbm", "T_serial")
        ]  # fmt: skip
        title = f"Shares of the categories, {execution} kernels"
        found.append(bars.shares(f"{execution}_category_shares", title, long, source.categories))
    return found


def category_roofs(source: Source) -> list[Block]:
    """Return the roofline of the categories, phase by phase."""
    rows = source.ask(
        "SELECT phase, execution, category, intensity, tflops "
        f"FROM {SCHEMA}._report_categories ORDER BY phase, execution, category"
    )
    drawn = [
        charts.category_roofline(
            phase,
            [row for row in rows if row["phase"] == phase],
            source.roofs,
            source.work.executions,
            source.categories,
        )
        for phase in ("training", "prefill", "decode")
    ]
    return [chart for chart in drawn if chart is not None]


def frontier(source: Source) -> list[Block]:
    """Return the batch from which on decode is compute-bound."""
    rows = source.rows("frontier")
    if not rows:
        return [Remark("Left out: by these formulas the estimate needs a latent attention and routed experts.")]
    cells = [
        {"ep": row["ep"], "kv_len": row["kv_len"], "batch": row["min_batch"],
         "label": "none" if row["min_batch"] is None
         else f"{row['min_batch']:,}{'' if row['frontier_fits'] is not False else ' (no room)'}"}
        for row in rows
    ]  # fmt: skip
    if all(row["min_batch"] is None for row in rows):
        return [Remark("None: no batch that was tried is bound by compute."), source.table("frontier")]
    room = "Grey: none of the batches tried. (no room): that batch does not fit the memory at its length."
    return [bars.frontier(cells), Remark(room), source.table("frontier")]


def grid(source: Source) -> list[Block]:
    """Return the bottlenecks of the grid's points, and its fastest and slowest ones."""
    return [*sentences(source, "grid"), source.table("regimes"), source.table("grid")]


def knobs(source: Source) -> list[Block]:
    """Return the effect of each knob on its own."""
    rows = source.rows("knobs")
    found: list[Block] = []
    for phase in ("decode", "prefill", "training"):
        sides = source.ask(
            "SELECT title, side, setting, change_pct AS change, fits "
            f"FROM {SCHEMA}._report_turned WHERE phase = $phase",
            phase=phase,
        )
        found.append(bars.tornado(phase, sides) or Remark(f"No knob moves {phase} by more than 0.5 %."))
        if all(side["fits"] is False for side in sides):
            found.append(Remark(f"Neither the anchor nor any step of {phase} fits the memory."))
    return [*found, source.table("knobs")] if rows else found


def several(*names: str) -> Callable[[Source], list[Block]]:
    """Return a function that returns only some tables."""
    return lambda source: [source.table(name) for name in names]
