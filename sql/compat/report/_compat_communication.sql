-- One row per scenario: the bytes that a chip sends to others in a pass, and all bytes that tokens
-- move on their way to experts and back.
--
-- instead of: compat.communication_envelope
--
-- scenario     VARCHAR  scenario
-- study        VARCHAR  sweep that it is a point of
-- formulas     VARCHAR  set of formulas: compat
-- execution    VARCHAR  profile of execution_profiles
-- model        VARCHAR  model
-- phase        VARCHAR  training, prefill or decode
-- hardware     VARCHAR  chip
-- tp           BIGINT   degree of tensor parallelism
-- ep           BIGINT   degree of expert parallelism
-- moved_bytes  DOUBLE   bytes of all visits to experts, on the chip or away
-- net_bytes    DOUBLE   bytes sent to other chips
-- net_ms       DOUBLE   their minimum time, ms
CREATE VIEW _compat_communication AS
WITH moved AS (
    SELECT scenario, _compat_moved_bytes(i) AS moved_bytes
    FROM _compat_report_inputs AS i
    JOIN _compat_scenarios AS s ON s.scenario_no = i.point
)
SELECT
    p.scenario, p.study, p.formulas, p.execution, p.model, p.phase, p.hardware, p.tp, p.ep,
    moved_bytes, p.net_bytes, p.net_ms
FROM compat.phase_roofline AS p
LEFT JOIN moved USING (scenario);
