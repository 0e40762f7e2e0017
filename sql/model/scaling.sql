-- One row per point of a study: how well more chips of a replica serve the same work, or data-
-- parallel replicas more of it. Points are compared that differ in nothing but degrees of
-- parallelism and, for weak scaling, in the number of replicas.
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
-- chips              BIGINT   chips of a replica
-- time_ms            DOUBLE   time of a pass through all stages
-- strong_efficiency  DOUBLE   time of the point with fewest chips to a replica, of as many
--                             replicas, over this time and how many times more chips it has
-- weak_efficiency    DOUBLE   time of the point with fewest replicas of the same chips, over this
--                             time
CREATE VIEW scaling AS
WITH points AS (
    SELECT
        study, scenario, formulas, execution, model, phase, hardware, batch, seq_len, kv_len, tp,
        ep, dp, pp, tp * pp AS chips, pp * time_ms AS time_ms
    FROM phase_roofline
    WHERE study IS NOT NULL
)
SELECT
    study, scenario, model, phase, hardware, batch, seq_len, kv_len, tp, ep, dp, pp, chips,
    time_ms,
    first_value(time_ms) OVER fewest_chips * first_value(chips) OVER fewest_chips
    / (time_ms * chips) AS strong_efficiency,
    first_value(time_ms) OVER fewest_replicas / time_ms AS weak_efficiency
FROM points
WINDOW
    fewest_chips AS (
        PARTITION BY
            study, formulas, execution, model, phase, hardware, batch, seq_len, kv_len, dp
        ORDER BY chips, time_ms, scenario
    ),
    fewest_replicas AS (
        PARTITION BY
            study, formulas, execution, model, phase, hardware, batch, seq_len, kv_len, tp, pp
        ORDER BY dp, time_ms, scenario
    );
