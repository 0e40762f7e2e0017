-- One row per trace and fact taken from the names of its file and folders.
--
-- key: trace_id, fact
--
-- trace_id  VARCHAR  trace
-- fact      VARCHAR  run, rank, phase, tp_rank, dp_rank, pp_rank, ep_rank, dcp_rank, tp, dp, pp or
--                    ep
-- value     VARCHAR  value
-- source    VARCHAR  file name, folder name, or files of the run: all in its folder
-- text      VARCHAR  text it was read from, see place_rules
-- is_used   BOOLEAN  traces has this value; false if the file or the user gives another
CREATE VIEW place_facts AS
WITH said AS (
    SELECT
        trace_id, traces AS held,
        unnest(json_keys(metadata, '$.places')) AS fact,
        json_extract(metadata, '$.places') AS places
    FROM traces
    WHERE json_valid(metadata) AND json_exists(metadata, '$.places')
),
valued AS (
    SELECT
        trace_id, fact,
        places ->> concat('$.', fact, '.value') AS value,
        places ->> concat('$.', fact, '.source') AS source,
        places ->> concat('$.', fact, '.text') AS text,
        CAST(to_json(held) AS JSON) ->> concat('$.', fact) AS held
    FROM said
)
SELECT trace_id, fact, value, source, text, coalesce(value = held, FALSE) AS is_used
FROM valued;
