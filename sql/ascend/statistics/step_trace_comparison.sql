-- One row per trace, device, step and term: the value in step_trace_time.csv and that from the
-- kernels of the same trace.
--
-- If a trace has rows without a step and the file has steps, the two are not comparable and there
-- is no row.
--
-- key: trace_id, device, step?, term
--
-- trace_id   VARCHAR  trace
-- rank       INTEGER  rank in the job, NULL if unknown
-- device     INTEGER  device
-- step       VARCHAR  step, NULL without one
-- term       VARCHAR  computing, communication, overlapped, communication_not_overlapped or free
-- file_us    DOUBLE   the file's, µs
-- kernel_us  DOUBLE   the kernels', µs
-- diff_us    DOUBLE   the kernels' minus the file's, µs
-- diff_pct   DOUBLE   that as a share of the step's length in the file
CREATE VIEW step_trace_comparison AS
WITH sides AS (
    SELECT
        ours.trace_id, ours.rank, ours.device, file.step, file.elapsed_us,
        file.computing_us AS file_computing, ours.computing_us AS our_computing,
        file.communication_us AS file_communication, ours.communication_us AS our_communication,
        file.overlapped_us AS file_overlapped, ours.overlapped_us AS our_overlapped,
        file.communication_not_overlapped_us AS file_exposed,
        ours.communication_not_overlapped_us AS our_exposed,
        file.free_us AS file_free, ours.free_us AS our_free
    FROM msprof_breakdown AS ours
    JOIN step_trace_times AS file
        ON file.trace_id = ours.trace_id
        AND file.device IN (ours.device, -1)
        AND coalesce(TRY_CAST(file.step AS INTEGER), -1) = ours.step_id
        AND file.type = 'rank'
),
terms AS (
    SELECT
        trace_id, rank, device, step, elapsed_us,
        unnest([
            {'term': 'computing', 'file_us': file_computing, 'kernel_us': our_computing},
            {
                'term': 'communication', 'file_us': file_communication,
                'kernel_us': our_communication
            },
            {'term': 'overlapped', 'file_us': file_overlapped, 'kernel_us': our_overlapped},
            {
                'term': 'communication_not_overlapped', 'file_us': file_exposed,
                'kernel_us': our_exposed
            },
            {'term': 'free', 'file_us': file_free, 'kernel_us': our_free}
        ]) AS pair
    FROM sides
)
SELECT
    trace_id, rank, device, step, pair.term AS term, pair.file_us AS file_us,
    pair.kernel_us AS kernel_us, pair.kernel_us - pair.file_us AS diff_us,
    100 * (pair.kernel_us - pair.file_us) / nullif(elapsed_us, 0) AS diff_pct
FROM terms;
