-- One row per trace of a run: how far its clock is ahead of that of the run's first rank, so that
-- the ranks can be drawn side by side.
--
-- Clocks are compared on the ends of collectives, see collective_ranks. If none links them, a trace
-- is assumed to start with the first rank.
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
WITH members AS (
    SELECT
        coalesce(run, trace_id) AS run, rank, trace_id, trace, start_ns,
        row_number() OVER in_run - 1 AS place,
        first_value(start_ns) OVER in_run AS first_start_ns,
        first_value(trace_id) OVER in_run AS first_trace
    FROM traces
    WINDOW in_run AS (PARTITION BY coalesce(run, trace_id) ORDER BY rank NULLS LAST, trace_id)
),
clocks AS (
    SELECT
        trace_id, any_value(clock_trace_id) AS clock_trace_id,
        CAST(1000 * any_value(clock_offset_us) AS BIGINT) AS offset_ns
    FROM collective_ranks
    GROUP BY trace_id
)
SELECT
    m.run, m.rank, m.trace_id, m.trace, m.place,
    CASE
        WHEN m.place = 0 THEN 0
        WHEN c.clock_trace_id = m.first_trace THEN c.offset_ns
        ELSE m.start_ns - m.first_start_ns
    END AS offset_ns,
    m.place = 0 OR coalesce(c.clock_trace_id = m.first_trace, FALSE) AS is_aligned
FROM members AS m
LEFT JOIN clocks AS c ON c.trace_id = m.trace_id;
