-- One row per comparison and kind of work in a step: how long both sides take for it, whether the
-- difference is due to more work or slower work, and which work of the sides was compared.
--
-- For work that both sides do, a time is an amount of work times the time per unit of it: FLOP if
-- all are known on both sides, else bytes, else calls of the operator if both call the same (a call
-- is as much work in one kernel as in two), else operations. The difference of two such products is
-- split without a remainder by the Shapley value: each factor's change at the mean of the other's
-- two values. Work that only one side does is more work, or less. More work costs at most the time
-- after, less work saves at most the time before: beyond that, all of the one time goes and all of
-- the other comes.
--
-- key: side, baseline, group_id
--
-- side            VARCHAR  side
-- baseline        VARCHAR  side that it is compared with
-- group_id        UBIGINT  kinds of work that are compared with each other; no key of work
--                          elsewhere: it may differ in an answer with other sides
-- matched_by      VARCHAR  what both sides have in common, see comparison_levels; nothing if only
--                          one side has it
-- part            VARCHAR  compute, communication, memory, wait or idle
-- category        VARCHAR  kernel category, kind of collective, cause of idle time; the baseline's
--                          if the sides differ
-- module          VARCHAR  module, likewise; empty if unknown
-- operator        VARCHAR  operator, else kernel; empty for idle time
-- shape           VARCHAR  shapes; empty if unknown
-- before_kernel   VARCHAR  the baseline's kernel that takes most of the time; NULL without one
-- after_kernel    VARCHAR  the side's
-- before_calls    DOUBLE   operations of the device in a step of the baseline
-- after_calls     DOUBLE   operations in a step of the side
-- work_unit       VARCHAR  unit of the work: flop, bytes, operator calls or calls (operations);
--                          NULL for idle time
-- before_work     DOUBLE   work in a step of the baseline, in that unit
-- after_work      DOUBLE   work in a step of the side
-- before_ns       BIGINT   time in a step of the baseline, ns
-- after_ns        BIGINT   time in a step of the side, ns
-- change_ns       BIGINT   after minus before, ns
-- more_work_ns    BIGINT   part due to the change of the amount of work, from -before_ns to
--                          after_ns, ns; NULL for idle and waiting time
-- slower_work_ns  BIGINT   part due to the change of the time per unit of work, within the same
--                          limits, ns; NULL in the same cases
CREATE VIEW comparison_ops AS
WITH paired AS (
    SELECT
        side, baseline, group_id, any_value(matched_by) AS matched_by, any_value(part) AS part,
        any_value(category) AS category, any_value(module) AS module,
        any_value(operator) AS operator, any_value(shape) AS shape,
        arg_max(kernel_name, (step_ns, kernel_name))
            FILTER (NOT is_after AND kernel_name <> '') AS before_kernel,
        arg_max(kernel_name, (step_ns, kernel_name))
            FILTER (is_after AND kernel_name <> '') AS after_kernel,
        coalesce(sum(calls) FILTER (NOT is_after), 0) AS before_calls,
        coalesce(sum(calls) FILTER (is_after), 0) AS after_calls,
        CASE
            WHEN count(flop) = count(*) AND min(flop) > 0 THEN 'flop'
            WHEN count(bytes) = count(*) AND min(bytes) > 0 THEN 'bytes'
            WHEN
                min(own_operator) = max(own_operator) AND count(operator_calls) = count(*)
                AND min(operator_calls) > 0
                THEN 'operator calls'
            ELSE 'calls'
        END AS work_unit,
        coalesce(sum(flop) FILTER (NOT is_after), 0) AS before_flop,
        coalesce(sum(flop) FILTER (is_after), 0) AS after_flop,
        coalesce(sum(bytes) FILTER (NOT is_after), 0) AS before_bytes,
        coalesce(sum(bytes) FILTER (is_after), 0) AS after_bytes,
        coalesce(sum(operator_calls) FILTER (NOT is_after), 0) AS before_operator_calls,
        coalesce(sum(operator_calls) FILTER (is_after), 0) AS after_operator_calls,
        CAST(coalesce(sum(step_ns) FILTER (NOT is_after), 0) AS BIGINT) AS before_ns,
        CAST(coalesce(sum(step_ns) FILTER (is_after), 0) AS BIGINT) AS after_ns
    FROM comparison_works
    GROUP BY side, baseline, group_id
),
measured AS (
    SELECT
        side, baseline, group_id, matched_by, part, category, module, operator, shape,
        before_kernel, after_kernel, before_calls, after_calls, before_ns, after_ns,
        if(part IN ('idle', 'wait'), NULL, work_unit) AS work_unit,
        CASE work_unit
            WHEN 'flop' THEN before_flop WHEN 'bytes' THEN before_bytes
            WHEN 'operator calls' THEN before_operator_calls ELSE before_calls
        END AS before_work,
        CASE work_unit
            WHEN 'flop' THEN after_flop WHEN 'bytes' THEN after_bytes
            WHEN 'operator calls' THEN after_operator_calls ELSE after_calls
        END AS after_work
    FROM paired
),
split AS (
    SELECT
        side, baseline, group_id, matched_by, part, category, module, operator, shape,
        before_kernel, after_kernel, before_calls, after_calls, work_unit, before_work, after_work,
        before_ns, after_ns,
        CASE
            WHEN work_unit IS NULL THEN NULL
            WHEN before_work > 0 AND after_work > 0 THEN CAST(round(greatest(-before_ns, least(
                after_ns,
                (after_work - before_work) * (before_ns / before_work + after_ns / after_work) / 2
            ))) AS BIGINT)
            ELSE after_ns - before_ns
        END AS more_work_ns
    FROM measured
)
SELECT
    side, baseline, group_id, matched_by, part, category, module, operator, shape, before_kernel,
    after_kernel, before_calls, after_calls, work_unit,
    if(work_unit IS NULL, NULL, before_work) AS before_work,
    if(work_unit IS NULL, NULL, after_work) AS after_work,
    before_ns, after_ns, after_ns - before_ns AS change_ns, more_work_ns,
    after_ns - before_ns - more_work_ns AS slower_work_ns
FROM split;
