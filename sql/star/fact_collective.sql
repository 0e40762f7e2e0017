-- One row per collective operation on a device.
--
-- key: collective_key
--
-- collective_key   BIGINT     key, from 1 by trace and collective
-- trace_key        INTEGER    trace, in dim_trace
-- hardware_key     INTEGER    what it ran on, in dim_hardware
-- kernel_name_key  INTEGER    name of its first operation, in dim_kernel_name
-- category_key     INTEGER    category of that operation, in dim_category
-- device           INTEGER    device it ran on
-- collective_id    BIGINT     event_id of its first operation in its trace
-- kind             VARCHAR    kind: all-reduce, all-gather and so on, by collective_rules
-- process_group    VARCHAR    group of ranks, as the trace names it; NULL if not shown
-- group_size       BIGINT     ranks in the group, NULL if unknown
-- dtype            VARCHAR    type of the elements, NULL if not shown
-- start_ns         BIGINT     start, ns
-- end_ns           BIGINT     end, ns
-- start_at         TIMESTAMP  start, UTC
-- end_at           TIMESTAMP  end, UTC
-- dur_us           DOUBLE     from start to end, µs
-- exposed_us       DOUBLE     time in which the device only communicates, µs
-- hidden_us        DOUBLE     time in which the device computes, µs
-- idle_us          DOUBLE     time in which the device is idle or waits, µs
-- bytes            DOUBLE     size of the whole operation, bytes; NULL if unknown
-- algorithm_gbps   DOUBLE     size by time, GB/s
-- bus_gbps         DOUBLE     the same times the factor of its kind, GB/s
CREATE VIEW fact_collective AS
SELECT
    row_number() OVER (ORDER BY t.trace_key, s.collective_id) AS collective_key, t.trace_key,
    t.hardware_key, coalesce(n.kernel_name_key, 0) AS kernel_name_key,
    coalesce(c.category_key, 0) AS category_key, s.device, s.collective_id, s.kind,
    s.process_group, s.group_size, s.dtype, s.start_ns, s.end_ns,
    _moment(t.recorded_at, t.clock_ns, s.start_ns) AS start_at,
    _moment(t.recorded_at, t.clock_ns, s.end_ns) AS end_at, s.dur_us, s.exposed_us, s.hidden_us,
    s.idle_us, s.bytes, s.algorithm_gbps, s.bus_gbps
FROM collectives AS s
JOIN _star_traces AS t USING (trace_id)
LEFT JOIN kernels AS k ON k.trace_id = s.trace_id AND k.kernel_id = s.collective_id
LEFT JOIN dim_kernel_name AS n ON n.name = s.name AND n.kernel_name_key > 0
LEFT JOIN dim_category AS c
    ON c.category = k.category AND c.kind = k.kind AND c.category_key > 0;
