-- One row per scenario: what a chip sends to others in a pass.
--
-- key: scenario
--
-- scenario     VARCHAR  scenario
-- study        VARCHAR  sweep that it is a point of
-- formulas     VARCHAR  set of formulas: physical
-- execution    VARCHAR  profile of execution_profiles
-- model        VARCHAR  model
-- phase        VARCHAR  training, prefill or decode
-- hardware     VARCHAR  chip
-- tp           BIGINT   degree of tensor parallelism
-- ep           BIGINT   degree of expert parallelism
-- net_bytes    DOUBLE   bytes sent to other chips
-- net_ms       DOUBLE   their minimum time, ms
CREATE VIEW communication_envelope AS
SELECT
    scenario, study, formulas, execution, model, phase, hardware, tp, ep, net_bytes, net_ms
FROM phase_roofline;
