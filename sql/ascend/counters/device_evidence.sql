-- One row per trace and device with counters: which part of the hardware table the counters point
-- to. This is only evidence; it does not override the file's or the user's entry.
--
-- key: trace_id
--
-- trace_id             VARCHAR    trace
-- rank                 INTEGER    rank in the job, NULL if unknown
-- device               INTEGER    device
-- hardware             VARCHAR    hardware set for the trace, NULL if unknown
-- cube_mhz             DOUBLE     clock of the cube cores: median over sufficiently long kernels
-- vector_mhz           DOUBLE     clock of the vector cores, likewise
-- cube_cores           INTEGER    cube cores of the device
-- cube_cores_source    VARCHAR    utilisation: from the share of cycles that the profiler counts;
--                                 blocks: the most of any kernel, a lower bound
-- vector_blocks        INTEGER    most blocks of a kernel on the vector cores
-- measured_tflops      DOUBLE     peak in FP16 and BF16 by cores and clock, TFLOP/s
-- measured_int8_tops   DOUBLE     peak in INT8, TOP/s
-- candidates           VARCHAR[]  parts of the table hardware with a similar BF16 peak; NULL if the
--                                 number of cores is unknown
-- nominal_bf16_tflops  DOUBLE     peak in BF16 of that hardware, TFLOP/s
-- nominal_fp16_tflops  DOUBLE     peak in FP16 of that part, as advertised, TFLOP/s
-- agrees               BOOLEAN    hardware is one of the candidates
CREATE VIEW device_evidence AS
WITH clocks AS (
    SELECT
        trace_id, rank, device,
        median(cube_mhz) FILTER (cube_us >= long.value) AS cube_mhz,
        median(vector_mhz) FILTER (vector_us >= long.value) AS vector_mhz,
        median(cube_cores) FILTER (cube_us >= long.value) AS used_cores,
        max(cube_blocks) AS most_blocks,
        max(vector_blocks) AS vector_blocks
    FROM kernel_pmu
    JOIN ascend_constants AS long ON long.constant = 'clock_kernel_us'
    GROUP BY trace_id, rank, device
),
cored AS (
    SELECT
        trace_id, rank, device, cube_mhz, vector_mhz, vector_blocks,
        coalesce(CAST(round(used_cores) AS INTEGER), most_blocks) AS cube_cores,
        CASE
            WHEN used_cores IS NOT NULL THEN 'utilisation'
            WHEN most_blocks IS NOT NULL THEN 'blocks'
        END AS cube_cores_source,
        coalesce(CAST(round(used_cores) AS INTEGER), most_blocks)
            * cube_mhz * flop.value / 1e6 AS measured_tflops
    FROM clocks
    JOIN ascend_constants AS flop ON flop.constant = 'cube_flop_per_cycle'
),
near AS (
    SELECT
        trace_id, device,
        list(hardware.hardware ORDER BY hardware.hardware) AS candidates
    FROM cored
    JOIN hardware
        ON hardware.vendor = 'huawei' AND hardware.peak_bf16_tflops IS NOT NULL
    JOIN ascend_constants AS tolerance
        ON tolerance.constant = 'peak_tolerance_pct'
        AND abs(measured_tflops / hardware.peak_bf16_tflops - 1) * 100 <= tolerance.value
    GROUP BY trace_id, device
)
SELECT
    cored.trace_id, cored.rank, cored.device, traces.hardware, cube_mhz, vector_mhz, cube_cores,
    cube_cores_source, vector_blocks, measured_tflops, 2 * measured_tflops AS measured_int8_tops,
    candidates, part.peak_bf16_tflops AS nominal_bf16_tflops,
    part.peak_fp16_tflops AS nominal_fp16_tflops,
    list_contains(candidates, traces.hardware) AS agrees
FROM cored
JOIN traces USING (trace_id)
LEFT JOIN near ON near.trace_id = cored.trace_id AND near.device = cored.device
LEFT JOIN hardware AS part ON part.hardware = traces.hardware;
