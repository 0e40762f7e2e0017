-- One row per trace with a model that architectures knows.
-- trace_id  VARCHAR  trace
-- model     VARCHAR  the model's name there
CREATE VIEW _trace_models AS
WITH words AS (
    SELECT
        model,
        unnest(list_concat([model, name], string_split(coalesce(aliases, ''), ' '))) AS word
    FROM architectures
    WHERE fault IS NULL
)
SELECT t.trace_id, min_by(w.model, row(w.model <> t.model, w.model)) AS model
FROM traces AS t
JOIN words AS w ON w.word <> '' AND _folded_name(w.word) = _folded_name(t.model)
GROUP BY t.trace_id;
