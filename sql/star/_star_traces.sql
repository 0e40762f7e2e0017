-- One row per trace: its keys in the star, and what its clock shows.
-- trace_id      VARCHAR    trace
-- trace_key     INTEGER    its key in dim_trace
-- hardware_key  INTEGER    key of its hardware in dim_hardware, 0 if unknown
-- recorded_at   TIMESTAMP  when its first event was, UTC
-- origin_ns     BIGINT     the same on the file's clock, ns
CREATE VIEW _star_traces AS
SELECT
    trace_id, dim_trace.trace_key, coalesce(dim_hardware.hardware_key, 0) AS hardware_key,
    dim_trace.recorded_at, dim_trace.start_ns AS origin_ns
FROM dim_trace
LEFT JOIN dim_hardware
    ON dim_hardware.hardware = dim_trace.hardware AND dim_hardware.hardware_key > 0;
