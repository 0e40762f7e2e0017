-- One row per pass, unit of work and reason why bytes of its kernels are unknown, and one per
-- trace, unit and reason.
-- trace_id    VARCHAR  trace
-- pass_id     BIGINT   pass; NULL for all passes together
-- unit        VARCHAR  operator, else kernel category
-- bytes_note  VARCHAR  reason, as kernel_roofline has it
-- kernels     BIGINT   such kernels
CREATE VIEW _unsized_kernels AS
SELECT trace_id, pass_id, coalesce(unit, category) AS unit, bytes_note, count(*) AS kernels
FROM kernel_roofline
WHERE pass_id IS NOT NULL AND bytes_note IS NOT NULL
GROUP BY GROUPING SETS (
    (trace_id, pass_id, coalesce(unit, category), bytes_note),
    (trace_id, coalesce(unit, category), bytes_note)
);
