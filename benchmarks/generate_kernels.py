"""Write a large, deterministic kernel_details.csv of a decoding server: 46 columns, as recent profilers export them.

    python benchmarks/generate_kernels.py OUT.csv --rows 5000000

A layer is 14 rows: norms, matrix products, fused rotation, cache write, attention with its 31 inputs, and two
collectives, each with its kernel as a twin. Durations and counters differ from row to row, as measured ones do, and
every collective has a name of its own. No random source is used: the same number of rows gives the same bytes on every
machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb

CUBE = (
    "aicore_time(us)", "aic_total_cycles", "aic_mac_time(us)", "aic_mac_ratio", "aic_scalar_time(us)",
    "aic_scalar_ratio", "aic_mte1_time(us)", "aic_mte1_ratio", "aic_mte2_time(us)", "aic_mte2_ratio",
    "aic_fixpipe_time(us)", "aic_fixpipe_ratio", "aic_icache_miss_rate",
)  # fmt: skip
VECTOR = (
    "aiv_time(us)", "aiv_total_cycles", "aiv_vec_time(us)", "aiv_vec_ratio", "aiv_scalar_time(us)", "aiv_scalar_ratio",
    "aiv_mte2_time(us)", "aiv_mte2_ratio", "aiv_mte3_time(us)", "aiv_mte3_ratio", "aiv_icache_miss_rate",
)  # fmt: skip
BF16, NONE = "DT_BF16", "DT_UNDEFINED"
ATTENTION_SHAPES = "16,8,128;12307,128,128;12307,128,128;;2048,2048;16;16;;;;;;;;16,512" + ";" * 16
ATTENTION_TYPES = ";".join([BF16] * 3 + [NONE, "INT8", "INT64", "INT64"] + [NONE] * 7 + ["INT32"] + [NONE] * 16)
ATTENTION_FORMATS = ";".join(["ND"] * 3 + ["NULL", "ND", "ND", "ND"] + ["NULL"] * 7 + ["ND"] + ["NULL"] * 16)
NORM = ("16,5120;16,5120;5120;", f"{BF16};{BF16};{BF16};{NONE}", "ND;ND;ND;NULL", "16,5120;16,1;16,5120")
#: Name, type, core, microseconds, input shapes, types, formats, output shapes.
LAYER = (
    ("AddRmsNormBias", "AddRmsNormBias", "AI_VECTOR_CORE", 4, *NORM),
    ("aclnnMm_MatMulV2_MatMulV2", "MatMulV2", "AI_CORE", 20, "16,5120;5120,640", f"{BF16};{BF16}", "ND;ND", "16,640"),
    ("split_qkv_rmsnorm_rope_kernel_0", "split_qkv_rmsnorm_rope_kernel_0", "AI_VECTOR_CORE", 5, *([None] * 4)),
    ("ReshapeAndCacheNdKernel", "ReshapeAndCacheNdKernel", "AI_VECTOR_CORE", 2, *([None] * 4)),
    (
        "aclnnFusedInferAttentionScoreV3_FusedInferAttentionScore_FusedInferAttentionScore", "FusedInferAttentionScore",
        "MIX_AIC", 40, ATTENTION_SHAPES, ATTENTION_TYPES, ATTENTION_FORMATS, "16,8,128;",
    ),
    ("aclnnMm_MatMulV2_MatMulV2", "MatMulV2", "AI_CORE", 18, "16,1024;1024,5120", f"{BF16};{BF16}", "ND;ND", "16,5120"),
    ("hcom_allReduce__428_", "hcom_allReduce_", "COMMUNICATION", 15, *([None] * 4)),
    ("hcom_allReduce_AivKernel", "hcom_allReduce_", "COMMUNICATION", 15, *([None] * 4)),
    ("AddRmsNormBias", "AddRmsNormBias", "AI_VECTOR_CORE", 4, *NORM),
    ("aclnnMm_MatMulV2_MatMulV2", "MatMulV2", "AI_CORE", 30, "16,5120;5120,3200", f"{BF16};{BF16}", "ND;ND", "16,3200"),
    ("aclnnSwiGlu_SwiGlu_SwiGlu", "SwiGlu", "AI_VECTOR_CORE", 3, "16,3200", BF16, "ND", "16,1600"),
    ("aclnnMm_MatMulV2_MatMulV2", "MatMulV2", "AI_CORE", 25, "16,1600;1600,5120", f"{BF16};{BF16}", "ND;ND", "16,5120"),
    ("hcom_allReduce__428_", "hcom_allReduce_", "COMMUNICATION", 15, *([None] * 4)),
    ("hcom_allReduce_AivKernel", "hcom_allReduce_", "COMMUNICATION", 15, *([None] * 4)),
)  # fmt: skip
#: A row of any layer starts this long after the one before: the slowest row and a pause.
PITCH_NS = 50_000


def write_kernels(path: Path, rows: int) -> None:
    """Write a table of `rows` kernels."""
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE layer (place INTEGER, name VARCHAR, op_type VARCHAR, core VARCHAR, us INTEGER, "
            "shapes VARCHAR, types VARCHAR, formats VARCHAR, output VARCHAR)"
        )
        connection.executemany(
            "INSERT INTO layer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [(n, *row) for n, row in enumerate(LAYER)]
        )
        connection.execute(f"COPY ({_query(rows)}) TO '{path}' (FORMAT csv, HEADER)")


def _query(rows: int) -> str:
    counters = [
        f'{_counter(name, nth, side)} AS "{name}"'
        for side, names in (("is_cube", CUBE), ("is_vector", VECTOR), ("is_cube", ("cube_utilization(%)",)))
        for nth, name in enumerate(names)
    ]

    def quoted(column: str) -> str:
        return f"coalesce('\"' || {column} || '\"', 'N/A')"

    return f"""
    SELECT
        0 AS "Device_id", 4294967295 AS "Model ID",
        if(is_logical, 'N/A', CAST(i % 65536 AS VARCHAR)) AS "Task ID",
        CASE WHEN is_logical THEN 'N/A' WHEN is_twin THEN '47' ELSE '2' END AS "Stream ID",
        if(is_logical, name || i || '_1', name) AS "Name", op_type AS "Type",
        if(is_logical OR is_twin, 'N/A', 'dynamic') AS "OP State", core AS "Accelerator Core",
        CAST(start_ns // 1000 AS VARCHAR) || '.' || lpad(CAST(start_ns % 1000 AS VARCHAR), 3, '0') || chr(9)
            AS "Start Time(us)",
        format('{{:.3f}}', dur_us) AS "Duration(us)",
        format('{{:.3f}}', if(is_logical OR is_twin, 0, hash(i, 'wait') % 2000 / 1000)) AS "Wait Time(us)",
        if(is_logical, 0, 24) AS "Block Num", 0 AS "Mix Block Num", 'NO' AS "HF32 Eligible",
        {quoted("shapes")} AS "Input Shapes", coalesce(types, 'N/A') AS "Input Data Types",
        coalesce(formats, 'N/A') AS "Input Formats", {quoted("output")} AS "Output Shapes",
        if(output IS NULL, 'N/A', 'DT_BF16') AS "Output Data Types",
        if(output IS NULL, 'N/A', 'ND') AS "Output Formats", 'N/A' AS "Context ID",
        {", ".join(counters)}
    FROM (
        SELECT
            *, ends_with(name, 'AivKernel') AS is_twin, ends_with(name, '_428_') AS is_logical,
            core IN ('AI_CORE', 'MIX_AIC') AS is_cube,
            core IN ('AI_VECTOR_CORE', 'MIX_AIC') OR ends_with(name, 'AivKernel') AS is_vector,
            -- A twin has the start and the duration of the row before it.
            i - CAST(ends_with(name, 'AivKernel') AS INTEGER) AS owner,
            1751520000000000000 + owner * {PITCH_NS} AS start_ns,
            us * (0.9 + hash(owner, 'time') % 300 / 1000) AS dur_us
        FROM (SELECT range AS i FROM range({rows}))
        JOIN layer ON layer.place = i % {len(LAYER)}
    )
    ORDER BY i"""


def _counter(name: str, nth: int, side: str) -> str:
    part = f"hash(i, {nth}) % 1000 / 1000"
    if "cycles" in name:
        value = f"CAST(CAST(dur_us * 36000 * {part} AS BIGINT) AS VARCHAR)"
    elif "time" in name:
        value = f"CAST(round(dur_us * {part}, 3) AS VARCHAR)"
    else:
        value = f"CAST({part} AS VARCHAR)"
    return f"CASE WHEN is_logical THEN 'N/A' WHEN {side} THEN {value} ELSE '0' END"


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--rows", type=int, default=5_000_000)
    options = parser.parse_args()
    write_kernels(options.output, options.rows)


if __name__ == "__main__":
    main()
