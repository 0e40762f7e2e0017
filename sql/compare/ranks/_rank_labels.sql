-- One row per device of a trace: its label in charts of its run, unique within the run.
--
-- trace_id  VARCHAR  trace
-- device    INTEGER  device
-- label     VARCHAR  its rank, else the name of its trace; with the device if the trace has
--                    several, with the trace's id if the run would have the label twice
-- place     BIGINT   its place in the run, from 0
CREATE VIEW _rank_labels AS
WITH named AS (
    SELECT
        times.trace_id, times.device, traces.rank, traces.trace,
        coalesce(traces.run, times.trace_id) AS run,
        concat_ws(
            ', ', coalesce('rank ' || traces.rank, traces.trace),
            if(count(*) OVER (PARTITION BY times.trace_id) > 1, 'device ' || times.device, NULL)
        ) AS name
    FROM time_breakdown AS times
    JOIN traces ON traces.trace_id = times.trace_id
)
SELECT
    trace_id, device,
    if(count(*) OVER (PARTITION BY run, name) > 1, concat(name, ' (', trace_id, ')'), name)
        AS label,
    row_number() OVER (PARTITION BY run ORDER BY rank, trace, device, trace_id) - 1 AS place
FROM named;
