-- One row per trace and metric of history_metrics that it has a value for, with the time of
-- recording.
--
-- key: trace_id, metric
--
-- trace_id            VARCHAR    trace
-- trace               VARCHAR    its name
-- run                 VARCHAR    its run, NULL where none was given
-- recorded_at         TIMESTAMP  when it was recorded, as in traces
-- metric              VARCHAR    metric
-- unit                VARCHAR    its unit
-- value               DOUBLE     value
-- spread              DOUBLE     how far two such values may differ by chance, in the same unit:
--                                the noise of trace_changes between two traces with its steady
--                                steps, for medians at least the width of the 95 % interval; NULL
--                                below three steps, and for other metrics
CREATE VIEW trace_metrics AS
SELECT
    measured.trace_id, traces.trace, traces.run, traces.recorded_at, metrics.metric, metrics.unit,
    measured.value * metrics.scale AS value, measured.spread * metrics.scale AS spread
FROM _metric_values AS measured
JOIN history_metrics AS metrics USING (source)
JOIN traces ON traces.trace_id = measured.trace_id;
