-- One row per trace of a rank with several captures in its run.
--
-- trace_id        VARCHAR  trace
-- member          INTEGER  rank in the job
-- place           BIGINT   place among the captures of the rank, from 1 in time order
-- is_overlapping  BOOLEAN  another of them shows the same time
CREATE VIEW _rank_captures AS
WITH captures AS (
    SELECT
        trace_id, run, rank AS member, coalesce(base_time_ns, 0) + start_ns AS start_ns,
        coalesce(base_time_ns, 0) + end_ns AS end_ns
    FROM traces
    WHERE run IS NOT NULL AND rank IS NOT NULL
)
SELECT
    trace_id, member, row_number() OVER in_time AS place,
    coalesce(max(end_ns) OVER (
        PARTITION BY run, member ORDER BY start_ns, trace_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) > start_ns, FALSE) OR coalesce(lead(start_ns) OVER in_time < end_ns, FALSE) AS is_overlapping
FROM captures
WINDOW in_time AS (PARTITION BY run, member ORDER BY start_ns, trace_id)
QUALIFY count(*) OVER (PARTITION BY run, member) > 1;
