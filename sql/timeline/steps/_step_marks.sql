-- One row per interval that the trace itself marks as a step, by the evidence used for the trace:
-- its step line, else the annotations of the source that marks the most steps, and only if there
-- are none, or none but parts of these, the steps of its optimizer.
--
-- Marks within those of another source that leave out much of the device time which these cover
-- are parts of its steps, and are not used: more than half of it, or more than a tenth if the other
-- source comes first in step_sources, or has several marks with at least two of the parts in each
-- on average; in the last case what runs between two parts in one of the marks is not left out. The
-- rollouts in an iteration of reinforcement learning are such parts, of the optimizer's steps too;
-- so are, whatever they leave out, marks of a training program that has at least two for each step
-- of its optimizer: its micro-batches. The iterations of an engine are none, though it may sample
-- and draft behind its marks. A mark covers what the host issued during it, or, where that is
-- unknown, what a device started.
--
-- trace_id     VARCHAR  trace
-- marked_by    VARCHAR  host, device or rows (of a table)
-- device       INTEGER  device of the mark, NULL for the host's
-- pid          VARCHAR  process of the mark, NULL for a device's
-- tid          VARCHAR  thread of the mark, NULL for a device's
-- step_source  VARCHAR  from step_sources
-- step_number  BIGINT   number of the step, NULL if its name has none
-- stage        VARCHAR  prefill, decode or mixed, NULL if its name shows none
-- requests     BIGINT   requests by its name, NULL if it has none
-- tokens       BIGINT   tokens by its name, NULL if it has none
-- start_ns     BIGINT   start of the mark, ns
-- end_ns       BIGINT   end of the mark, ns
CREATE VIEW _step_marks AS
WITH found AS MATERIALIZED (
    SELECT * FROM _marked_steps
),
counts AS (
    -- A device repeats the host's marks.
    SELECT trace_id, step_source, max(marks) AS marks, bool_or(in_rows) AS in_rows
    FROM (
        SELECT
            trace_id, step_source, device, count(*) AS marks,
            bool_or(marked_by = 'rows') AS in_rows
        FROM found
        GROUP BY trace_id, step_source, device
    )
    GROUP BY trace_id, step_source
),
contested AS (
    SELECT trace_id, step_source, marks, priority
    FROM (
        SELECT
            *,
            bool_or(step_source = 'engine step') OVER (PARTITION BY trace_id) AS has_engine_steps
        FROM counts
    )
    JOIN step_sources USING (step_source)
    WHERE
        step_source <> 'step line' AND NOT in_rows
        -- The optimizer's steps are only compared with those of an engine.
        AND (step_source <> 'optimizer step' OR has_engine_steps)
    QUALIFY count(*) OVER (PARTITION BY trace_id) > 1
),
reaches AS (
    -- Of marks that overlap, as those of several processes, one may last beyond later ones.
    SELECT
        trace_id, step_source, coalesce(device, -1) AS place, start_ns,
        max(end_ns) OVER (
            PARTITION BY trace_id, step_source, device ORDER BY start_ns, end_ns
            ROWS UNBOUNDED PRECEDING
        ) AS reached_ns
    FROM found
    SEMI JOIN contested USING (trace_id, step_source)
),
operations AS (
    SELECT
        trace_id, step_source, kernel_id, dur_ns, coalesce(issued_ns, start_ns) AS at_ns,
        if(issued_ns IS NULL, device, -1) AS place
    FROM kernels
    JOIN contested USING (trace_id)
),
covered AS (
    SELECT
        operations.trace_id, operations.step_source, kernel_id, dur_ns, at_ns, operations.place,
        reaches.start_ns AS mark_ns
    FROM operations
    ASOF JOIN reaches
        ON reaches.trace_id = operations.trace_id
        AND reaches.step_source = operations.step_source
        AND reaches.place = operations.place
        AND reaches.start_ns <= operations.at_ns
    WHERE at_ns < reached_ns
),
totals AS (
    SELECT trace_id, step_source, marks, priority, coalesce(sum(dur_ns), 0) AS total_ns
    FROM contested
    LEFT JOIN covered USING (trace_id, step_source)
    GROUP BY trace_id, step_source, marks, priority
),
stretches AS (
    -- From the first work of the marks within one of the other source to their last.
    SELECT
        part.trace_id, part.step_source, whole.step_source AS whole_source, whole.place,
        whole.mark_ns, min(whole.at_ns) AS first_ns, max(whole.at_ns) AS last_ns,
        sum(part.dur_ns) AS shared_ns
    FROM covered AS part
    JOIN covered AS whole USING (trace_id, kernel_id)
    WHERE part.step_source <> whole.step_source
    GROUP BY ALL
),
spans AS (
    SELECT s.trace_id, s.step_source, s.whole_source, sum(dur_ns) AS spanned_ns
    FROM stretches AS s
    JOIN covered AS whole
        ON whole.trace_id = s.trace_id AND whole.step_source = s.whole_source
        AND whole.place = s.place AND whole.mark_ns = s.mark_ns
    WHERE whole.at_ns BETWEEN s.first_ns AND s.last_ns
    GROUP BY s.trace_id, s.step_source, s.whole_source
),
shared AS (
    SELECT trace_id, step_source, whole_source, shared_ns, spanned_ns
    FROM (
        SELECT trace_id, step_source, whole_source, sum(shared_ns) AS shared_ns
        FROM stretches
        GROUP BY trace_id, step_source, whole_source
    )
    JOIN spans USING (trace_id, step_source, whole_source)
),
parts AS (
    SELECT part.trace_id, part.step_source
    FROM totals AS part
    JOIN totals AS whole
        ON whole.trace_id = part.trace_id AND whole.step_source <> part.step_source
    LEFT JOIN shared
        ON shared.trace_id = part.trace_id AND shared.step_source = part.step_source
        AND shared.whole_source = whole.step_source
    LEFT JOIN counts AS optimizers
        ON optimizers.trace_id = part.trace_id AND optimizers.step_source = 'optimizer step'
    WHERE
        coalesce(shared_ns, 0) >= 0.9 * part.total_ns
        AND part.step_source <> 'optimizer step'
        AND (whole.step_source <> 'optimizer step' OR part.step_source = 'engine step')
        AND CASE
            -- Marks of training without an optimizer's step in each are micro-batches.
            WHEN part.step_source = 'train step' AND 2 * (optimizers.marks + 1) <= part.marks
                THEN whole.marks > 1 OR shared_ns < 0.9 * whole.total_ns
            WHEN whole.marks > 1 AND part.marks >= 2 * whole.marks
                THEN coalesce(spanned_ns, 0) < 0.9 * whole.total_ns
            ELSE coalesce(shared_ns, 0)
                < if(whole.priority < part.priority, 0.9, 0.5) * whole.total_ns
        END
),
chosen AS (
    SELECT
        trace_id,
        arg_min(
            step_source,
            (step_source <> 'step line', step_source = 'optimizer step', -marks, priority)
        ) AS step_source
    FROM counts
    ANTI JOIN parts USING (trace_id, step_source)
    JOIN step_sources USING (step_source)
    GROUP BY trace_id
)
SELECT
    trace_id, marked_by, device, pid, tid, step_source, step_number, stage, requests, tokens,
    start_ns, end_ns
FROM found
SEMI JOIN chosen USING (trace_id, step_source);
