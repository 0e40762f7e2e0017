"""NVTX ranges and marks as events: operators, modules and annotations, as PyTorch's profiler would have written them.

emit_nvtx of PyTorch labels its ranges: `aten::mul, seq = 5, op_id = 317177, sizes = [[2, 3], []]`. The hooks that
vLLM, SGLang and TensorRT-LLM put around modules name them: `{'Module': 'model.layers.3.mlp', ...}`.
"""

from __future__ import annotations

from .parts import ROWS, Part, arguments, events, json_text, thread

#: Types of rows: a mark, a range of a thread's stack, a range from start to end.
_MARK, _PUSHED, _STARTED = 34, 59, 60
#: Of labelled ranges those that are no operators but scopes of the user's program.
_SCOPE = "#|^(DistributedDataParallel|FullyShardedDataParallel|FSDP)|^(nccl|gloo|mpi):"
_INTEGERS = ("int64Value", "uint64Value", "int32Value", "uint32Value")
_REALS = ("doubleValue", "floatValue")


def _label(name: str, pattern: str) -> str:
    return f"nullif(regexp_extract(labels, ', {name} = ({pattern})', 1), '')"


#: Rows with their text, what of it stands before labels, the labels, and the path of a module.
_READ = f"""(
    SELECT *, substr(words, label_at) AS labels, coalesce(left(words, label_at - 1), words, '') AS called
    FROM (
        SELECT
            *, coalesce(text, textId) AS words,
            least(nullif(instr(words, ', seq = '), 0), nullif(instr(words, ', op_id = '), 0)) AS label_at,
            CASE
                WHEN eventType = {_PUSHED} AND starts_with(words, '{{''Module'': ''') THEN split_part(words, '''', 4)
            END AS module
        FROM {ROWS}
    )
)"""
#: The last number in a module's path is its instance, what is left its class: model.layers.mlp_3.
_MODULE = (
    r"'nn.Module: ' || regexp_replace(module, '\.\d+', '', 'g') || '_'"
    r" || coalesce(nullif(regexp_extract(module, '^.*\.(\d+)', 1), ''), '0')"
)
_SIZES = "replace(" + _label("sizes", r"\[\[.*?\]\]|\[\]") + ", ' ', '')"
_NUMBERS = ", ".join(
    [f"CAST({name} AS VARCHAR)" for name in _INTEGERS]
    + [f"CASE WHEN isfinite({name}) THEN CAST({name} AS VARCHAR) END" for name in _REALS]
)
NVTX = Part(
    "NVTX_EVENTS",
    dict.fromkeys(
        ("start", "end", "eventType", "category", "globalTid", "endGlobalTid", "textId", "domainId", *_INTEGERS), "int"
    )
    | dict.fromkeys(_REALS, "real")
    | {"text": "text", "binaryData": "bytes"},
    events(
        _READ,
        lane="CASE WHEN ph = 'M' THEN 'meta' WHEN category = 'python_function' THEN 'python' ELSE 'host' END",
        ph=f"""CASE
            WHEN eventType = {_MARK} THEN 'i'
            WHEN eventType NOT IN ({_PUSHED}, {_STARTED}) THEN 'M'
            WHEN end_ns IS NULL THEN 'B'
            ELSE 'X'
        END""",
        category=f"""CASE
            WHEN eventType NOT IN ({_MARK}, {_PUSHED}, {_STARTED}) THEN 'nvtx'
            WHEN module IS NOT NULL THEN 'python_function'
            WHEN regexp_matches(called, '^p?nccl[A-Z]') THEN 'nccl'
            WHEN coalesce(endGlobalTid, globalTid) <> globalTid THEN 'nvtx_range'
            WHEN labels IS NOT NULL AND NOT regexp_matches(called, '{_SCOPE}') THEN 'cpu_op'
            ELSE 'user_annotation'
        END""",
        name=f"CASE WHEN module IS NOT NULL THEN {_MODULE} ELSE called END",
        input_dims=_SIZES,
        args=arguments(
            Sequence_number=_label("seq", r"\d+"),
            op__id=_label("op_id", r"\d+"),
            Input_Dims=_SIZES,
            input__op__ids=json_text(_label("input_op_ids", ".*")),
            module="CASE WHEN module IS NOT NULL THEN " + json_text("words") + " END",
            event_type=f"CASE WHEN eventType NOT IN ({_MARK}, {_PUSHED}, {_STARTED}) THEN eventType END",
            domain="nullif(domainId, 0)",
            category="nullif(category, 0)",
            value=f"coalesce({_NUMBERS})",
            members="payload",
        ),
        start_ns="start",
        end_ns='"end"',
        **thread("globalTid"),
    ),
    ("textId",),
)
