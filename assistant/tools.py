"""The tools: functions named like them that take the lake and checked arguments, and return an Answer.

A tool takes names of traces and models but no paths, since a path would be read and the trace ingested.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.models import remarks
from ..engine.errors import InputError, UsageError
from ..engine.sql.guard import refusals
from ..ingest.inputs import names_input
from ..reports.output import schema as pages
from ..reports.output.columns import for_people
from .answers import Answer, fetched, listed

if TYPE_CHECKING:
    from ..lake import Lake

Arguments = Mapping[str, Any]
#: A model's name, possibly with an organisation: not a path.
_MODEL = re.compile(r"[\w][\w .:+-]*(/[\w][\w .:+-]*)?")
#: A harmless word: an id, the name of a model or a chip, a filter.
_WORD = re.compile(r"[\w=*?.:-]{1,40}", re.ASCII)
#: Shares of the devices' time from which on a summary proposes questions about them, percent.
_NOTEWORTHY = 5.0
#: Columns shown of the modelled cost of a pass, and of a module.
_COSTS = "flop, hbm_bytes, net_bytes, compute_ms, hbm_ms, net_ms, time_ms"
_PASS = (
    f"model, phase, hardware, batch, seq_len, kv_len, tp, ep, dp, pp, {_COSTS}, serial_ms, 100 * mfu AS mfu_pct, "
    "tokens_per_s, chip_tokens_per_s, bound, fits, max_batch"
)
_MODULE = f"module, category, {_COSTS}, bound"
#: Arguments that describe the work of a modelled pass.
_OF_WORK = ("phase", "batch", "seq_len", "kv_len", "tp", "ep", "dp", "pp", "weight_dtype", "kv_dtype")
#: Columns shown of the kernels of a pass, by name.
_OF_PASS = (
    "name, category, device, count(*) AS calls, sum(dur_us) AS sum_us, avg(dur_us) AS mean_us, max(dur_us) AS max_us"
)
#: Maximum characters of a finding's query: a truncated one could not be run.
_LONGEST_QUERY = 1000
#: Terms of a waterfall.
_PARTS_OF_COMPARISON = "level IN ('step', 'part', 'category')"


def list_traces(lake: Lake, given: Arguments) -> Answer:
    """Return the traces whose name, run, model or hardware contains a text."""
    found = lake.sql(
        "SELECT * FROM traces WHERE contains(lower(concat_ws(' ', trace, run, model, hardware)), lower($word)) "
        "ORDER BY trace, trace_id",
        word=given["contains"] or "",
    )
    [(first, runs)] = found.aggregate("min_by(trace_id, (trace, trace_id)), count(DISTINCT run)").fetchall()
    facts = {"trace_id": first, "several_runs": runs > 1}
    shown = for_people(lake.store, "traces", found)
    return fetched(shown, given, trust=_of_lake(lake), facts=facts, order="by name")


def summary(lake: Lake, given: Arguments) -> Answer:
    """Return the five lines of a trace and where its time goes, or the rows of a section."""
    from ..analysis.passes import pass_ids
    from ..reports.summary import document
    from ..reports.summary.headline import headline

    trace_id = _focused(lake, given["trace"])
    facts = {"trace_id": trace_id, "passes": bool(pass_ids(lake.store, trace_id))}
    if given["section"]:
        found = document.section(lake.store, trace_id, given["section"])
        columns = list(found["rows"][0]) if found["rows"] else []
        rows = [list(row.values()) for row in found["rows"]]
        about = {"basis": found["basis"]}
        return listed(columns, rows, given, about=about, trust=_of_trace(lake, trace_id), facts=facts)
    alarms = document.alarms_of(lake.store, trace_id)
    opening = headline(lake.store, trace_id, alarms)
    parts = dict(opening.parts)
    facts["communicates"] = parts.get("communication alone", 0) >= _NOTEWORTHY
    facts["stands_still"] = parts.get("no launch", 0) + parts.get("idle", 0) >= _NOTEWORTHY
    return listed(
        ("part", "share_pct"), opening.parts, given,
        about={"trace": opening.trace, "what": opening.what, "step": opening.step, "first": opening.todo},
        trust=[opening.trust, *(f"{severity}: {check}: {message}" for severity, check, message in alarms)], facts=facts,
        order="parts of the time of all devices, which make up 100 %",
    )  # fmt: skip


def layers(lake: Lake, given: Arguments) -> Answer:
    """Return the layers of a pass, and how much of the device's busy time they hold."""
    from ..analysis.passes import has_operations
    from ..reports.trace.coverage import coverage

    trace_id = _focused(lake, given["trace"])
    pass_id = _pass(lake, trace_id, given["pass_id"])
    rows = lake.layers(trace_id, pass_id)
    slowest = rows.order("wall_us DESC").limit(1).select("layer_id").fetchall()
    covered = coverage(lake.store, trace_id, pass_id if pass_id is not None else "all")
    ran = bool(slowest) or has_operations(lake.store, trace_id)
    facts: dict[str, Any] = {"trace_id": trace_id, "low_coverage": ran and (covered is None or covered.is_low)}
    facts |= {"pass_id": pass_id, "slowest_layer": slowest[0][0]} if slowest else {}
    trust = [*_of_trace(lake, trace_id), *([str(covered)] if covered else [])]
    about: dict[str, Any] = {"pass_id": pass_id}
    if not slowest:
        missing = "no layer was found in this pass" if pass_id is not None else "no pass was found in this trace"
        about = {"missing": missing if ran else "the trace has no device operations"}
    shown = for_people(lake.store, "layers", rows)
    return fetched(shown, given, about=about, trust=trust, facts=facts, order="in the order of the model")


