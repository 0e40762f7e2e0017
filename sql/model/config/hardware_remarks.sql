-- One row per chip and questionable property of its figures.
--
-- Units of half the width do as many or twice as many operations; four times as many indicate a
-- figure with sparsity.
--
-- key: hardware, remark
--
-- hardware  VARCHAR  chip
-- remark    VARCHAR  what
CREATE VIEW hardware_remarks AS
SELECT
    hardware,
    printf('its peak in %s is %.3g times that in %s, expected 1 or 2', narrow, ratio, wide)
        AS remark
FROM (
    SELECT hardware, 'FP8' AS narrow, 'BF16' AS wide, peak_fp8_tflops / peak_bf16_tflops AS ratio
    FROM hardware
    UNION ALL
    SELECT hardware, 'FP4', 'FP8', peak_fp4_tflops / peak_fp8_tflops FROM hardware
)
WHERE NOT (ratio BETWEEN 0.9 AND 1.1 OR ratio BETWEEN 1.8 AND 2.2)
UNION ALL
SELECT hardware, 'no source is given for its figures'
FROM hardware
WHERE coalesce(source, '') = '';
