-- One row per pair of traces of a run with collective calls in common: the offset of their clocks,
-- from the group with the most of these calls.
CREATE VIEW _clock_pairs AS
WITH led AS (
    SELECT
        run, call, trace_id, clock_offset_us, clock_calls,
        first_value(trace_id) OVER of_call AS first_trace,
        first_value(clock_offset_us) OVER of_call AS first_offset_us
    FROM collective_ranks
    WHERE clock_offset_us IS NOT NULL
    WINDOW of_call AS (PARTITION BY run, call ORDER BY rank NULLS LAST, trace_id, device)
)
SELECT
    run, first_trace, trace_id,
    CAST(1000 * arg_max(
        clock_offset_us - first_offset_us, (clock_calls, clock_offset_us - first_offset_us)
    ) AS BIGINT) AS offset_ns
FROM led
WHERE trace_id <> first_trace
GROUP BY run, first_trace, trace_id;

-- One row per trace of a run: how far its clock is ahead of that of the run's first rank, so that
-- the ranks can be drawn side by side.
--
-- Clocks are compared on the ends of collectives, see collective_ranks; ranks without a collective
-- in common are compared via others. Without such a path, a trace is assumed to start with the
-- first rank.
--
-- key: trace_id
--
-- run         VARCHAR  run, or the trace's id where none was given
-- rank        INTEGER  rank in the job, NULL if unknown
-- trace_id    VARCHAR  trace
-- trace       VARCHAR  its name
-- place       BIGINT   place of the rank in the run, from 0
-- offset_ns   BIGINT   its clock minus that of the first rank, ns
-- is_aligned  BOOLEAN  the offset is from collectives, or the trace is the first rank's
CREATE VIEW perfetto_clocks AS
WITH RECURSIVE members AS (
    SELECT
        coalesce(run, trace_id) AS run, rank, trace_id, trace, start_ns,
        row_number() OVER in_run - 1 AS place,
        first_value(start_ns) OVER in_run AS first_start_ns
    FROM traces
    WINDOW in_run AS (PARTITION BY coalesce(run, trace_id) ORDER BY rank NULLS LAST, trace_id)
),
ways AS (
    SELECT run, first_trace AS from_id, trace_id AS to_id, offset_ns FROM _clock_pairs
    UNION ALL
    SELECT run, trace_id, first_trace, -offset_ns FROM _clock_pairs
),
reached USING KEY (trace_id) AS (
    SELECT run, trace_id, CAST(0 AS BIGINT) AS offset_ns
    FROM members
    WHERE place = 0
    UNION
    SELECT w.run, w.to_id, min(r.offset_ns + w.offset_ns)
    FROM reached AS r
    JOIN ways AS w ON w.run = r.run AND w.from_id = r.trace_id
    ANTI JOIN recurring.reached AS known ON known.trace_id = w.to_id
    GROUP BY w.run, w.to_id
)
SELECT
    m.run, m.rank, m.trace_id, m.trace, m.place,
    coalesce(r.offset_ns, m.start_ns - m.first_start_ns) AS offset_ns,
    r.trace_id IS NOT NULL AS is_aligned
FROM members AS m
LEFT JOIN reached AS r ON r.trace_id = m.trace_id;