def kernels(lake: Lake, given: Arguments) -> Answer:
    """Return the kernels of a layer, or the operations of a pass or a trace by name, longest first."""
    trace_id = _focused(lake, given["trace"])
    trust = _of_trace(lake, trace_id)
    if given["layer"] is not None or given["pass_id"] is not None:
        pass_id = _pass(lake, trace_id, given["pass_id"])
        if pass_id is None:
            raise UsageError("no forward pass was found in this trace: leave layer and pass_id out.")
        if given["layer"] is None:
            summed = lake.kernels(trace_id, pass_id).aggregate(_OF_PASS, "name, category, device")
            facts = {"trace_id": trace_id, "pass_id": pass_id, "of_whole_pass": True}
            order = f"of the layers of pass {pass_id}, longest first"
            return fetched(summed.order("sum_us DESC, name, device"), given, trust=trust, facts=facts, order=order)
        rows = for_people(lake.store, "layer_kernels", lake.kernels(trace_id, pass_id, given["layer"]))
        facts = {"trace_id": trace_id, "pass_id": pass_id, "of_layer": True}
        return fetched(rows, given, trust=trust, facts=facts, order="longest first")
    found = lake.sql(
        "SELECT name, category, device, calls, sum_us, self_us, mean_us, max_us, busy_pct, gbps, "
        "tflops FROM ops WHERE trace_id = $trace_id ORDER BY self_us DESC, name",
        trace_id=trace_id,
    )
    order = "of the whole trace, longest own time first; busy_pct is of the device's busy time"
    return fetched(found, given, trust=trust, facts={"trace_id": trace_id, "of_trace": True}, order=order)


