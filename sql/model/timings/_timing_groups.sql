-- One row per operator that has measured time: the group of operators that share its kernels,
-- directly or through others.
--
-- stored: in memory
--
-- request   VARCHAR  scenario
-- op_seq    INTEGER  operator
-- group_id  INTEGER  first operator of its group
CREATE VIEW _timing_groups AS
WITH RECURSIVE together AS (
    SELECT DISTINCT one.request, one.op_seq, other.op_seq AS other
    FROM _timing_links AS one
    JOIN _timing_links AS other USING (request, position)
),
reached AS (
    SELECT request, op_seq, other
    FROM together
    UNION
    SELECT reached.request, reached.op_seq, together.other
    FROM reached
    JOIN together ON together.request = reached.request AND together.op_seq = reached.other
)
SELECT request, op_seq, min(other) AS group_id
FROM reached
GROUP BY request, op_seq;
