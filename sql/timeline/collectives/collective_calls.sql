-- One row per call of a collective that the lake has from two or more devices: how far apart they
-- arrived, how long the transfer took after the last arrival, and which arrived last.
--
-- A rank of the group missing from the lake may have arrived last: then the start of the transfer
-- is unknown, and the waiting times are lower bounds. A group whose size is taken from the whole
-- job may be smaller; it counts as complete if the lake has every rank of the job. If the clocks of
-- a call cannot be compared, everything that depends on who arrived when is NULL.
--
-- key: run, call
--
-- run                VARCHAR  run, or the trace's id if it has none
-- call               VARCHAR  the call, as in collective_ranks
-- kind               VARCHAR  kind of collective
-- matched_by         VARCHAR  how the devices' parts were matched: sequence, instruction or order
-- participants       BIGINT   devices that the lake has of the call
-- group_size         BIGINT   ranks in the group, if the trace has it
-- first_ns           BIGINT   start of the first, on the clock of clock_trace_id of
--                             collective_ranks, ns
-- skew_us            DOUBLE   from the start of the first to the start of the last, µs
-- transfer_us        DOUBLE   from there to the last end, µs; NULL, like the bandwidths, if the
--                             lake lacks a rank of the group
-- waiting_us         DOUBLE   sum of the devices' waits for the last, µs
-- bytes              DOUBLE   size of the operation, the largest of any device, bytes
-- algorithm_gbps     DOUBLE   size by transfer time, GB/s
-- bus_gbps           DOUBLE   the same times the factor of its kind, GB/s
-- last_trace_id      VARCHAR  trace that arrived last
-- last_rank          INTEGER  its rank, NULL if unknown
-- last_device        INTEGER  its device
-- clock_residual_us  DOUBLE   largest uncertainty of the devices' clocks, µs; below it a skew means
--                             nothing
-- group_size_source  VARCHAR  where group_size is from, as in collectives
-- unaligned_reason   VARCHAR  why the clocks of the call cannot be compared; NULL where they can
CREATE VIEW collective_calls AS
WITH parts AS (
    SELECT
        ranks.run, ranks.call, ranks.kind, ranks.matched_by, ranks.participants, ranks.arrival_ns,
        ranks.late_us, ranks.waiting_us, ranks.transfer_us, ranks.is_last, ranks.trace_id,
        ranks.rank, ranks.device, ranks.clock_residual_us, ranks.unaligned_reason,
        collectives.group_size, collectives.group_size_source, collectives.bytes,
        collectives.bus_gbps / nullif(collectives.algorithm_gbps, 0) AS factor
    FROM collective_ranks AS ranks
    JOIN collectives USING (trace_id, collective_id)
),
calls AS (
    SELECT
        run, call, any_value(kind) AS kind, any_value(matched_by) AS matched_by,
        any_value(participants) AS participants, max(group_size) AS group_size,
        arg_max(group_size_source, (group_size, group_size_source)) AS group_size_source,
        min(arrival_ns) AS first_ns, max(late_us) AS skew_us, max(transfer_us) AS transfer_us,
        sum(waiting_us) AS waiting_us, max(bytes) AS bytes, max(factor) AS factor,
        any_value(trace_id) FILTER (is_last) AS last_trace_id,
        any_value(rank) FILTER (is_last) AS last_rank,
        any_value(device) FILTER (is_last) AS last_device,
        max(clock_residual_us) AS clock_residual_us,
        any_value(unaligned_reason) AS unaligned_reason
    FROM parts
    GROUP BY run, call
),
present AS (
    SELECT coalesce(run, trace_id) AS run, count(DISTINCT rank) AS ranks
    FROM traces
    GROUP BY coalesce(run, trace_id)
),
whole AS (
    SELECT
        run, call, kind, matched_by, participants, group_size, first_ns, skew_us, waiting_us, bytes,
        factor, last_trace_id, last_rank, last_device, clock_residual_us, group_size_source,
        unaligned_reason,
        CASE
            WHEN coalesce(participants >= group_size, TRUE)
                OR group_size_source = 'world size' AND ranks >= group_size THEN transfer_us
        END AS transfer_us
    FROM calls
    JOIN present USING (run)
)
SELECT
    run, call, kind, matched_by, participants, group_size, first_ns, skew_us, transfer_us,
    waiting_us, bytes,
    CASE WHEN factor IS NOT NULL THEN bytes / nullif(1000 * transfer_us, 0) END AS algorithm_gbps,
    factor * bytes / nullif(1000 * transfer_us, 0) AS bus_gbps,
    last_trace_id, last_rank, last_device, clock_residual_us, group_size_source,
    unaligned_reason
FROM whole;