def compare(lake: Lake, given: Arguments) -> Answer:
    """Return what differs between two sides."""
    from ..analysis import sides as beside

    words = [_side(given[side]) for side in ("before", "after")]
    found = beside.resolve(lake.store, words)
    if given["before"] != given["after"]:
        found = [replace(side, name=given[name]) for side, name in zip(found, ("before", "after"), strict=True)]
    lake.store.focus(*(trace for side in found for trace in side.traces))
    pair = [side.traces[0] for side in found] if all(len(side.traces) == 1 for side in found) else []
    by = given["by"]
    facts: dict[str, Any] = {
        key: word for key, word in zip(("before", "after"), pair or words, strict=True) if _safe(word)
    }
    facts |= {"is_pair": bool(pair) and by != "operations", "is_waterfall": by == "waterfall"}
    if by in ("waterfall", "terms"):
        return _waterfall(lake, found, given, facts)
    if not pair:
        raise UsageError(f"by={by} is about two single traces; runs and filters have a waterfall and terms.")
    answer = lake.compare(*pair, anyway=given["anyway"] or by == "gate")
    tables = {"operations": answer.operations, "families": answer.families, "gate": answer.gate}
    about: dict[str, Any] = {"times are of": answer.basis}
    if by == "gate":
        about["status"] = "cannot judge" if answer.status == "unknown" else answer.status
    trust = list(dict.fromkeys([*answer.warnings, *(answer.doubts if by == "gate" else ())]))
    trust += [f"no operations: {answer.missing}"] if answer.missing and by in ("operations", "families") else []
    facts["of_measures"] = by == "measures"
    return fetched(tables.get(by, answer.metrics), given, about=about, trust=trust, facts=facts)


def _waterfall(lake: Lake, found: list[Any], given: Arguments, facts: dict[str, Any]) -> Answer:
    """Return the terms of a comparison, which sum level by level, and how much of the work was matched."""
    from ..analysis import sides as beside

    answer = beside.compare(lake.store, found, anyway=given["anyway"])
    columns = (
        "side, baseline, basis, before_ns / 1e6, after_ns / 1e6, change_pct, verdict, before_matched_pct, "
        "after_matched_pct, doubts"
    )
    [row] = answer.sides.select(columns).fetchall()
    side, baseline, basis, before, after, change, verdict, *matched, doubts = row
    about = {
        "side": side, "baseline": baseline, "basis": f"ms per {basis}", "before_ms": before, "after_ms": after,
        "change_pct": change, "verdict": verdict,
    }  # fmt: skip
    trust = [*answer.left_out, *([doubts] if doubts else [])]
    if None not in matched:
        trust.append(
            f"{matched[0]:.1f} % of the work's time before has a counterpart after, "
            f"{matched[1]:.1f} % of the time after one before"
        )
    terms = answer.terms if given["by"] == "terms" else answer.terms.filter(_PARTS_OF_COMPARISON)
    shown = for_people(lake.store, "comparison_terms", terms)
    order = "indented below what they sum to; noise_ms is the least difference that could be told"
    return fetched(shown, given, about=about, trust=trust, facts=facts, order=order)


def history(lake: Lake, given: Arguments) -> Answer:
    """Return a metric over the runs, and where its level shifts."""
    try:
        answer = lake.history(given["metric"], given["by"], given["where"])
    except UsageError as error:
        raise _without_options(error) from error
    trust = [*_of_lake(lake), *answer.left_out]
    if answer.doubts:
        doubts = "; ".join(answer.doubts)
        trust.insert(0, f"are these runs of one program? {doubts}. The argument where keeps those of one")
    shown = for_people(lake.store, "history", answer.rows)
    about: dict[str, Any] = {"verdicts": answer.verdicts}
    if answer.sides and all(answer.sides[-1]):
        about["last_shift"] = dict(zip(("before", "after"), answer.sides[-1], strict=True))
    facts = {"shifted": "last_shift" in about}
    return fetched(shown, given, about=about, trust=trust, facts=facts, order="in the order of time")


