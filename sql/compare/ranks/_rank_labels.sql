-- One row per rank of a run with all columns of ranks, and what a chart calls it, each of a run
-- another.
--
-- label  VARCHAR  its rank, else the name of its trace; its device where the trace has several, its
--                 trace where another one of the run has the rank, too
-- place  BIGINT   its place in the run, from 0
CREATE VIEW _rank_labels AS
WITH named AS (
    SELECT
        concat_ws(
            ', ', coalesce('rank ' || rank, trace),
            if(count(*) OVER (PARTITION BY trace_id) > 1, 'device ' || device, NULL)
        ) AS name,
        *
    FROM ranks
)
SELECT
    if(count(*) OVER (PARTITION BY run, name) > 1, concat(name, ' (', trace_id, ')'), name)
        AS label,
    row_number() OVER (PARTITION BY run ORDER BY rank, trace, device, trace_id) - 1 AS place,
    * EXCLUDE (name)
FROM named;
