-- One row per run and metric: its history, a value for each run, in the order of recorded_at. A
-- trace of no run stands for itself. `tracelake history` finds where the level shifts.
--
-- key: metric, run
--
-- metric       VARCHAR    metric of the table history_metrics
-- run          VARCHAR    run, else name of the trace
-- recorded_at  TIMESTAMP  when the first of its traces was recorded, UTC
-- source       VARCHAR    where that is from, as recorded_at_source of traces
-- traces       BIGINT     its traces
-- value        DOUBLE     median of their values, in the unit of the metric
-- low          DOUBLE     least of them
-- high         DOUBLE     largest
CREATE VIEW history AS
WITH measured AS (
    SELECT trace_id, metric, value FROM trace_metrics
)
SELECT metric, run, recorded_at, source, traces, value, low, high
FROM history_points(measured, 'run', NULL);
