"""NVTX ranges and marks as events: operators, modules and annotations, as PyTorch's profiler would write them.

emit_nvtx of PyTorch labels its ranges: `aten::mul, seq = 5, op_id = 317177, sizes = [[2, 3], []]`. The hooks of
vLLM, SGLang and TensorRT-LLM around modules name them: `{'Module': 'model.layers.3.mlp', ...}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .parts import ROWS, TEXTS, Part, arguments, events, json_text, thread

if TYPE_CHECKING:
    import pyarrow as pa

#: Types of rows: a mark, a range of a thread's stack, a range from start to end.
_MARK, _PUSHED, _STARTED = 34, 59, 60
#: Labelled ranges that are not operators but scopes of the user's program.
_SCOPE = "#|^(DistributedDataParallel|FullyShardedDataParallel|FSDP)|^(nccl|gloo|mpi):"
#: Texts whose labels are split off together: few enough for their positions to stay in the processor's cache.
_AT_ONCE = 8192
_INTEGERS = ("int64Value", "uint64Value", "int32Value", "uint32Value")
_REALS = ("doubleValue", "floatValue")


#: Regular expression of a whole number.
_DIGITS = r"\d+"


def _label(name: str, pattern: str) -> str:
    return f"nullif(regexp_extract(labels, ', {name} = ({pattern})', 1), '')"


#: The last number in a module's path is its instance, the rest its class: model.layers.mlp_3.
_MODULE = (
    r"'nn.Module: ' || regexp_replace(module, '\.\d+', '', 'g') || '_'"
    r" || coalesce(nullif(regexp_extract(module, '^.*\.(\d+)', 1), ''), '0')"
)
_SIZES = "replace(" + _label("sizes", r"\[\[.*?\]\]|\[\]") + ", ' ', '')"
#: The parts of each text: the part before its labels, the labels, and the name of the module that is called.
_SAID = f"""
SELECT
    nth, called, CASE WHEN labels IS NOT NULL THEN 'yes' END AS labelled,
    CASE
        WHEN regexp_matches(called, '^p?nccl[A-Z]') THEN 'nccl'
        WHEN regexp_matches(called, '{_SCOPE}') THEN 'user_annotation'
        ELSE 'cpu_op'
    END AS kind,
    {_label("seq", _DIGITS)} AS said_seq,
    {_label("op_id", _DIGITS)} AS said_op_id,
    {_SIZES} AS sizes,
    {json_text(_label("input_op_ids", ".*"))} AS input_op_ids,
    {_MODULE} AS module_name,
    CASE WHEN module IS NOT NULL THEN {json_text("text")} END AS module_text
FROM (
    SELECT
        nth, text, substr(text, label_at) AS labels, coalesce(left(text, label_at - 1), text) AS called,
        CASE WHEN starts_with(text, '{{''Module'': ''') THEN split_part(text, '''', 4) END AS module
    FROM (
        SELECT *, least(nullif(instr(text, ', seq = '), 0), nullif(instr(text, ', op_id = '), 0)) AS label_at
        FROM {TEXTS}
    )
)"""
_READ = f"(SELECT *, CASE WHEN eventType = {_PUSHED} THEN module_name END AS module FROM {ROWS})"
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
            WHEN kind = 'nccl' THEN 'nccl'
            WHEN coalesce(endGlobalTid, globalTid) <> globalTid THEN 'nvtx_range'
            WHEN labelled IS NOT NULL OR op_id IS NOT NULL THEN kind
            ELSE 'user_annotation'
        END""",
        name="coalesce(module, called, '')",
        input_dims="sizes",
        args=arguments(
            Sequence_number="coalesce(said_seq, seq)",
            op__id="coalesce(said_op_id, op_id)",
            Input_Dims="sizes",
            input__op__ids="input_op_ids",
            module="CASE WHEN module IS NOT NULL THEN module_text END",
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
    {"words": _SAID},
    ("seq", "op_id"),
)


def with_words(batch: pa.Table) -> pa.Table:
    """Return a batch with its texts, without the numbers of emit_nvtx, as `words`, `seq` and `op_id`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from .labels import cut

    texts, named = (batch.column(name).cast(pa.string()) for name in ("text", "textId"))
    whole = (pc.coalesce(texts, named) if named.null_count < len(named) else texts).combine_chunks()
    pieces = [cut(whole[start : start + _AT_ONCE]) for start in range(0, len(whole), _AT_ONCE)]
    columns = [pa.chunked_array(column) for column in zip(*pieces, strict=True)]
    batch = batch.drop_columns(["text", "textId"])
    for name, column in zip(("words", "seq", "op_id"), columns, strict=True):
        batch = batch.append_column(name, column)
    return batch
