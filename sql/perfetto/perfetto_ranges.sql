-- One row per pass, part of a pass outside its layers, and layer: where to look in Perfetto, whose
-- clock starts at the trace's first event.
--
-- key: trace_id, device, range, start_ns
--
-- trace_id    VARCHAR  trace
-- rank        INTEGER  rank in the job, NULL if unknown
-- device      INTEGER  device
-- pass_id     BIGINT   pass, from 0 in time order
-- layer_id    BIGINT   layer, NULL for a pass and its parts
-- range       VARCHAR  pass, prologue, between, epilogue, gap or layer
-- layer_type  VARCHAR  type by the model's config, kind by the kernels, or both; NULL for a pass
-- start_s     DOUBLE   start in s on Perfetto's clock
-- end_s       DOUBLE   end in s on Perfetto's clock
-- start_ms    DOUBLE   start in ms on Perfetto's clock
-- end_ms      DOUBLE   end in ms on Perfetto's clock
-- wall_ms     DOUBLE   from that start to that end
-- sum_ms      DOUBLE   sum of the kernels' durations, NULL for a pass
-- start_ns    BIGINT   start in ns on the file's clock
-- end_ns      BIGINT   end in ns on the file's clock
CREATE VIEW perfetto_ranges AS
WITH types AS (
    SELECT
        trace_id, rank, device, pass_id,
        nullif(concat_ws(' ', layer_type, layer_kind), '') AS layer_type,
        unnest(layer_ids) AS layer_id
    FROM layer_types
),
ranges AS (
    SELECT
        trace_id, rank, device, pass_id, CAST(NULL AS BIGINT) AS layer_id, 'pass' AS range,
        CAST(NULL AS VARCHAR) AS layer_type, start_ns, end_ns, CAST(NULL AS DOUBLE) AS sum_us
    FROM passes
    UNION ALL
    SELECT trace_id, rank, device, pass_id, NULL, part, NULL, start_ns, end_ns, sum_us
    FROM pass_parts
    UNION ALL
    SELECT
        l.trace_id, l.rank, l.device, l.pass_id, l.layer_id, 'layer', t.layer_type, l.start_ns,
        l.end_ns, l.sum_us
    FROM layers AS l
    LEFT JOIN types AS t
        ON t.trace_id = l.trace_id
        AND t.device = l.device
        AND t.pass_id = l.pass_id
        AND t.layer_id = l.layer_id
)
SELECT
    r.trace_id, r.rank, r.device, r.pass_id, r.layer_id, r.range, r.layer_type,
    (r.start_ns - t.origin_ns) / 1e9 AS start_s, (r.end_ns - t.origin_ns) / 1e9 AS end_s,
    (r.start_ns - t.origin_ns) / 1e6 AS start_ms, (r.end_ns - t.origin_ns) / 1e6 AS end_ms,
    (r.end_ns - r.start_ns) / 1e6 AS wall_ms, r.sum_us / 1000.0 AS sum_ms, r.start_ns, r.end_ns
FROM ranges AS r
JOIN traces AS t ON t.trace_id = r.trace_id;
