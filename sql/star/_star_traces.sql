-- One row per trace: its keys in the star, and what its clock shows.
-- trace_id      VARCHAR    trace
-- trace_key     INTEGER    its key in dim_trace
-- hardware_key  INTEGER    key of its hardware in dim_hardware, 0 if unknown
-- recorded_at   TIMESTAMP  when its first event was, UTC, in whole microseconds
-- clock_ns      BIGINT     the same moment on the file's clock, ns
CREATE VIEW _star_traces AS
SELECT
    trace_id, d.trace_key, coalesce(dim_hardware.hardware_key, 0) AS hardware_key, d.recorded_at,
    _clock_ns(d.recorded_at_source, _catalog.base_time_ns, d.start_ns) AS clock_ns
FROM dim_trace AS d
JOIN _catalog USING (trace_id)
LEFT JOIN dim_hardware
    ON dim_hardware.hardware = d.hardware AND dim_hardware.hardware_key > 0;
