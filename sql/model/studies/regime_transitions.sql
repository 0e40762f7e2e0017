-- One row per study, execution, phase and cache length: how many scenarios each resource limits.
--
-- key: study, formulas, execution, model, phase, hardware, kv_len
--
-- study          VARCHAR  sweep
-- formulas       VARCHAR  set of formulas: physical
-- execution      VARCHAR  profile of execution_profiles
-- model          VARCHAR  model
-- phase          VARCHAR  training, prefill or decode
-- hardware       VARCHAR  chip
-- kv_len         BIGINT   cached tokens of a sequence
-- points         BIGINT   scenarios
-- compute_bound  BIGINT   those limited by compute
-- memory_bound   BIGINT   those limited by memory
-- network_bound  BIGINT   those limited by the network
CREATE VIEW regime_transitions AS
SELECT
    study, formulas, execution, model, phase, hardware, kv_len, count(*) AS points,
    count(*) FILTER (bound = 'compute') AS compute_bound,
    count(*) FILTER (bound = 'memory') AS memory_bound,
    count(*) FILTER (bound = 'network') AS network_bound
FROM phase_roofline
WHERE study IS NOT NULL
GROUP BY study, formulas, execution, model, phase, hardware, kv_len;
