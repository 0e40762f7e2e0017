-- One row per trace and distinct thing that it says of operations of XLA, with what follows from
-- it.
-- trace_id        VARCHAR  trace
-- text_id         UBIGINT  as in _xla_ops
-- name            VARCHAR  name
-- canonical_name  VARCHAR  name without what tells instances apart
-- class           VARCHAR  compute, communication, copy, dma or wait
-- category        VARCHAR  kernel category, other where no rule fits
-- collective      VARCHAR  which collective, where the trace or the name says so
-- hlo_category    VARCHAR  category that XLA gives it
-- hlo_module      VARCHAR  program
-- path            VARCHAR  scopes it belongs to, => between
-- display_path    VARCHAR  the same with more transformations taken off
-- phase           VARCHAR  forward, backward or recompute
-- shape           VARCHAR  dimensions of its results, | between
-- dtype           VARCHAR  types of the same
-- operand_shape   VARCHAR  dimensions of its operands, | between
-- operand_dtype   VARCHAR  types of its operands, | between
-- dedup_name      VARCHAR  name shared by the copies of one operation
-- model_flops     BIGINT   operations as XLA counts them; its 0 for a custom call or for a matrix
--                          product is unknown
-- shape_flops     BIGINT   operations of the matrix product or convolution by its shapes
-- bytes_accessed  BIGINT   bytes read and written as XLA counts them
-- raw_bytes       BIGINT   the same without its corrections
-- source          VARCHAR  file and line in the user's program
CREATE VIEW _op_texts AS
SELECT
    t.trace_id, t.text_id, t.name, named.canonical_name,
    CASE
        WHEN hlo_categories.class IS NOT NULL THEN hlo_categories.class
        WHEN t.hlo_category IS NOT NULL THEN 'compute'
        WHEN named.class = 'compute' AND t.copies THEN 'copy'
        ELSE named.class
    END AS class,
    coalesce(hlo_categories.category, 'other') AS category,
    CASE WHEN t.hlo_category IS NULL THEN named.collective ELSE hlo_categories.collective END
        AS collective,
    t.hlo_category, t.hlo_module,
    coalesce(_op_paths.path, named.path) AS path,
    coalesce(_op_paths.display_path, named.path) AS display_path,
    _op_paths.phase,
    _op_shapes.shape, _op_shapes.dtype, _op_shapes.operand_shape, _op_shapes.operand_dtype,
    t.dedup_name,
    CASE
        WHEN t.hlo_category = 'custom-call' OR hlo_categories.category = 'gemm'
            THEN nullif(t.model_flops, 0)
        ELSE t.model_flops
    END AS model_flops,
    _hlo_products.flops AS shape_flops,
    t.bytes AS bytes_accessed, t.raw_bytes, t.source
FROM _xla_texts AS t
JOIN _op_classes AS named ON named.name = t.name
LEFT JOIN hlo_categories ON hlo_categories.hlo_category = t.hlo_category
LEFT JOIN _op_paths ON _op_paths.tf_op = t.tf_op
LEFT JOIN _op_shapes
    ON _op_shapes.layout IS NOT DISTINCT FROM t.layout
    AND _op_shapes.instruction IS NOT DISTINCT FROM t.instruction
LEFT JOIN _hlo_products
    ON _hlo_products.layout IS NOT DISTINCT FROM t.layout
    AND _hlo_products.instruction = t.instruction;
