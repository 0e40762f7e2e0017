-- One row per kernel of an Ascend device's vector cores whose bytes are known: the colour that the
-- profiler's advisor gives it for its throughput. The thresholds are those of advisor_colours.
--
-- key: trace_id, kernel_id
--
-- trace_id          VARCHAR  trace
-- rank              INTEGER  rank in the job, NULL if unknown
-- device            INTEGER  device
-- kernel_id         BIGINT   the kernel
-- op_type           VARCHAR  type of operation, folded
-- dur_us            DOUBLE   duration, µs
-- bytes             DOUBLE   bytes of all its tensors
-- throughput_gibps  DOUBLE   bytes over the duration, GiB/s
-- colour            VARCHAR  red: slow and long; yellow: half fast; green: fast, or short; white:
--                            no bytes
CREATE VIEW vector_colours AS
WITH moved AS (
    SELECT
        trace_id, rank, device, kernel_id, op_type, dur_us, bytes,
        bytes / 1073741824 / nullif(dur_us, 0) * 1e6 AS throughput_gibps
    FROM ascend_operators
    WHERE core = 'AI_VECTOR_CORE' AND counted AND bytes IS NOT NULL
),
coloured AS (
    SELECT trace_id, kernel_id, min(priority) AS priority
    FROM moved
    JOIN advisor_colours
        ON coalesce(throughput_gibps, 0) >= coalesce(from_gibps, 0)
        AND coalesce(throughput_gibps, 0) < coalesce(below_gibps, 'infinity')
        AND dur_us > coalesce(longer_us, -1)
    GROUP BY trace_id, kernel_id
)
SELECT
    moved.trace_id, rank, device, moved.kernel_id, op_type, dur_us, bytes, throughput_gibps, colour
FROM moved
JOIN coloured ON coloured.trace_id = moved.trace_id AND coloured.kernel_id = moved.kernel_id
JOIN advisor_colours USING (priority);
