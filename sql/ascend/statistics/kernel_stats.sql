-- One row per distinct kernel work in the lake: how long the same operation type takes on the same
-- shapes, over all traces. Kernels without known shapes are grouped by type only. Operations that
-- enclose others (enclosing_kernels) are left out.
--
-- The profiler's counters are averaged over the kernels that have them.
--
-- key: hardware?, device_name?, software?, op_type, core?, op_state?, block_num?, input_dims?,
--      input_types?, input_formats?, output_dims?, output_types?, output_formats?
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
CREATE VIEW kernel_stats AS
SELECT
    hardware, device_name, software, op_type, core, op_state, block_num, input_dims, input_types,
    input_formats, output_dims, output_types, output_formats, count, traces, sum_us, min_us,
    mean_us, median_us, p95_us, max_us, std_us, first_trace, last_trace, pmu_avg
FROM shape_stats(NULL);