def findings(lake: Lake, given: Arguments) -> Answer:
    """Return what takes the time of a trace, the possible gain, and what to try."""
    trace_id = _focused(lake, given["trace"])
    found = lake.sql(
        "SELECT finding, severity, title, value, threshold, unit, basis, gain_us, gain_pct, evidence, suggestions, "
        "query FROM findings WHERE trace_id = $trace_id ORDER BY gain_us DESC NULLS LAST, priority",
        trace_id=trace_id,
    )
    names = {name: True for (name,) in found.select("finding").fetchall()}
    facts = names | {"trace_id": trace_id}
    order = "most to gain first; gains are upper bounds and may overlap"
    return fetched(found, given, trust=_of_trace(lake, trace_id), facts=facts, order=order, longest=_LONGEST_QUERY)


def model_roofline(lake: Lake, given: Arguments) -> Answer:
    """Return the modelled cost of a pass, or the parts of a trace, measured beside modelled."""
    if given["trace"]:
        modelled = ("model", "hardware", *_OF_WORK, *(["modules"] if given["modules"] else []))
        if excluded := [name for name in modelled if given[name] is not None]:
            raise UsageError(f"trace excludes {', '.join(excluded)}: a trace has settings of its own.")
        return _measured(lake, given)
    if not given["model"] or not given["hardware"]:
        raise UsageError("give model and hardware, or trace: what a trace measures beside its model.")
    scenario = lake.ask(_model(given["model"]), given["hardware"], **{key: given[key] for key in _OF_WORK})
    trust = ["a lower bound from data sheets, with perfect overlap: nothing is measured", *lake.faults(scenario)]
    trust += remarks(lake.store, scenario)
    facts: dict[str, Any] = {key: value for key, value in given.items() if _safe(value)}
    facts |= {"of_modules": given["modules"], "of_pass": not given["modules"]}
    rows = lake.model_roofline(scenario, modules=given["modules"]).select(_MODULE if given["modules"] else _PASS)
    return fetched(rows, given, about={"scenario": scenario}, trust=trust, facts=facts)


def _measured(lake: Lake, given: Arguments) -> Answer:
    from ..analysis.calibration import MEASURED_COLUMNS

    trace_id = _focused(lake, given["trace"])
    lake.check_modelled(trace_id)
    found = lake.measured_vs_modelled(trace_id)
    order = "efficiency_pct is modelled by measured time; modelled_ms is a lower bound"
    trust = [*_of_trace(lake, trace_id), *found.faults]
    [chip] = lake.rows("SELECT trace, model, hardware FROM traces WHERE trace_id = $1", [trace_id])
    about = dict(zip(("trace", "model", "hardware"), chip, strict=True))
    facts = {"of_measured": True}
    return fetched(found.rows.select(MEASURED_COLUMNS), given, about=about, trust=trust, facts=facts, order=order)


