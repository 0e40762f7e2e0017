-- One row per point of a study: how well more chips of a replica speed up the same work, or more
-- data-parallel replicas handle more work. Compared points differ only in degrees of parallelism
-- and, for weak scaling, in the number of replicas.
--
-- key: study, scenario
--
-- study              VARCHAR  study
-- scenario           VARCHAR  the point
-- model              VARCHAR  model
-- phase              VARCHAR  training, prefill or decode
-- hardware           VARCHAR  chip
-- batch              BIGINT   sequences of a replica
-- seq_len            BIGINT   new tokens of each
-- kv_len             BIGINT   cached tokens of each
-- tp                 BIGINT   degree of tensor parallelism
-- ep                 BIGINT   degree of expert parallelism
-- dp                 BIGINT   data-parallel replicas
-- pp                 BIGINT   pipeline stages
-- cp                 BIGINT   context-parallel ranks
-- chips              BIGINT   chips of a replica
-- step_ms            DOUBLE   time of a step, see phase_roofline
-- bound              VARCHAR  what limits a pass: compute, memory or network
-- strong_efficiency  DOUBLE   time of the point with as many replicas and the fewest chips per
--                             replica, over this time and the ratio of chips
-- weak_efficiency    DOUBLE   time of the point with the fewest replicas of the same chips, over
--                             this time
CREATE VIEW scaling AS
SELECT
    study, scenario, model, phase, hardware, batch, seq_len, kv_len, tp, ep, dp, pp, cp, chips,
    step_ms, bound,
    first_value(step_ms) OVER fewest_chips * first_value(chips) OVER fewest_chips
    / (step_ms * chips) AS strong_efficiency,
    first_value(step_ms) OVER fewest_replicas / step_ms AS weak_efficiency
FROM phase_roofline
JOIN _scenario_settings USING (scenario)
WHERE study IS NOT NULL AND step_ms IS NOT NULL
WINDOW
    fewest_chips AS (
        PARTITION BY
            study, formulas, execution, model, phase, hardware, batch, seq_len, kv_len, dp,
            microbatches, settings
        ORDER BY chips, step_ms, scenario
    ),
    fewest_replicas AS (
        PARTITION BY
            study, formulas, execution, model, phase, hardware, batch, seq_len, kv_len, tp, pp, cp,
            microbatches, settings
        ORDER BY dp, step_ms, scenario
    );
