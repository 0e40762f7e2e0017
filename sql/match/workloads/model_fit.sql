-- One row per trace with a model and property that the trace shows. Does it fit the model?
--
-- Evidence comes from complete passes and from the shapes of products, the trace's own or those of
-- its graphs' captures; a property without evidence has no row.
--
-- key: trace_id, model, property
--
-- trace_id  VARCHAR  trace
-- model     VARCHAR  the trace's model, as in architectures
-- property  VARCHAR  layers; hidden_size: width of the residual stream; attention_width: heads by
--                    the width of one; intermediate_size: width of a dense MLP; experts; vocabulary
-- seen      VARCHAR  what the trace shows; if products show several widths, all of them
-- expected  VARCHAR  what the model has
-- fits      BOOLEAN  both agree, on one rank or on all; NULL: unknown from the trace
-- note      VARCHAR  what else a mismatch may mean
CREATE VIEW model_fit AS
SELECT
    p.trace_id, p.model, p.property, p.seen, p.expected, p.fits,
    CASE
        WHEN p.property = 'layers' AND NOT p.fits AND a.num_layers > TRY_CAST(p.seen AS BIGINT)
            THEN 'fewer layers may also be one pipeline stage, or a model cut short'
        WHEN p.property = 'vocabulary' AND NOT p.fits
            THEN 'a fine-tuned model may have another vocabulary'
    END AS note
FROM _model_properties AS p
JOIN _trace_models AS own ON own.trace_id = p.trace_id AND own.model = p.model
JOIN of_passes.architectures AS a ON a.model = p.model;