def schema(lake: Lake, given: Arguments) -> Answer:  # noqa: ARG001
    """Return relations, or the columns of one."""
    if given["relation"] and given["word"]:
        raise UsageError("relation and word exclude each other: give one.")
    if given["relation"]:
        entry = pages.find(given["relation"])
        rows: list[tuple[str, ...]] = [(one.name, one.type, one.text) for one in entry.columns]
        about = {"relation": entry.name, "a row": entry.doc, "key": ", ".join(entry.key)}
        return listed(("column", "type", "meaning"), rows, given, about=about, facts={"relation": entry.name})
    lines = pages.matches(given["word"]) if given["word"] else pages.to_know()
    rows = [("  " * max(0, indent // 2 - 1) + name, sentence) for indent, name, sentence in lines if name]
    return listed(("name", "meaning"), rows, given, facts={"lists": True})


def sql(lake: Lake, given: Arguments) -> Answer:
    """Return the result of a SELECT."""
    if not given["query"].strip(" \t\r\n;"):
        raise UsageError("the query is empty.")
    try:
        found = lake.sql(given["query"])
        with refusals():
            return fetched(found, given, trust=_of_lake(lake), order="as the query has them")
    except UsageError as error:
        raise _without_options(error) from error


def _without_options(error: UsageError) -> UsageError:
    """Return an error without the command line's options, which do not exist for an assistant."""
    return UsageError(re.split(r"; (?:-o|`--unsafe`)", str(error))[0].replace("--where", "where"))


def ingest(lake: Lake, given: Arguments, below: tuple[Path, ...]) -> Answer:
    """Read a file or a folder into the lake.

    Args:
        lake: the lake.
        given: the arguments.
        below: the folders that may be read.
    """
    from ..ingest.batch import Failed

    path = Path(given["path"]).expanduser().absolute()  # made absolute: a dash alone would be stdin
    _check_below(path, below)
    model = _model(given["model"]) if given["model"] else None
    found = lake.ingest(path, model=model, run=given["run"], hardware=given["hardware"])
    failed = [f"{one.source}: {one.reason}" for one in found if isinstance(one, Failed)]
    read = [one for one in found if not isinstance(one, Failed)]
    if failed and not read:
        raise InputError("; ".join(failed))
    rows = [(one.trace, one.trace_id, one.events, one.rejected, one.new) for one in read]
    facts = {"trace_id": read[0].trace_id} if read else {}
    columns = ("trace", "trace_id", "events", "rejected", "new")
    return Answer(columns, rows, len(rows), trust=failed, facts=facts)


def _check_below(path: Path, below: tuple[Path, ...]) -> None:
    """Check that a path, and everything in it if a folder, is below some folders after resolving links.

    Raises:
        UsageError: it is not.
    """
    for file in chain([path], path.rglob("*")):  # a file has none below
        if not any(file.resolve().is_relative_to(folder) for folder in below):
            raise UsageError(f"{file}: not below the folders that may be read: {', '.join(map(str, below))}.")


def _focused(lake: Lake, trace: str) -> str:
    """Return the id of a trace, and restrict the following queries to it."""
    trace_id = lake.resolve(trace)
    lake.store.focus(trace_id)
    return trace_id


def _pass(lake: Lake, trace_id: str, wanted: int | None) -> int | None:
    """Return the wanted pass, by default the chosen one; None if no pass was found in the trace.

    Raises:
        UsageError: the trace has passes, and not this one.
    """
    from ..analysis.passes import find_pass, pass_ids

    return find_pass(lake.store, trace_id, wanted) if pass_ids(lake.store, trace_id) else None


def _safe(value: Any) -> bool:
    """Whether an argument can be repeated outside quoted data: it may be a name from a trace."""
    return not isinstance(value, str) or _WORD.fullmatch(value) is not None


def _side(word: str) -> str:
    """Return the name of a side of a comparison, which must not be a path."""
    if names_input(word):
        raise UsageError("a side is a trace of the lake, a run or a filter, and not a path.")
    return word


def _model(name: str) -> str:
    """Return the name of a model, which must not be a path."""
    if not _MODEL.fullmatch(name) or name.endswith(".json") or Path(name).exists():
        raise UsageError("model: expected the name of a model, as qwen3-32b; a path is not read.")
    return name


def _of_trace(lake: Lake, trace_id: str) -> list[str]:
    """Report what was lost of a trace."""
    [(rejected, truncated)] = lake.rows(
        "SELECT rejected_count, truncated FROM _catalog WHERE trace_id = $1", [trace_id]
    )
    lost = [f"{rejected} events of the file were rejected"] if rejected else []
    return lost + (["the file is truncated: answers are about what was left"] if truncated else [])


def _of_lake(lake: Lake) -> list[str]:
    """Report how many traces of the lake are incomplete."""
    [(all_of_them, lacking)] = lake.rows(
        "SELECT count(*), count(*) FILTER (truncated OR rejected_count > 0) FROM _catalog"
    )
    if not lacking:
        return []
    return [f"{lacking} of {all_of_them} traces are truncated or lost events: see the relation health"]


#: The tools that only read.
READING: Mapping[str, Callable[[Lake, Arguments], Answer]] = {
    one.__name__: one
    for one in (list_traces, summary, layers, kernels, compare, history, findings, model_roofline, schema, sql)
}
