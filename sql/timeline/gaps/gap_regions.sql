-- One row per device, region and phase: the gaps before operations of the region.
--
-- A gap belongs to the first four scopes of its payload's path. A payload without a path takes the
-- most frequent one of the same operation in its program. What runs backward is in the region whose
-- gradient it computes, as in regions: there the phase tells its gaps from those of the forward
-- pass.
--
-- key: trace_id, device, region, phase?
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL if unknown
-- device         INTEGER  device
-- region         VARCHAR  up to four scopes, joined by =>; (unattributed) where none is known
-- phase          VARCHAR  forward, backward or recompute; NULL if not known
-- gaps           BIGINT   gaps before operations of the region
-- sum_us         DOUBLE   their sum, µs
-- mean_us        DOUBLE   their mean, µs
-- max_us         DOUBLE   the longest, µs
-- window_pct     DOUBLE   share of the time of all devices of the trace
-- host_bound_us  DOUBLE   part in which the device waited for the host to launch, µs
-- payloads       VARCHAR  the three payloads with the most gaps
CREATE VIEW gap_regions AS
WITH payloads AS (
    SELECT
        trace_id, device, region, phase,
        array_to_string(
            list_slice(list(payload_name ORDER BY gaps DESC, sum_us DESC, payload_name), 1, 3),
            ', '
        ) AS payloads
    FROM (
        SELECT
            trace_id, device, region, phase, payload_name, count(*) AS gaps,
            sum(gap_us) AS sum_us
        FROM _gap_places
        GROUP BY trace_id, device, region, phase, payload_name
    )
    GROUP BY trace_id, device, region, phase
)
SELECT
    placed.trace_id, placed.rank, placed.device, placed.region, placed.phase,
    count(*) AS gaps, sum(placed.gap_us) AS sum_us, avg(placed.gap_us) AS mean_us,
    max(placed.gap_us) AS max_us, sum(placed.window_pct) AS window_pct,
    sum(placed.host_bound_us) AS host_bound_us, any_value(payloads.payloads) AS payloads
FROM _gap_places AS placed
JOIN payloads
    ON payloads.trace_id = placed.trace_id
    AND payloads.device = placed.device
    AND payloads.region = placed.region
    AND payloads.phase IS NOT DISTINCT FROM placed.phase
GROUP BY placed.trace_id, placed.rank, placed.device, placed.region, placed.phase;
