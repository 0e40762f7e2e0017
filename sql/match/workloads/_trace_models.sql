-- One row per trace with a model that is in architectures: by its own config.json, else by a name
-- that is not another trace's. Settings of one trace do not change another.
--
-- trace_id  VARCHAR  trace
-- model     VARCHAR  the model's name there
CREATE VIEW _trace_models AS
WITH own AS (
    SELECT t.trace_id, a.model, a.fault
    FROM traces AS t
    JOIN _trace_configs AS c ON c.given_name = t.model AND c.config = t.config
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
