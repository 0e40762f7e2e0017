-- Each kernel has one row of work, and FLOP of an operator stand on one kernel of it. Operations
-- that end before they start are no work.
-- trace_id  VARCHAR  trace
-- device    INTEGER  device that breaks the law
CREATE VIEW _work_is_given_once AS
WITH rated AS (
    SELECT
        trace_id, device, count(*) AS kernel_count, count(DISTINCT kernel_id) AS different,
        count(*) FILTER (kernel_id = group_id AND group_flop IS NOT NULL) AS leads,
        count(DISTINCT group_id) FILTER (group_flop IS NOT NULL) AS groups_told
    FROM kernel_roofline
    GROUP BY trace_id, device
),
counted AS (
    SELECT trace_id, device, count(*) AS kernel_count
    FROM kernels
    WHERE end_ns >= start_ns
    GROUP BY trace_id, device
)
SELECT c.trace_id, c.device
FROM counted AS c
LEFT JOIN rated AS r
    ON r.trace_id = c.trace_id AND r.device = c.device
WHERE
    r.kernel_count IS DISTINCT FROM c.kernel_count OR r.different <> r.kernel_count
    OR r.leads <> r.groups_told;
