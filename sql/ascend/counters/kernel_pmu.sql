-- One row per Ascend device row with counters of its cores: clock, cores and work by the counters,
-- not by shapes.
--
-- Three identities hold. A core's cycles are its time x the clock x the blocks it ran. The
-- utilisation of the cubes is their cycles over duration x clock x cores. The cubes' work is the
-- share of cycles in which they multiply x cycles x what a core multiplies in a cycle.
--
-- stored: per ascend trace
--
-- key: trace_id, kernel_id
--
-- trace_id              VARCHAR  trace
-- rank                  INTEGER  rank in the job, NULL if unknown
-- device                INTEGER  device
-- kernel_id             BIGINT   the device row
-- op_type               VARCHAR  type of operation
-- core                  VARCHAR  kind of core that ran it
-- counted               BOOLEAN  it is in the relation kernels, not a duplicate row
-- dur_us                DOUBLE   duration, µs
-- cube_blocks           INTEGER  blocks on cube cores
-- vector_blocks         INTEGER  blocks on vector cores
-- cube_us               DOUBLE   time of the cube cores, µs
-- cube_cycles           DOUBLE   cycles of the cube cores, summed over blocks
-- vector_us             DOUBLE   time of the vector cores, µs
-- vector_cycles         DOUBLE   cycles of the vector cores, summed over blocks
-- cube_mhz              DOUBLE   clock of the cube cores
-- vector_mhz            DOUBLE   clock of the vector cores
-- cube_utilization_pct  DOUBLE   share of all cube cores' cycles during the kernel, as the profiler
--                                counted it; values above 100 are shown as they are
-- cube_cores_mhz        DOUBLE   clock x number of cube cores of the device, by that share
-- cube_cores            DOUBLE   cube cores of the device, by that and the clock
-- mac_ratio             DOUBLE   share of cycles in which the cubes multiply
-- vector_ratio          DOUBLE   share of cycles in which the vector units work
-- mte2_ratio            DOUBLE   share of the cubes' cycles in which memory is read
-- reported_cube_flop    DOUBLE   work of the cubes as the profiler counts it
-- mac_quotient          DOUBLE   that work over multiplying cycles: 8192 on an Ascend 910 in FP16
-- pmu_flop              DOUBLE   work of the cubes by multiplying cycles; NULL if the element type
--                                is not in the table dtypes
-- pmu_tflops            DOUBLE   that work over the duration, TFLOP/s
-- over_100_causes       VARCHAR  possible reasons for a cube_utilization_pct above 100, separated
--                                by semicolons
CREATE VIEW kernel_pmu AS
WITH places AS (
    -- Only tables that have the columns used here; most have few of them.
    SELECT
        trace_id, first_event,
        min(place) FILTER (counter = 'aicore_time') AS cube_us,
        min(place) FILTER (counter IN ('aic_total_cycles', 'total_cycles')) AS cube_cycles,
        min(place) FILTER (counter = 'aiv_time') AS vector_us,
        min(place) FILTER (counter = 'aiv_total_cycles') AS vector_cycles,
        min(place) FILTER (counter = 'cube_utilization') AS cube_utilization_pct,
        min(place) FILTER (metric = 'mac_ratio' AND side IS DISTINCT FROM 'aiv') AS mac_ratio,
        min(place) FILTER (counter = 'aic_mac_fp16_ratio') AS mac_fp16_ratio,
        min(place) FILTER (counter = 'aic_mac_int8_ratio') AS mac_int8_ratio,
        min(place) FILTER (metric = 'vec_ratio') AS vector_ratio,
        min(place) FILTER (metric = 'mte2_ratio' AND side IS DISTINCT FROM 'aiv') AS mte2_ratio,
        min(place) FILTER (counter = 'aic_cube_fops') AS cube_fops
    FROM _pmu_heads
    GROUP BY trace_id, first_event
),
counters AS (
    SELECT
        r.trace_id, kernel_id,
        TRY_CAST(cells[cube_us] AS DOUBLE) AS cube_us,
        TRY_CAST(cells[cube_cycles] AS DOUBLE) AS cube_cycles,
        TRY_CAST(cells[vector_us] AS DOUBLE) AS vector_us,
        TRY_CAST(cells[vector_cycles] AS DOUBLE) AS vector_cycles,
        TRY_CAST(cells[cube_utilization_pct] AS DOUBLE) AS cube_utilization_pct,
        TRY_CAST(cells[mac_ratio] AS DOUBLE) AS mac_ratio,
        TRY_CAST(cells[mac_fp16_ratio] AS DOUBLE) AS mac_fp16_ratio,
        TRY_CAST(cells[mac_int8_ratio] AS DOUBLE) AS mac_int8_ratio,
        TRY_CAST(cells[vector_ratio] AS DOUBLE) AS vector_ratio,
        TRY_CAST(cells[mte2_ratio] AS DOUBLE) AS mte2_ratio,
        TRY_CAST(cells[cube_fops] AS DOUBLE) AS reported_cube_flop
    FROM _pmu_rows AS r
    JOIN places ON places.trace_id = r.trace_id AND places.first_event = r.first_event
),
elements AS (
    -- The first input's element type determines the products per cycle.
    SELECT input_types, cube_flop_per_cycle
    FROM (SELECT DISTINCT input_types FROM ascend_kernels WHERE input_types IS NOT NULL)
    LEFT JOIN dtypes
        ON token = regexp_replace(lower(TRY_CAST(input_types AS JSON) ->> '$[0]'), '^dt_', '')
),
rows_with_blocks AS (
    SELECT
        ascend_kernels.trace_id, rank, device, ascend_kernels.kernel_id, op_type, core, counted,
        dur_ns / 1000.0 AS dur_us, elements.cube_flop_per_cycle,
        -- For a kernel on both kinds of core, one column has the blocks on its main kind.
        nullif(CASE WHEN core = 'MIX_AIV' THEN mix_block_num ELSE block_num END, 0) AS cube_blocks,
        nullif(CASE WHEN core = 'MIX_AIC' THEN mix_block_num ELSE block_num END, 0)
            AS vector_blocks
    FROM ascend_kernels
    LEFT JOIN elements USING (input_types)
),
clocked AS (
    SELECT
        r.trace_id, rank, device, r.kernel_id, op_type, core, counted, dur_us, cube_flop_per_cycle,
        CASE WHEN cube_cycles > 0 THEN cube_blocks END AS cube_blocks,
        CASE WHEN vector_cycles > 0 THEN vector_blocks END AS vector_blocks,
        cube_us, cube_cycles, vector_us, vector_cycles,
        cube_cycles / nullif(cube_us * cube_blocks, 0) AS cube_mhz,
        vector_cycles / nullif(vector_us * vector_blocks, 0) AS vector_mhz,
        cube_utilization_pct,
        100 * cube_cycles / nullif(dur_us * cube_utilization_pct, 0) AS cube_cores_mhz,
        coalesce(mac_ratio, greatest(mac_fp16_ratio, mac_int8_ratio)) AS mac_ratio,
        mac_fp16_ratio, mac_int8_ratio, vector_ratio, mte2_ratio, reported_cube_flop,
        CASE
            WHEN cube_cycles = 0 THEN NULL
            WHEN mac_fp16_ratio IS NOT NULL OR mac_int8_ratio IS NOT NULL
                THEN cube_cycles * flop_per_cycle.value
                    * (coalesce(mac_fp16_ratio, 0) + 2 * coalesce(mac_int8_ratio, 0))
            -- One ratio for all element types: that of the first input.
            ELSE cube_cycles * mac_ratio * cube_flop_per_cycle
        END AS pmu_flop
    FROM rows_with_blocks AS r
    JOIN counters ON counters.trace_id = r.trace_id AND counters.kernel_id = r.kernel_id
    JOIN ascend_constants AS flop_per_cycle ON flop_per_cycle.constant = 'cube_flop_per_cycle'
),
over_100 AS (
    SELECT string_agg(cause, ';' ORDER BY cause) AS causes
    FROM over_100_causes
    WHERE applies_to = 'counter'
)
SELECT
    trace_id, rank, device, kernel_id, op_type, core, counted, dur_us, cube_blocks, vector_blocks,
    cube_us, cube_cycles, vector_us, vector_cycles,
    CASE WHEN cube_cycles > 0 THEN cube_mhz END AS cube_mhz,
    CASE WHEN vector_cycles > 0 THEN vector_mhz END AS vector_mhz,
    cube_utilization_pct,
    CASE WHEN cube_cycles > 0 THEN cube_cores_mhz END AS cube_cores_mhz,
    CASE WHEN cube_cycles > 0 THEN cube_cores_mhz / nullif(cube_mhz, 0) END AS cube_cores,
    mac_ratio, vector_ratio, mte2_ratio, reported_cube_flop,
    reported_cube_flop / nullif(cube_cycles * mac_fp16_ratio, 0) AS mac_quotient,
    pmu_flop,
    pmu_flop / nullif(dur_us, 0) / 1e6 AS pmu_tflops,
    CASE WHEN cube_utilization_pct > 100 THEN over_100.causes END AS over_100_causes
FROM clocked
CROSS JOIN over_100;
