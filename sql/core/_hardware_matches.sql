-- One row per trace whose device is known: by its name, or where the profiler prints none, by its
-- properties.
-- trace_id        VARCHAR  trace
-- hardware        VARCHAR  key of the table hardware
-- hardware_match  VARCHAR  name or properties
CREATE VIEW _hardware_matches AS
WITH candidates AS (
    SELECT
        trace_id,
        hardware.hardware,
        CASE
            WHEN regexp_matches(lower(found.device_name), hardware.device_pattern) THEN 'name'
            WHEN
                coalesce(found.device_name, '') IN ('', 'AMD Radeon Graphics')
                AND found.compute_major = hardware.compute_major
                AND found.compute_minor = hardware.compute_minor
                AND found.num_sms = hardware.num_sms
                AND found.memory_bytes BETWEEN memory_bytes_min AND memory_bytes_max
                THEN 'properties'
        END AS hardware_match
    FROM _catalog AS found CROSS JOIN hardware
)
SELECT trace_id, min(hardware) AS hardware, min(hardware_match) AS hardware_match
FROM candidates
WHERE hardware_match IS NOT NULL
GROUP BY trace_id
-- Two parts that cannot be told apart are not known.
HAVING count(*) = 1;
