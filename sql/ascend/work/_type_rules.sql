-- One row per trace and folded type of its Ascend kernels that a rule of the table work_rules fits.
--
-- trace_id       VARCHAR  trace
-- op_type        VARCHAR  folded type
-- rule           VARCHAR  what is computed
-- factor         DOUBLE   multiplies the FLOP
-- a_slot         INTEGER  see work_rules, as the others
-- b_slot         INTEGER  see work_rules
-- v_slot         INTEGER  see work_rules
-- table_slot     INTEGER  see work_rules
-- length_slot    INTEGER  see work_rules
-- rope_slot      INTEGER  see work_rules
-- moves          VARCHAR  see work_rules
-- part_slots     VARCHAR  see work_rules
-- payload_slots  VARCHAR  see work_rules
-- caveat         VARCHAR  see work_rules
CREATE VIEW _type_rules AS
WITH types AS (
    SELECT DISTINCT trace_id, op_type_folded AS op_type FROM ascend_kernels
),
ruled AS (
    SELECT trace_id, op_type, min(priority) AS priority
    FROM types
    JOIN work_rules ON regexp_matches(lower(op_type), pattern)
    GROUP BY trace_id, op_type
)
SELECT
    trace_id, op_type, rule, factor, a_slot, b_slot, v_slot, table_slot, length_slot, rope_slot,
    moves, part_slots, payload_slots, caveat
FROM ruled
JOIN work_rules USING (priority);
