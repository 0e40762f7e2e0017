-- One row per phase and profile at the anchor of a model report: the shares of its bytes in memory,
-- and advice on them.
--
-- phase            VARCHAR  training, prefill or decode
-- execution        VARCHAR  profile of execution_profiles
-- weights_pct      DOUBLE   share of weights, a fraction
-- activations_pct  DOUBLE   share of activations, a fraction
-- kv_pct           DOUBLE   share of the KV cache, a fraction
-- temporary_pct    DOUBLE   share of scores, a fraction
-- advice           VARCHAR  advice on the shares, in words
-- phase_place      INTEGER  place of the phase
-- profile_place    INTEGER  place of the profile in the report
CREATE VIEW _report_byte_shares AS
SELECT
    b.phase, b.execution,
    sum(b.share) FILTER (b.part = 'weights') AS weights_pct,
    sum(b.share) FILTER (b.part = 'activations') AS activations_pct,
    sum(b.share) FILTER (b.part = 'kv') AS kv_pct,
    sum(b.share) FILTER (b.part = 'temporary') AS temporary_pct,
    coalesce(
        string_agg(b.advice, '; ' ORDER BY b.share DESC), 'nothing by the limits'
    ) AS advice,
    any_value(list_position(['training', 'prefill', 'decode'], b.phase)) AS phase_place,
    any_value(list_position(w.executions, b.execution)) AS profile_place
FROM byte_shares AS b
CROSS JOIN _report_workload AS w
WHERE b.study = 'report anchor'
GROUP BY b.phase, b.execution;
