-- One row per scenario: what a chip sends to others in a pass, and by the formulas of the reference
-- report what tokens on their way to experts and back move at all.
--
-- key: scenario
--
-- scenario     VARCHAR  scenario
-- study        VARCHAR  sweep that it is a point of
-- formulas     VARCHAR  physical or seed
-- execution    VARCHAR  profile of execution_profiles
-- model        VARCHAR  model
-- phase        VARCHAR  training, prefill or decode
-- hardware     VARCHAR  chip
-- tp           BIGINT   degree of tensor parallelism
-- ep           BIGINT   degree of expert parallelism
-- moved_bytes  DOUBLE   bytes of all visits to experts, on the chip or away; NULL by other formulas
-- net_bytes    DOUBLE   bytes sent to other chips
-- net_ms       DOUBLE   their least time, ms
CREATE VIEW communication_envelope AS
WITH moved AS (
    SELECT scenario, _seed_moved_bytes(i) AS moved_bytes
    FROM _seed_inputs AS i
    JOIN scenarios AS s ON s.rowid = i.point
)
SELECT
    p.scenario, p.study, p.formulas, p.execution, p.model, p.phase, p.hardware, p.tp, p.ep,
    moved_bytes, p.net_bytes, p.net_ms
FROM phase_roofline AS p
LEFT JOIN moved USING (scenario);
