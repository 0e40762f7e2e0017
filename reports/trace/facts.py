"""Trace metadata, with the reason for each gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...engine.store import Store

_SET = "`tracelake set TRACE {}=…` sets it"


def facts(store: Store, trace_id: str) -> list[tuple[str, str]]:
    """Return names and values; an unknown value has its reason."""
    [row] = store.objects("SELECT * FROM _trace_facts WHERE trace_id = $trace_id", trace_id=trace_id)
    get = row.get

    def known(key: str, reason: str) -> str:
        value = get(key)
        return f"unknown: {reason}" if value is None or value == "" else str(value)

    pairs = [
        ("File", known("source_path", "read from standard input")),
        ("Trace id", str(get("trace_id"))),
        ("Format", str(get("format"))),
        ("Events", f"{get('event_count')}, {get('rejected_count')} rejected"),
        ("Whole", "no, the file ends before its end" if get("truncated") else "yes"),
        ("Length", "unknown: no event has a time" if get("length_ms") is None else f"{get('length_ms'):.3f} ms"),
        ("Model", known("model", f"not set; {_SET.format('model')}")),
        ("config.json", _config(get("config"), get("known_model"))),
        ("Device", known("device_name", "the profiler printed no name")),
        ("Hardware", _hardware(store, row)),
        ("Rank", f"{get('rank')} (from: {get('rank_source')})" if get("rank") is not None
            else f"unknown: neither in distributedInfo nor in the file's name; {_SET.format('rank')}"),
        ("World size", known("world_size", "not in the file's distributedInfo")),
    ]  # fmt: skip
    pairs += [
        (key.upper(), known(key, f"neither in the file nor in its name; {_SET.format(key)}"))
        for key in ("tp", "ep", "dp", "pp")
    ]
    operations = f"{get('kernels')} on {get('devices')} device(s), {get('streams')} stream(s)"
    pairs += [
        ("Device operations", operations if get("kernels") else "none in the trace"),
        ("Profile", known("profile", f"no config needs one; {_SET.format('profile')}")),
        ("Anchor", _anchor(get("anchor_words"), get("pass_source"))),
        ("Passes found by", known("pass_source", "none were found")),
        (
            "Layers of the model",
            known("num_layers", f"no config, no known model and no setting; {_SET.format('num_layers')}"),
        ),
    ]
    return pairs


def _config(config: str | None, known_model: str | None) -> str:
    if config:
        return "given"
    if known_model:
        return f"not given; dimensions are those of {known_model}, as published"
    return f"unknown: none was given; {_SET.format('model')}"


def _hardware(store: Store, row: dict[str, Any]) -> str:
    if row["hardware"]:
        return f"{row['hardware']} (by {row['hardware_match']})"
    query = "SELECT DISTINCT unnest(candidates) FROM device_evidence WHERE trace_id = $1 ORDER BY ALL"
    near = [name for (name,) in store.rows(query, [row["trace_id"]])]
    device = row["device_name"]
    if near:
        return f"unknown: the counters of its cores fit {' or '.join(near)}; {_SET.format('hardware')}"
    reason = f"no row of `hardware` fits {device}" if device else "the profiler printed no name for the device"
    return f"unknown: {reason}; {_SET.format('hardware')}"


def _anchor(words: str | None, pass_source: str | None) -> str:
    if words:
        return words
    return "none: it takes none here" if pass_source else f"unknown: no known pattern fits; {_SET.format('anchor')}"
