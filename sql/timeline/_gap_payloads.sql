-- One row per gap that a marker ends: the first operation behind it that does work of its own.
--
-- From the marker on, operations belong to one chain as long as the device does not run dry between
-- them. The payload is the chain's first operation that is no marker, at most as many operations
-- behind the marker as gap_limits allows; a chain without one has no row here.
--
-- trace_id    VARCHAR  trace
-- device      INTEGER  device
-- marker_id   BIGINT   event_id of the operation that ends the gap
-- payload_id  BIGINT   event_id of the payload
CREATE VIEW _gap_payloads AS
WITH limits AS (
    SELECT
        max(value) FILTER (gap_limit = 'contiguous') AS contiguous_ns,
        max(value) FILTER (gap_limit = 'stored') AS stored_ns,
        max(value) FILTER (gap_limit = 'look_ahead') AS look_ahead
    FROM gap_limits
),
holes AS (
    SELECT DISTINCT trace_id, device, gap_start_ns, gap_end_ns, kernel_id
    FROM _idle_intervals
    CROSS JOIN limits
    WHERE gap_end_ns - gap_start_ns > contiguous_ns
),
chains AS (
    SELECT
        trace_id, device, kernel_id, gap_end_ns - gap_start_ns AS gap_ns,
        lead(gap_start_ns) OVER (PARTITION BY trace_id, device ORDER BY gap_start_ns)
            AS chain_end_ns
    FROM holes
),
named AS (
    SELECT
        chains.trace_id, chains.device, chains.kernel_id, chains.chain_end_ns, kernels.name
    FROM chains
    JOIN kernels
        ON kernels.trace_id = chains.trace_id AND kernels.kernel_id = chains.kernel_id
    CROSS JOIN limits
    WHERE chains.gap_ns >= stored_ns
),
ending_names AS (
    SELECT DISTINCT names.name
    FROM (SELECT DISTINCT name FROM named) AS names
    JOIN gap_markers ON regexp_matches(lower(names.name), gap_markers.pattern)
),
marked AS (
    SELECT trace_id, device, kernel_id, chain_end_ns
    FROM named
    SEMI JOIN ending_names USING (name)
),
operations AS (
    SELECT trace_id, device, start_ns, end_ns, kernel_id, name
    FROM kernels
    SEMI JOIN marked
        ON marked.trace_id = kernels.trace_id
        AND marked.device IS NOT DISTINCT FROM kernels.device
    WHERE kernels.end_ns >= kernels.start_ns
),
marker_names AS (
    SELECT DISTINCT names.name
    FROM (SELECT DISTINCT name FROM operations) AS names
    JOIN gap_markers ON regexp_matches(lower(names.name), gap_markers.pattern)
),
placed AS (
    SELECT
        operations.trace_id, operations.device, operations.start_ns, operations.end_ns,
        operations.kernel_id,
        CASE WHEN marker_names.name IS NULL THEN operations.kernel_id END AS work_id,
        row_number() OVER (
            PARTITION BY operations.trace_id, operations.device
            ORDER BY operations.start_ns, operations.end_ns, operations.kernel_id
        ) AS place
    FROM operations
    LEFT JOIN marker_names USING (name)
),
followed AS (
    SELECT
        trace_id, device, kernel_id,
        first_value(CASE WHEN work_id IS NOT NULL THEN place END IGNORE NULLS)
            OVER onwards - place AS behind,
        first_value(CASE WHEN work_id IS NOT NULL THEN start_ns END IGNORE NULLS)
            OVER onwards AS work_ns,
        first_value(work_id IGNORE NULLS) OVER onwards AS work_id
    FROM placed
    WINDOW onwards AS (
        PARTITION BY trace_id, device ORDER BY place
        ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    )
)
SELECT
    marked.trace_id, marked.device, marked.kernel_id AS marker_id,
    followed.work_id AS payload_id
FROM marked
JOIN followed
    ON followed.trace_id = marked.trace_id AND followed.kernel_id = marked.kernel_id
CROSS JOIN limits
WHERE followed.behind <= look_ahead
    AND followed.work_ns <= coalesce(marked.chain_end_ns, followed.work_ns);
