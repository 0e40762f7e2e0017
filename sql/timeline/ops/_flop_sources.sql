-- The source of the FLOP of several rows: model_flops or shapes, both, or none.
CREATE MACRO _flop_sources(source) AS CASE
    WHEN count(DISTINCT source) FILTER (source <> 'none') > 1 THEN 'both'
    ELSE coalesce(max(source) FILTER (source <> 'none'), 'none')
END;
