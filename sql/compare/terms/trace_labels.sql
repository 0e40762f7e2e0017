-- One row per trace and attribute that sides of a comparison are chosen or split by: the trace's
-- columns in the catalog, and its other settings and tags.
--
-- key: trace_id, key
--
-- trace_id  VARCHAR  trace
-- key       VARCHAR  attribute: trace, run, rank, format, device_name, vendor, hardware, model,
--                    profile, num_layers, tp, ep, dp, pp, or a setting's name
-- value     VARCHAR  its value
CREATE VIEW trace_labels AS
WITH known AS (
    SELECT trace_id, label.key AS key, label.value AS value
    FROM traces
    CROSS JOIN LATERAL (
        VALUES
            ('trace', trace), ('run', run), ('rank', CAST(rank AS VARCHAR)), ('format', format),
            ('device_name', device_name), ('vendor', vendor), ('hardware', hardware),
            ('model', model), ('profile', profile), ('num_layers', CAST(num_layers AS VARCHAR)),
            ('tp', CAST(tp AS VARCHAR)), ('ep', CAST(ep AS VARCHAR)), ('dp', CAST(dp AS VARCHAR)),
            ('pp', CAST(pp AS VARCHAR))
    ) AS label (key, value)
    WHERE value IS NOT NULL
)
SELECT trace_id, key, value FROM known
UNION ALL
SELECT tags.trace_id, tags.key, tags.value
FROM tags
ANTI JOIN known ON known.trace_id = tags.trace_id AND known.key = tags.key;
