-- One row per counted framework operator that has a rule for its FLOP: of the nested operators of
-- one call, the innermost one. An operator gives way to those inside it of the families that its
-- rule names; one whose shapes give no work gives way to any around or inside it.
--
-- Operators of a thread nest or are disjoint, so in order of their starts the next one of a family
-- is inside exactly when it starts before this one's end. Of equal times the caller has the lower
-- id: ids are assigned as operators start.
--
-- stored: per trace
--
-- key: trace_id, op_id
--
-- trace_id   VARCHAR  trace
-- op_id      BIGINT   event_id of the operator
-- op         VARCHAR  its name
-- pid        VARCHAR  process
-- tid        VARCHAR  thread
-- start_ns   BIGINT   start
-- end_ns     BIGINT   end
-- work_id    UBIGINT  its call, in operator_works; NULL if it has no shapes
-- family     VARCHAR  product, conv, sdpa, attention or moe
-- has_work   BOOLEAN  its shapes give FLOP
-- said       VARCHAR  stage or scope from its arguments, or from those of an operator around it
CREATE VIEW counted_operators AS
WITH names AS (
    SELECT DISTINCT i.trace_id, i.op, i.needs_arguments, r.family, r.gives_way
    FROM _op_inputs AS i
    JOIN trace_op_rules AS r USING (priority)
    WHERE r.family <> 'memory'
),
ruled AS (
    SELECT
        e.trace_id, e.event_id AS op_id, n.op, e.pid, e.tid, e.start_ns, e.end_ns,
        e.external_id, n.family, n.gives_way, hash(e.trace_id, e.pid, e.tid) AS thread_id,
        work_id(
            n.op, e.input_dims, e.input_types,
            CASE WHEN n.needs_arguments THEN e.args ->> '$."Concrete Inputs"' END
        ) AS work_id,
        CASE
            WHEN contains(e.args, '"stage"') OR contains(e.args, '"scope"')
                THEN concat_ws(' ', e.args ->> '$.stage', e.args ->> '$.scope')
        END AS said
    FROM events AS e
    JOIN names AS n ON n.trace_id = e.trace_id AND n.op = e.name
    WHERE e.lane = 'host' AND e.category = 'cpu_op' AND e.dur_ns IS NOT NULL
),
placed AS (
    SELECT
        r.trace_id, r.op_id, r.op, r.pid, r.tid, r.start_ns, r.end_ns, r.family, r.gives_way,
        w.work_id, coalesce(w.has_work, FALSE) AS has_work, r.said,
        -- Numbers are faster to sort than names.
        row_number() OVER (
            PARTITION BY r.thread_id ORDER BY r.start_ns, r.end_ns DESC, r.external_id, r.op_id
        ) AS place,
        r.thread_id
    FROM ruled AS r
    LEFT JOIN operator_works AS w ON w.trace_id = r.trace_id AND w.work_id = r.work_id
),
followed AS (
    SELECT
        trace_id, op_id, op, pid, tid, start_ns, end_ns, work_id, family, gives_way, has_work,
        lead(start_ns) OVER (PARTITION BY thread_id ORDER BY place) AS next_ns,
        min(CASE WHEN has_work AND family = 'product' THEN start_ns END) OVER after
            AS next_product_ns,
        min(CASE WHEN has_work AND family = 'conv' THEN start_ns END) OVER after AS next_conv_ns,
        min(CASE WHEN has_work AND family = 'sdpa' THEN start_ns END) OVER after AS next_sdpa_ns,
        min(CASE WHEN has_work AND family = 'attention' THEN start_ns END) OVER after
            AS next_attention_ns,
        min(CASE WHEN has_work AND family = 'moe' THEN start_ns END) OVER after AS next_moe_ns,
        max(CASE WHEN has_work THEN end_ns END) OVER (
            PARTITION BY thread_id ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS around_ns,
        last_value(
            CASE WHEN said IS NOT NULL THEN {'said': said, 'end_ns': end_ns} END IGNORE NULLS
        ) OVER (
            PARTITION BY thread_id ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS around
    FROM placed
    WINDOW after AS (
        PARTITION BY thread_id ORDER BY place DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT
    trace_id, op_id, op, pid, tid, start_ns, end_ns, work_id, family, has_work,
    CASE WHEN around.end_ns >= end_ns THEN around.said END AS said
FROM followed
WHERE CASE
    WHEN NOT has_work
        THEN coalesce(next_ns >= end_ns, TRUE) AND coalesce(around_ns <= start_ns, TRUE)
    ELSE NOT (
        (contains(gives_way, 'product') AND coalesce(next_product_ns < end_ns, FALSE))
        OR (contains(gives_way, 'conv') AND coalesce(next_conv_ns < end_ns, FALSE))
        OR (contains(gives_way, 'sdpa') AND coalesce(next_sdpa_ns < end_ns, FALSE))
        OR (contains(gives_way, 'attention') AND coalesce(next_attention_ns < end_ns, FALSE))
        OR (contains(gives_way, 'moe') AND coalesce(next_moe_ns < end_ns, FALSE))
    )
END;
