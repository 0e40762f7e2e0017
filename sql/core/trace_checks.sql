-- One row per trace and check of the trace itself: can its events answer questions at all?
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  ok, info, warning or error
-- value      DOUBLE   what was measured; a count unless the message says otherwise
-- threshold  DOUBLE   the value from which on it is worth a word
-- message    VARCHAR  what was found and what it means
CREATE VIEW trace_checks AS
WITH totals AS (
    SELECT
        trace_id,
        count(*) AS kernels,
        count(*) FILTER (launch_id IS NULL) AS without_launch,
        count(*) FILTER (input_dims IS NULL AND kind = 'compute') AS without_shapes,
        count(*) FILTER (kind = 'compute') AS compute_kernels,
        max(launch_kernels) AS largest_launch,
        count(*) FILTER (dur_ns < 0) AS negative,
        100.0 * sum(dur_ns) FILTER (category = 'other') / nullif(sum(dur_ns), 0) AS other_pct
    FROM kernels
    GROUP BY trace_id
),
facts AS (
    SELECT traces.*, totals.* EXCLUDE (trace_id)
    FROM traces
    LEFT JOIN totals USING (trace_id)
),
measured AS (
    SELECT
        trace_id,
        unnest([
            {
                'check': 'truncated', 'severity': 'warning', 'value': CAST(truncated AS INTEGER),
                'threshold': 1, 'message': 'the file ends before its end; the last events are missing'
            },
            {
                'check': 'rejected', 'severity': 'warning', 'value': rejected_count, 'threshold': 1,
                'message': 'events of the file could not be stored; samples are in traces.samples'
            },
            {
                'check': 'repaired', 'severity': 'info', 'value': repaired_count, 'threshold': 1,
                'message': 'events were stored after their text was mended; see traces.samples'
            },
            {
                'check': 'unmatched', 'severity': 'info', 'value': unmatched_count, 'threshold': 1,
                'message': 'begin or end events have no partner, so they have no duration'
            },
            {
                'check': 'no_device_operations', 'severity': 'warning',
                'value': CASE WHEN kernels IS NULL THEN 1 ELSE 0 END, 'threshold': 1,
                'message': 'no kernel in the trace: it cannot answer questions about a device'
            },
            {
                'check': 'without_launch_pct', 'severity': 'info',
                'value': 100.0 * without_launch / kernels, 'threshold': 1,
                'message': 'percent of the device operations have no launch in the trace'
            },
            {
                'check': 'without_shapes_pct', 'severity': 'info',
                'value': 100.0 * without_shapes / nullif(compute_kernels, 0), 'threshold': 50,
                'message': 'percent of the compute kernels have no input shapes (record_shapes was off, or graphs)'
            },
            {
                'check': 'graph_launch', 'severity': 'info', 'value': largest_launch, 'threshold': 2,
                'message': 'kernels share one launch: a graph; its kernels cannot be told apart by launch'
            },
            {
                'check': 'negative_duration', 'severity': 'warning', 'value': negative, 'threshold': 1,
                'message': 'device operations end before they start'
            },
            {
                'check': 'other_pct', 'severity': 'warning', 'value': other_pct, 'threshold': 10,
                'message': 'percent of the kernel time has no category; add rows to category_rules'
            },
            {
                'check': 'unknown_hardware', 'severity': 'info',
                'value': CASE WHEN hardware IS NULL AND kernels > 0 THEN 1 ELSE 0 END, 'threshold': 1,
                'message': 'the hardware is not known, so there are no peaks to compare with; set hardware=…'
            },
            {
                'check': 'unknown_rank', 'severity': 'info',
                'value': CASE WHEN rank IS NULL THEN 1 ELSE 0 END, 'threshold': 1,
                'message': 'neither the file nor its name says its rank; set rank=…'
            }
        ], recursive := true)
    FROM facts
)
SELECT
    trace_id,
    "check",
    CASE WHEN coalesce(value, 0) >= threshold THEN severity ELSE 'ok' END AS severity,
    CAST(value AS DOUBLE) AS value,
    CAST(threshold AS DOUBLE) AS threshold,
    message
FROM measured;
