-- One row per trace and step: its devices combined, and whether it counts.
--
-- The first or the last step of a device is partial if the trace does not show its program although
-- other steps have one, or if it has less than 90 % of the most frequent number of operations of
-- the steps between that ran the same program. A pass is partial if it lacks layers. A step without
-- work has no time.
--
-- How many of the first steps of a program are warm-up depends on their source, unless the trace's
-- setting warm_up_steps gives it. If passes or an optimizer give the steps, no schedule shows
-- whether the machine was warm: the first step of a program is warm-up if it takes at least 1.2
-- times the median.
--
-- stored: per trace
--
-- trace_id           VARCHAR  trace
-- step_id            BIGINT   step, from 0 in time order
-- step_number        BIGINT   number of the step, NULL if the trace gives none
-- nth                BIGINT   place among the steps of that number on a device, or without one,
--                             from 0
-- step_source        VARCHAR  from step_sources
-- work_source        VARCHAR  source of its work, see steps
-- program            VARCHAR  what it ran, see steps
-- requests           BIGINT   requests in it, NULL if unknown
-- tokens             BIGINT   tokens that it computes, NULL if unknown
-- devices            BIGINT   devices with the step
-- host_start_ns      BIGINT   start of its mark on the host, NULL without one, ns
-- host_end_ns        BIGINT   end of that mark, ns
-- start_ns           BIGINT   earliest start on a device, ns
-- end_ns             BIGINT   latest end on a device, ns
-- marker_ns          BIGINT   longest duration on a device, NULL without work, ns
-- shortest_ns        BIGINT   shortest duration of a device, ns
-- reference_mean_us  DOUBLE   mean duration of the devices, µs
-- slowest_device     INTEGER  device with the longest duration
-- ops                BIGINT   device operations in it
-- first_ns           BIGINT   start of its first operation on any device, ns
-- last_ns            BIGINT   end of its last operation on any device, ns
-- lead_ns            BIGINT   start of the first on the stream that computes most, ns
-- is_warm_up         BOOLEAN  one of the first steps of its program that are left out
-- is_partial         BOOLEAN  not all of it is in the trace
CREATE VIEW _timed_steps AS
WITH places AS (
    SELECT
        trace_id, device, step_id, step_number, nth, step_source, work_source, program, requests,
        tokens, mark_ns, host_start_ns, host_end_ns, start_ns, end_ns, ops, first_ns, last_ns,
        lead_ns, is_whole,
        step_id = 0 OR step_id = max(step_id) OVER on_device AS is_edge,
        max(ops) OVER on_device AS most_ops,
        program IS NULL AND count(program) OVER on_device > 0 AS lacks_program
    FROM _device_steps
    WINDOW on_device AS (PARTITION BY trace_id, device)
),
op_counts AS (
    SELECT trace_id, device, program, ops, count(*) AS steps
    FROM places
    WHERE NOT is_edge
    GROUP BY trace_id, device, program, ops
),
usual AS (
    SELECT trace_id, device, program, arg_max(ops, (steps, -ops)) AS usual_ops
    FROM op_counts
    GROUP BY trace_id, device, program
),
judged AS (
    SELECT
        places.trace_id, places.device, step_number, nth, step_source, work_source, places.program,
        requests, tokens, mark_ns, host_start_ns, host_end_ns,
        start_ns, end_ns, end_ns - start_ns AS dur_ns, ops, first_ns, last_ns, lead_ns,
        NOT is_whole OR is_edge AND (
            -- Without steps between, only an empty one is known to be cut off.
            lacks_program OR coalesce(ops < 0.9 * usual_ops, ops = 0 AND most_ops > 0)
        ) AS is_partial
    FROM places
    LEFT JOIN usual
        ON usual.trace_id = places.trace_id AND usual.device = places.device
        AND usual.program IS NOT DISTINCT FROM places.program
),
together AS (
    SELECT
        trace_id, step_number, nth, any_value(step_source) AS step_source,
        min(work_source) AS work_source,
        arg_max(program, (program IS NOT NULL, coalesce(dur_ns, -1), program)) AS program,
        max(requests) AS requests, max(tokens) AS tokens, count(*) AS devices,
        min(mark_ns) AS mark_ns, min(host_start_ns) AS host_start_ns,
        max(host_end_ns) AS host_end_ns, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
        max(dur_ns) AS marker_ns, min(dur_ns) AS shortest_ns,
        avg(dur_ns) / 1000 AS reference_mean_us,
        arg_max(device, (dur_ns, -1 - device)) FILTER (dur_ns IS NOT NULL) AS slowest_device,
        CAST(sum(ops) AS BIGINT) AS ops, min(first_ns) AS first_ns, max(last_ns) AS last_ns,
        min(lead_ns) AS lead_ns, bool_or(is_partial) AS is_partial
    FROM judged
    GROUP BY trace_id, step_number, nth
),
given AS (
    SELECT trace_id, warm_up_steps FROM traces
),
ranked AS (
    SELECT
        together.trace_id, step_number, nth, together.step_source, work_source, program,
        requests, tokens, devices, host_start_ns, host_end_ns, start_ns, end_ns, marker_ns,
        shortest_ns, reference_mean_us, slowest_device, ops, first_ns, last_ns, lead_ns,
        is_partial,
        row_number() OVER (
            PARTITION BY together.trace_id ORDER BY mark_ns, step_number, nth
        ) - 1 AS step_id,
        row_number() OVER (
            PARTITION BY together.trace_id, program ORDER BY mark_ns, step_number, nth
        ) AS place,
        coalesce(
            given.warm_up_steps,
            least(
                greatest(
                    step_sources.warm_up,
                    if(
                        together.step_source IN ('optimizer step', 'pass')
                        AND 1.2 * median(marker_ns) OVER of_program
                            <= first_value(marker_ns) OVER (of_program ORDER BY mark_ns),
                        1, 0
                    )
                ),
                count(*) OVER of_program // 2
            )
        ) AS warm_up
    FROM together
    JOIN step_sources ON step_sources.step_source = together.step_source
    LEFT JOIN given ON given.trace_id = together.trace_id
    WINDOW of_program AS (PARTITION BY together.trace_id, program)
)
SELECT
    trace_id, step_id, step_number, nth, step_source, work_source, program, requests, tokens,
    devices, host_start_ns, host_end_ns, start_ns, end_ns, marker_ns, shortest_ns,
    reference_mean_us, slowest_device, ops, first_ns, last_ns, lead_ns,
    place <= warm_up AS is_warm_up, is_partial
FROM ranked;
