-- One row per distinct kernel work of a trace, or of all traces: how long the same operation type
-- takes on the same shapes. Kernels without known shapes are grouped by type only. Operations that
-- enclose others (enclosing_kernels) are left out.
--
-- `FROM shape_stats(trace_id)`; NULL for all traces, as in kernel_stats. The profiler's counters
-- are averaged over the kernels that have them.
--
-- hardware        VARCHAR  key of the table hardware, NULL if unknown
-- device_name     VARCHAR  the device as the profiler prints it
-- software        VARCHAR  versions it ran with: the trace's setting software
-- op_type         VARCHAR  type of operation, folded; for other vendors the kernel's display name
-- core            VARCHAR  kind of core, NULL if there is one
-- op_state        VARCHAR  dynamic or static, of one of the kernels
-- block_num       INTEGER  blocks launched, NULL if unknown
-- input_dims      VARCHAR  shapes of the inputs, JSON
-- input_types     VARCHAR  types of the inputs, JSON
-- input_formats   VARCHAR  formats of the inputs, NULL for other vendors
-- output_dims     VARCHAR  shapes of the outputs, JSON
-- output_types    VARCHAR  types of the outputs, JSON
-- output_formats  VARCHAR  formats of the outputs
-- count           BIGINT   kernels
-- traces          BIGINT   traces they are from
-- sum_us          DOUBLE   sum of their durations, µs
-- min_us          DOUBLE   shortest, µs
-- mean_us         DOUBLE   mean, µs
-- median_us       DOUBLE   median, µs
-- p95_us          DOUBLE   95th percentile, linearly interpolated, µs
-- max_us          DOUBLE   longest, µs
-- std_us          DOUBLE   standard deviation of the population, µs
-- first_trace     VARCHAR  trace with such a kernel that was ingested first
-- last_trace      VARCHAR  and the last one
-- pmu_avg         VARCHAR  mean of each counter by its column's head, JSON; NULL without counters
CREATE MACRO shape_stats(of_trace) AS TABLE
WITH software AS (
    SELECT trace_id, max(value) AS software
    FROM tags
    WHERE key = 'software'
    GROUP BY trace_id
),
-- Read twice: once for the times, once for the text columns of one kernel of each work.
typed AS NOT MATERIALIZED (
    SELECT
        a.trace_id, kernel_id, dur_ns, hardware, device_name, software, trace, ingested_at,
        op_type_folded AS op_type, core, op_state, block_num, input_dims, input_types,
        input_formats, output_dims, output_types, output_formats
    FROM ascend_kernels AS a
    JOIN traces AS t ON t.trace_id = a.trace_id
    LEFT JOIN software AS s ON s.trace_id = a.trace_id
    WHERE counted AND (of_trace IS NULL OR a.trace_id = of_trace)
    UNION ALL
    SELECT
        k.trace_id, kernel_id, dur_ns, hardware, device_name, software, trace, ingested_at,
        display_name, NULL, NULL, NULL, input_dims, input_types, NULL, NULL, NULL, NULL
    FROM kernels AS k
    JOIN traces AS t ON t.trace_id = k.trace_id AND t.format <> 'ascend'
    LEFT JOIN software AS s ON s.trace_id = k.trace_id
    ANTI JOIN enclosing_kernels AS e ON e.trace_id = k.trace_id AND e.kernel_id = k.kernel_id
    WHERE of_trace IS NULL OR k.trace_id = of_trace
),
keyed AS (
    SELECT
        trace_id, kernel_id, dur_ns, trace, ingested_at,
        hash(
            hardware, device_name, software, op_type, core, block_num, input_dims, input_types,
            input_formats, output_dims, output_types, output_formats
        ) AS work
    FROM typed
),
summed AS (
    SELECT
        work, count(*) AS kernels, count(DISTINCT trace_id) AS traces,
        sum(dur_ns) / 1000.0 AS sum_us, min(dur_ns) / 1000.0 AS min_us,
        sum(dur_ns) / 1000.0 / count(*) AS mean_us, median(dur_ns) / 1000.0 AS median_us,
        quantile_cont(dur_ns, 0.95) / 1000.0 AS p95_us, max(dur_ns) / 1000.0 AS max_us,
        stddev_pop(dur_ns) / 1000.0 AS std_us,
        min_by(trace, (ingested_at, trace)) AS first_trace,
        max_by(trace, (ingested_at, trace)) AS last_trace,
        min(row(trace_id, kernel_id)) AS example
    FROM keyed
    GROUP BY work
),
of_work AS (
    SELECT r.trace_id, first_event, work, cells
    FROM _pmu_rows AS r
    JOIN keyed ON keyed.trace_id = r.trace_id AND keyed.kernel_id = r.kernel_id
    WHERE of_trace IS NULL OR r.trace_id = of_trace
),
listed AS (
    SELECT
        trace_id, first_event, work, unnest(range(1, len(cells) + 1)) AS place,
        unnest(cells) AS cell
    FROM of_work
),
counted AS (
    SELECT
        trace_id, first_event, work, place, fsum(TRY_CAST(cell AS DOUBLE)) AS total,
        count(TRY_CAST(cell AS DOUBLE)) AS cells_with_a_number
    FROM listed
    GROUP BY trace_id, first_event, work, place
),
averages AS (
    SELECT work, header, fsum(total) / nullif(sum(cells_with_a_number), 0) AS mean
    FROM counted
    JOIN _pmu_heads USING (trace_id, first_event, place)
    GROUP BY work, header
),
counters AS (
    SELECT
        work,
        CAST(to_json(map_from_entries(list(row(header, mean) ORDER BY header))) AS VARCHAR)
            AS pmu_avg
    FROM averages
    GROUP BY work
)
SELECT
    hardware, device_name, software, op_type, core, op_state, block_num, input_dims, input_types,
    input_formats, output_dims, output_types, output_formats, kernels AS count, traces, sum_us,
    min_us, mean_us, median_us, p95_us, max_us, std_us, first_trace, last_trace, pmu_avg
FROM summed
JOIN typed ON row(typed.trace_id, typed.kernel_id) = example
LEFT JOIN counters USING (work);
