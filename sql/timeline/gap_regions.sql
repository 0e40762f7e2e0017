-- One row per device and region: the gaps before operations of the region.
--
-- A gap belongs to the first four scopes of its payload's path. Where the payload has no path it
-- takes the most frequent one of the same operation in its program.
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL when unknown
-- device         INTEGER  device
-- region         VARCHAR  up to four scopes, => between; (unattributed) where none is known
-- gaps           BIGINT   gaps before operations of the region
-- total_us       DOUBLE   their sum, µs
-- mean_us        DOUBLE   their mean, µs
-- max_us         DOUBLE   the longest, µs
-- window_pct     DOUBLE   share of the time of all devices of the trace
-- host_bound_us  DOUBLE   part in which the device waited for the host to launch, µs
-- payloads       VARCHAR  the three payloads with most gaps
CREATE VIEW gap_regions AS
WITH wanted AS (
    SELECT DISTINCT trace_id, payload_name AS name FROM gaps
),
scoped AS (
    SELECT
        _device_ops.trace_id, _device_ops.kernel_id, _device_ops.program, _device_ops.name,
        _device_ops.path
    FROM _device_ops
    SEMI JOIN wanted USING (trace_id, name)
),
frequent AS (
    SELECT trace_id, program, name, arg_max(path, (calls, path)) AS path
    FROM (
        SELECT trace_id, program, name, path, count(*) AS calls
        FROM scoped
        WHERE path IS NOT NULL
        GROUP BY trace_id, program, name, path
    )
    GROUP BY trace_id, program, name
),
placed AS (
    SELECT
        gaps.trace_id, gaps.rank, gaps.device, gaps.gap_us, gaps.window_pct, gaps.host_bound_us,
        gaps.payload_name,
        coalesce(
            array_to_string(
                list_slice(string_split(coalesce(scoped.path, frequent.path), '=>'), 1, 4), '=>'
            ),
            '(unattributed)'
        ) AS region
    FROM gaps
    LEFT JOIN scoped
        ON scoped.trace_id = gaps.trace_id AND scoped.kernel_id = gaps.payload_id
    LEFT JOIN frequent
        ON frequent.trace_id = scoped.trace_id AND frequent.name = scoped.name
        AND frequent.program IS NOT DISTINCT FROM scoped.program
),
payloads AS (
    SELECT
        trace_id, device, region,
        array_to_string(
            list_slice(list(payload_name ORDER BY gaps DESC, total_us DESC, payload_name), 1, 3),
            ', '
        ) AS payloads
    FROM (
        SELECT
            trace_id, device, region, payload_name, count(*) AS gaps, sum(gap_us) AS total_us
        FROM placed
        GROUP BY trace_id, device, region, payload_name
    )
    GROUP BY trace_id, device, region
)
SELECT
    placed.trace_id, placed.rank, placed.device, placed.region, count(*) AS gaps,
    sum(placed.gap_us) AS total_us, avg(placed.gap_us) AS mean_us, max(placed.gap_us) AS max_us,
    sum(placed.window_pct) AS window_pct, sum(placed.host_bound_us) AS host_bound_us,
    any_value(payloads.payloads) AS payloads
FROM placed
JOIN payloads
    ON payloads.trace_id = placed.trace_id
    AND payloads.device IS NOT DISTINCT FROM placed.device
    AND payloads.region = placed.region
GROUP BY placed.trace_id, placed.rank, placed.device, placed.region;
