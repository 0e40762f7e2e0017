-- One row per trace: which takes more of its devices' time, computing or communicating.
--
-- `FROM compute_and_communication(trace)` with the name or the id of a trace; time_breakdown has
-- each device. Shares are of devices × window.
--
-- trace_id                   VARCHAR  trace
-- devices                    BIGINT   devices
-- compute_pct                DOUBLE   time in which a device computes
-- exposed_communication_pct  DOUBLE   time in which it communicates and does not compute
-- hidden_communication_pct   DOUBLE   time in which it does both
-- idle_pct                   DOUBLE   time with nothing running, or only operations that wait
-- dominant                   VARCHAR  communication if its exposed time exceeds compute time, else
--                                     compute
-- hidden_share_pct           DOUBLE   part of all communication that computation hides
-- worst_kind                 VARCHAR  kind of collective with the most exposed time
-- worst_program              VARCHAR  program that has most of that
-- worst_exposed_us           DOUBLE   exposed time of that kind in that program, µs
CREATE MACRO compute_and_communication(of_trace) AS TABLE
WITH wholes AS (
    SELECT
        trace_id, count(*) AS devices, sum(window_us) AS window_us, sum(compute_us) AS compute_us,
        sum(exposed_communication_us) AS exposed_us, sum(hidden_communication_us) AS hidden_us,
        sum(idle_us) AS idle_us
    FROM time_breakdown
    SEMI JOIN _named_traces(of_trace) AS wanted USING (trace_id)
    GROUP BY trace_id
),
kinds AS (
    SELECT trace_id, kind, program, sum(exposed_us) AS exposed_us
    FROM collective_kinds
    SEMI JOIN _named_traces(of_trace) AS wanted USING (trace_id)
    GROUP BY trace_id, kind, program
),
worst AS (
    SELECT
        trace_id, kind, program, exposed_us
    FROM kinds
    QUALIFY row_number() OVER (
        PARTITION BY trace_id ORDER BY exposed_us DESC, kind, program
    ) = 1
)
SELECT
    trace_id, devices,
    100 * compute_us / nullif(window_us, 0) AS compute_pct,
    100 * wholes.exposed_us / nullif(window_us, 0) AS exposed_communication_pct,
    100 * hidden_us / nullif(window_us, 0) AS hidden_communication_pct,
    100 * idle_us / nullif(window_us, 0) AS idle_pct,
    CASE WHEN wholes.exposed_us > compute_us THEN 'communication' ELSE 'compute' END AS dominant,
    100 * hidden_us / nullif(hidden_us + wholes.exposed_us, 0) AS hidden_share_pct,
    worst.kind AS worst_kind, worst.program AS worst_program, worst.exposed_us AS worst_exposed_us
FROM wholes
LEFT JOIN worst USING (trace_id);
