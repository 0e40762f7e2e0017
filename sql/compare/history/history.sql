-- One row per run and metric: its history, a value for each run, in the order of recorded_at. A
-- trace without a run is a point of its own. `tracelake history` finds where the level shifts.
--
-- key: metric, run
--
-- metric       VARCHAR    metric of the table history_metrics
-- run          VARCHAR    run, else name of the trace, with the beginning of its id where another
--                         point has that name
-- recorded_at  TIMESTAMP  when the first of its traces was recorded, UTC
-- source       VARCHAR    its source, see recorded_at_source of traces
-- traces       BIGINT     its traces
-- value        DOUBLE     median of their values, in the unit of the metric
-- low          DOUBLE     lowest of them
-- high         DOUBLE     highest
CREATE VIEW history AS
WITH measured AS (
    SELECT trace_id, metric, value FROM trace_metrics
)
SELECT metric, run, recorded_at, source, traces, value, low, high
FROM history_points(measured, 'run', NULL);
