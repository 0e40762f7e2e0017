-- One row per model and kind of module: how many parameters it holds.
--
-- The layers of multi-token prediction and the correction of DeepSeek-V3's router scores are left
-- out. A head that is the embedding adds nothing.
--
-- key: model, module
--
-- model                 VARCHAR  model
-- module                VARCHAR  path, an asterisk for the number of a layer or an expert
-- part                  VARCHAR  attention, dense, router, routed, shared, embedding, head, norm or
--                                mhc
-- kind                  VARCHAR  linear, embedding or norm
-- category              VARCHAR  what reports count it under
-- inputs                BIGINT   size of its input; 1 for a norm
-- outputs               BIGINT   size of its output
-- instances             BIGINT   modules of the kind
-- instance_parameters   BIGINT   parameters of one of them
-- parameters            BIGINT   parameters of them all
-- parameters_pct        DOUBLE   share of the model's
-- active_parameters     BIGINT   those that one token uses: top_k of the routed experts
CREATE VIEW parameters AS
SELECT
    model, module, part, kind, category, inputs, outputs, instances, instance_parameters,
    holders * instance_parameters AS parameters,
    100 * holders * instance_parameters / sum(holders * instance_parameters) OVER (
        PARTITION BY model
    ) AS parameters_pct,
    CAST(
        holders * instance_parameters
        * CASE WHEN part = 'routed' THEN top_k / sizes['experts'] ELSE 1 END AS BIGINT
    ) AS active_parameters
FROM model_modules;
