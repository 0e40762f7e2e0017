-- One row per trace and distinct description of operations of XLA.
--
-- stored: per trace
--
-- trace_id      VARCHAR  trace
-- text_id       UBIGINT  as in _xla_ops
-- kernel_id     BIGINT   first operation with it, an asynchronous one only if there is no other
-- copies        BOOLEAN  the line shows only copies
-- name          VARCHAR  name
-- hlo_category  VARCHAR  category that XLA gives it
-- tf_op         VARCHAR  path in the framework (framework_path)
-- instruction   VARCHAR  the whole instruction (long_name)
-- layout        VARCHAR  its result with layout (shape_with_layout)
-- dedup_name    VARCHAR  name shared by the copies of one operation
-- xla_model_flop BIGINT   operations of the model
-- bytes         BIGINT   bytes read and written as XLA counts them
-- hlo_module    VARCHAR  program
-- source        VARCHAR  file and line in the user's program
CREATE VIEW _xla_texts AS
WITH firsts AS (
    SELECT
        trace_id, text_id, any_value(copies) AS copies,
        arg_min(kernel_id, (role = 'async', kernel_id)) AS event_id
    FROM _xla_ops
    GROUP BY trace_id, text_id
),
given AS (
    SELECT trace_id, text_id, event_id, copies, name, _xla_arguments(args) AS stated
    FROM events
    JOIN firsts USING (trace_id, event_id)
    WHERE lane = 'device'
)
SELECT
    trace_id, text_id, event_id AS kernel_id, copies, name,
    stated[1] AS hlo_category,
    framework_path(stated[2], stated[10]) AS tf_op,
    stated[3] AS instruction,
    stated[4] AS layout,
    stated[5] AS dedup_name,
    TRY_CAST(stated[6] AS BIGINT) AS xla_model_flop,
    TRY_CAST(stated[7] AS BIGINT) AS bytes,
    stated[8] AS hlo_module,
    stated[9] AS source
FROM given;
