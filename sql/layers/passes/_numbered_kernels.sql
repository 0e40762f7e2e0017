-- One row per device operation whose row in an Ascend table has the number of its step.
-- rows: of ascend traces
-- trace_id     VARCHAR  trace
-- kernel_id    BIGINT   the operation
-- step_number  INTEGER  number of the step in the profiler's schedule
CREATE VIEW _numbered_kernels AS
SELECT trace_id, kernel_id, step_id AS step_number
FROM ascend_kernels
WHERE step_id IS NOT NULL;
