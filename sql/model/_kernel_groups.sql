-- One row per device operation: the operator it is part of, and the kernels that share its work.
--
-- Kernels launched by one operator are a group. Those whose category fits the operator's family do
-- its work, and so do kernels that sum up what these left; the others prepare it. Where no category
-- fits, all of them do. A kernel without an operator is a group of its own.
--
-- Reads other traces: those of _capture_links.
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL when unknown
-- device         INTEGER  device
-- kernel_id      BIGINT   the operation
-- display_name   VARCHAR  its name, shortened
-- category       VARCHAR  its category
-- kind           VARCHAR  compute, communication or memory
-- start_ns       BIGINT   start
-- end_ns         BIGINT   end
-- dur_ns         BIGINT   duration, ns
-- pass_id        BIGINT   pass, NULL outside of passes
-- layer_id       BIGINT   layer, NULL outside of layers
-- role           VARCHAR  operator or overhead
-- category_op    VARCHAR  operator or kind of overhead by the category
-- map_rule       VARCHAR  correlation, graph_capture, or NULL where no operator is known
-- op             VARCHAR  name of the operator that launched it
-- op_trace_id    VARCHAR  trace of that operator
-- op_id          BIGINT   the operator where it has a rule for its FLOP
-- work_id        UBIGINT  its work, in operator_works of its trace
-- families       VARCHAR  families of operators whose work its category does
-- group_key      UBIGINT  equal for kernels of one call of an operator
-- group_id       BIGINT   kernel_id of the first kernel that does the work
-- is_worker      BOOLEAN  does work of the operator
-- is_combine     BOOLEAN  sums up what other kernels left
-- workers        BIGINT   kernels of the group that do the work
-- worker_place   BIGINT   place among them by start, from 1
-- group_ns       BIGINT   sum of their durations, ns
-- name_dtype     VARCHAR  type of the operands by the kernel's name
-- fp32_dtype     VARCHAR  the same where the inputs are FP32
-- is_windowed    BOOLEAN  some kernel of the group is attention over a window of keys
CREATE VIEW _kernel_groups AS
WITH known AS (
    SELECT
        k.trace_id, k.rank, k.device, k.kernel_id, k.display_name, k.category, k.kind, k.start_ns,
        k.end_ns, k.dur_ns, s.pass_id, s.layer_id,
        CASE WHEN k.kind = 'compute' THEN coalesce(c.role, 'operator') ELSE 'overhead' END AS role,
        CASE
            WHEN k.kind = 'communication' THEN 'communication'
            ELSE nullif(c.op, '')
        END AS category_op,
        l.map_rule, l.op, l.op_trace_id, l.op_id, l.work_id, works.families,
        CASE
            WHEN l.op_id IS NULL THEN hash(k.kernel_id)
            ELSE hash(
                l.op_trace_id, l.op_id,
                CASE WHEN l.map_rule = 'graph_capture' THEN k.launch_id END
            )
        END AS group_key,
        words.dtype AS name_dtype, words.fp32_dtype,
        coalesce(words.is_windowed, FALSE) AS is_windowed,
        coalesce(words.is_combine, FALSE) AS is_combine
    FROM kernels AS k
    LEFT JOIN _kernel_spots AS s ON s.trace_id = k.trace_id AND s.kernel_id = k.kernel_id
    LEFT JOIN operator_categories AS c ON c.category = k.category
    LEFT JOIN operator_categories AS works
        ON works.category
        = work_category(k.category, k.category_source, k.name_category, k.is_contradicted)
    LEFT JOIN _kernel_leaves AS l ON l.trace_id = k.trace_id AND l.kernel_id = k.kernel_id
    LEFT JOIN _kernel_words AS words ON words.trace_id = k.trace_id AND words.name = k.name
),
fitting AS (
    SELECT
        known.*,
        known.role = 'operator'
        AND (
            known.op_id IS NULL OR known.is_combine
            OR contains(known.families, leaves.family)
        ) AS fits
    FROM known
    LEFT JOIN counted_operators AS leaves
        ON leaves.trace_id = known.op_trace_id AND leaves.op_id = known.op_id
),
working AS (
    SELECT
        * EXCLUDE (fits, is_windowed),
        role = 'operator' AND (
            coalesce(fits, FALSE)
            OR NOT coalesce(bool_or(fits AND NOT is_combine) OVER one_call, FALSE)
        ) AS is_worker,
        bool_or(is_windowed) OVER one_call AS is_windowed
    FROM fitting
    WINDOW one_call AS (PARTITION BY trace_id, device, group_key)
)
SELECT
    trace_id, rank, device, kernel_id, display_name, category, kind, start_ns, end_ns, dur_ns,
    pass_id, layer_id, role, category_op, map_rule, op, op_trace_id, op_id, work_id, families,
    group_key,
    first_value(kernel_id) OVER in_order AS group_id, is_worker, is_combine,
    count(CASE WHEN is_worker THEN 1 END) OVER one_call AS workers,
    row_number() OVER in_order AS worker_place,
    CAST(sum(CASE WHEN is_worker THEN dur_ns ELSE 0 END) OVER one_call AS BIGINT) AS group_ns,
    name_dtype, fp32_dtype, is_windowed
FROM working
WINDOW
    one_call AS (PARTITION BY trace_id, device, group_key),
    in_order AS (
        PARTITION BY trace_id, device, group_key ORDER BY is_worker DESC, start_ns, kernel_id
    );
