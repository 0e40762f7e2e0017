-- One row per device that an XSpace (.xplane.pb) describes: its peaks by the profiler beside those
-- of the table hardware.
--
-- key: trace_id, plane
--
-- trace_id         VARCHAR  trace
-- plane            VARCHAR  its plane, such as /device:TPU:0
-- device           INTEGER  device, NULL if the plane has no number
-- device_type      VARCHAR  what the profiler calls it, NULL if it prints none
-- vendor           VARCHAR  vendor that the profiler prints
-- cores            BIGINT   multiprocessors or compute units
-- clock_mhz        DOUBLE   clock, MHz
-- memory_bytes     BIGINT   memory, bytes
-- profiler_tflops  DOUBLE   peak that the profiler assumes, TFLOP/s
-- profiler_gbps    DOUBLE   bandwidth of memory that it assumes or found, GB/s
-- hardware         VARCHAR  key of the table hardware, NULL if unknown
-- peak_tflops      DOUBLE   dense BF16 peak there, TFLOP/s
-- hbm_gbps         DOUBLE   bandwidth of memory there, GB/s
CREATE VIEW profiled_devices AS
WITH planes AS (
    SELECT
        trace_id, traces.hardware,
        unnest(CAST(json_extract(metadata, '$.planes') AS JSON [])) AS plane
    FROM traces
    WHERE format = 'jax' AND json_valid(metadata)
)
SELECT
    trace_id,
    plane ->> '$.plane' AS plane,
    TRY_CAST(regexp_extract(plane ->> '$.plane', ':(\d+)$', 1) AS INTEGER) AS device,
    coalesce(plane ->> '$.device_type_string', plane ->> '$.device_type') AS device_type,
    plane ->> '$.device_vendor' AS vendor,
    TRY_CAST(plane ->> '$.core_count' AS BIGINT) AS cores,
    TRY_CAST(plane ->> '$.clock_rate' AS DOUBLE) / 1000 AS clock_mhz,
    TRY_CAST(plane ->> '$.memory_size' AS BIGINT) AS memory_bytes,
    TRY_CAST(plane ->> '$.peak_teraflops_per_second' AS DOUBLE) AS profiler_tflops,
    coalesce(
        TRY_CAST(plane ->> '$.peak_hbm_bw_gigabytes_per_second' AS DOUBLE),
        TRY_CAST(plane ->> '$.memory_bandwidth' AS DOUBLE) / 1e9
    ) AS profiler_gbps,
    planes.hardware,
    hardware.peak_bf16_tflops AS peak_tflops,
    hardware.hbm_gbps
FROM planes
LEFT JOIN hardware ON hardware.hardware = planes.hardware;
