-- One row per Ascend device row with shapes: its work by its own shapes, and by its counters.
--
-- A matrix product's inner dimension must fit both matrices and the result, in one of the four
-- transpositions, with blocked storage undone; where none does, the shapes are called inconsistent
-- and no FLOP are made up. Kernels of the vector cores are bound by memory: their FLOP are NULL.
-- Bytes are those of all tensors, each once: an absent tensor has none, a scalar has one element.
-- Moved bytes are what the kernel has to move of them: of a table whose rows are gathered, these
-- rows; of a paged cache, the keys of the requests. Rates are of moved bytes, and NULL where no
-- shape tells them. The setting kv_len=N of a trace says how many keys a request of a paged
-- attention sees.
--
-- Materialised per trace of format ascend.
--
-- trace_id            VARCHAR  trace
-- rank                INTEGER  rank in the job, NULL when unknown
-- device              INTEGER  device
-- stream              BIGINT   stream
-- kernel_id           BIGINT   the device row
-- op_type             VARCHAR  type of operation, folded
-- core                VARCHAR  kind of core
-- core_group          VARCHAR  cube, vector or another group of kinds
-- counted             BOOLEAN  it is one of the relation kernels, no second row of another
-- dur_us              DOUBLE   duration, µs
-- shape_id            UBIGINT  equal for kernels of equal type, shapes, types and formats
-- rule                VARCHAR  how the FLOP are computed, NULL where they are not
-- dtype               VARCHAR  type of the first input's elements, as in the table dtypes
-- m                   BIGINT   rows of a product's result, in all its batches
-- n                   BIGINT   columns of it, before any gate
-- k                   BIGINT   inner dimension
-- flop                DOUBLE   FLOP by shapes
-- flop_bound          DOUBLE   most FLOP of a paged attention: every block of the table full
-- flop_note           VARCHAR  why flop is NULL: no_rule, no_shapes, shape_inconsistent,
--                              lengths_unknown
-- shape_inconsistent  BOOLEAN  no product or attention has such shapes
-- causal              BOOLEAN  an attention counted by half, since a mask hides later keys
-- in_bytes            DOUBLE   bytes of the inputs
-- out_bytes           DOUBLE   bytes of the outputs
-- bytes               DOUBLE   both; NULL where a type of elements is unknown
-- unknown_dtypes      VARCHAR  types of elements that the table dtypes lacks
-- bytes_caveat        VARCHAR  what the sum of bytes misses or holds too much
-- moved_bytes         DOUBLE   bytes that it has to move, NULL where unknown
-- moved_bound         DOUBLE   most bytes it may move where moved_bytes is NULL: every block of the
--                              table full, every row at another expert
-- moved_note          VARCHAR  why moved_bytes is NULL: unknown_dtype, lengths_unknown (of the
--                              requests), experts_unknown (which have rows) or part_unknown
-- pmu_flop            DOUBLE   FLOP of the cubes by their counters
-- pmu_ratio           DOUBLE   that over flop; a little above 1 for padding
-- flop_mismatch       BOOLEAN  counters contradict shapes, by the bounds in ascend_constants
-- tflops              DOUBLE   flop over the duration, TFLOP/s
-- gbps                DOUBLE   moved_bytes over the duration, GB/s
-- intensity           DOUBLE   flop per moved byte
CREATE VIEW ascend_operators AS
WITH works AS (
    SELECT
        s.trace_id, s.shape_id, rule, s.dtype, m, n, k, causal, caveat, flop_bound,
        in_bytes, out_bytes, unknown, coalesce(matmul.flop, attention.flop) AS flop,
        coalesce(matmul.fits, attention.fits) AS fits, moved_bytes, moved_bound, moved_note
    FROM _shapes AS s
    JOIN _moved_bytes AS moved ON moved.trace_id = s.trace_id AND moved.shape_id = s.shape_id
    LEFT JOIN _type_rules
        ON _type_rules.trace_id = s.trace_id AND _type_rules.op_type = s.op_type
    LEFT JOIN _matmul_work AS matmul
        ON matmul.trace_id = s.trace_id AND matmul.shape_id = s.shape_id
    LEFT JOIN _attention_work AS attention
        ON attention.trace_id = s.trace_id AND attention.shape_id = s.shape_id
),
identified AS (
    SELECT
        trace_id, rank, device, stream, kernel_id, op_type_folded AS op_type, core, core_group,
        counted, dur_ns / 1000.0 AS dur_us,
        _shape_id(
            op_type_folded, input_dims, input_types, input_formats, output_dims, output_types,
            output_formats
        ) AS shape_id
    FROM ascend_kernels
    WHERE input_dims IS NOT NULL OR output_dims IS NOT NULL
)
SELECT
    w.trace_id, w.rank, w.device, stream, w.kernel_id, w.op_type, w.core, core_group, w.counted,
    w.dur_us, w.shape_id, rule, dtype, m, n, k, flop, flop_bound,
    CASE
        WHEN flop IS NOT NULL THEN NULL
        WHEN rule IS NULL THEN 'no_rule'
        WHEN fits IS NULL THEN 'no_shapes'
        WHEN NOT fits THEN 'shape_inconsistent'
        ELSE 'lengths_unknown'
    END AS flop_note,
    fits IS NOT DISTINCT FROM FALSE AS shape_inconsistent,
    causal, in_bytes, out_bytes, in_bytes + out_bytes AS bytes, unknown AS unknown_dtypes,
    caveat AS bytes_caveat, moved_bytes, moved_bound, moved_note, pmu_flop,
    pmu_flop / nullif(flop, 0) AS pmu_ratio,
    pmu_flop / nullif(flop, 0) NOT BETWEEN low.value AND high.value AS flop_mismatch,
    flop / nullif(w.dur_us, 0) / 1e6 AS tflops,
    moved_bytes / nullif(w.dur_us, 0) / 1e3 AS gbps,
    flop / nullif(moved_bytes, 0) AS intensity
FROM identified AS w
JOIN works ON works.trace_id = w.trace_id AND works.shape_id = w.shape_id
LEFT JOIN kernel_pmu AS pmu ON pmu.trace_id = w.trace_id AND pmu.kernel_id = w.kernel_id
JOIN ascend_constants AS low ON low.constant = 'pmu_ratio_low'
JOIN ascend_constants AS high ON high.constant = 'pmu_ratio_high';
