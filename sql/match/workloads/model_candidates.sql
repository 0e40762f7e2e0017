-- One row per trace and published model whose residual stream at least has a width that fits the
-- trace. Which model may it be?
--
-- key: trace_id, model
--
-- trace_id      VARCHAR  trace
-- model         VARCHAR  model, as in architectures
-- fitting       BIGINT   properties of model_fit that fit
-- judged        BIGINT   properties that the trace shows
-- differing     VARCHAR  those that do not fit, with what is seen and what the model has
-- fits          BOOLEAN  all fit, and there are at least two
-- is_set        BOOLEAN  it is the trace's model
CREATE VIEW model_candidates AS
SELECT
    p.trace_id, p.model,
    count(*) FILTER (p.fits) AS fitting,
    count(p.fits) AS judged,
    string_agg(format('{}: {}, not {}', p.property, p.seen, p.expected), '; ' ORDER BY p.property)
        FILTER (NOT p.fits) AS differing,
    bool_and(coalesce(p.fits, TRUE)) AND count(*) FILTER (p.fits) > 1 AS fits,
    bool_or(own.model IS NOT NULL) AS is_set
FROM _model_properties AS p
JOIN models ON models.model = p.model
LEFT JOIN _trace_models AS own ON own.trace_id = p.trace_id AND own.model = p.model
GROUP BY p.trace_id, p.model
HAVING bool_or(p.property = 'hidden_size' AND p.fits);
