-- One row per config.json that is known: kept with a trace, or in the table model_configs.
--
-- Two of one name may differ, as two sizes of a model do, and a trace's may differ from what was
-- published under its name. So that no trace speaks for another, the model of a trace's config has
-- a part of the content's digest in its name; one of the table model_configs has the name itself.
--
-- instead of: of_passes._known_configs
CREATE VIEW _trace_configs AS
WITH given AS (
    SELECT model, config, TRUE AS is_row FROM model_configs
    UNION ALL
    SELECT model, config, FALSE FROM traces WHERE config IS NOT NULL AND model IS NOT NULL
)
SELECT
    CASE
        WHEN bool_or(g.is_row) THEN g.model
        ELSE concat(g.model, '-', left(sha256(g.config), 6))
    END AS model,
    g.model AS said, g.config, NOT bool_or(g.is_row) AS of_trace
FROM given AS g
WHERE json_valid(g.config)
GROUP BY g.model, g.config;

-- One row per trace with a model that architectures knows: by its own config.json, else by a name
-- that is not another trace's: settings of one trace do not change another.
--
-- trace_id  VARCHAR  trace
-- model     VARCHAR  the model's name there
CREATE VIEW _trace_models AS
WITH own AS (
    SELECT t.trace_id, a.model, a.fault
    FROM traces AS t
    JOIN _trace_configs AS c ON c.said = t.model AND c.config = t.config
    JOIN of_passes.architectures AS a ON a.model = c.model
),
named AS (
    SELECT t.trace_id, min_by(w.model, row(w.model <> t.model, w.model)) AS model
    FROM traces AS t
    JOIN of_passes.model_words AS w ON w.word = folded_name(t.model)
    JOIN of_passes.architectures AS a ON a.model = w.model AND a.fault IS NULL
    ANTI JOIN own ON own.trace_id = t.trace_id
    GROUP BY t.trace_id
)
SELECT trace_id, model FROM own WHERE fault IS NULL
UNION ALL
SELECT trace_id, model FROM named;
