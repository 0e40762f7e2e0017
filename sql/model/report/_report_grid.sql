-- One row per point of a model report's grid that is among the three fastest or two slowest of its
-- profile.
--
-- execution      VARCHAR  profile of execution_profiles
-- kv_dtype       VARCHAR  type of the KV cache
-- top_k          BIGINT   experts per token; NULL as the model has
-- kv_rank_scale  DOUBLE   KV rank over the model's
-- hidden_scale   DOUBLE   hidden width over the model's
-- kv_len         BIGINT   cached tokens of each
-- intensity      DOUBLE   FLOP per byte of memory
-- time_ms        DOUBLE   the largest of the three, ms
-- mfu            DOUBLE   time at the peak over time_ms, a fraction
-- bound          VARCHAR  compute, memory or network
-- fits           BOOLEAN  whether what is held fits the memory
-- profile_place  INTEGER  place of the profile in the report
CREATE VIEW _report_grid AS
SELECT
    p.execution, s.kv_dtype, s.top_k, s.kv_rank_scale, s.hidden_scale, p.kv_len, p.intensity,
    p.time_ms, p.mfu, p.bound, p.fits, p.profile_place
FROM _report_points AS p
JOIN scenarios AS s USING (scenario)
WHERE p.study = 'report grid'
QUALIFY row_number() OVER (PARTITION BY p.execution ORDER BY p.time_ms, p.scenario) <= 3
    OR row_number() OVER (
        PARTITION BY p.execution ORDER BY p.time_ms DESC, p.scenario DESC
    ) <= 2;
