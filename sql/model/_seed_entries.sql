-- One row per model and module entry of the reference report; the dispatch to experts is one too.
--
-- model         VARCHAR  model
-- module        VARCHAR  path
-- module_kind   VARCHAR  attention, linear, embedding, network, or experts: the family
-- category      VARCHAR  what the report counts it under
-- in_experts    BOOLEAN  its weights stay as long as those of experts do: router and experts
-- is_routed     BOOLEAN  it is an expert that some tokens visit
-- instances     DOUBLE   how many there are
-- parameters    DOUBLE   of one of them
-- inputs        DOUBLE   size of what goes in
-- outputs       DOUBLE   size of what comes out
-- inputs_grow   BOOLEAN  inputs grow with the hidden width
-- outputs_grow  BOOLEAN  outputs grow with it
CREATE VIEW _seed_entries AS
WITH listed AS (
    SELECT
        model,
        unnest(
            CASE
                WHEN moe_layers > 0
                    THEN list_append(
                        entries,
                        {
                            module: 'moe.dispatch.interconnect',
                            module_kind: 'network',
                            category: 'network',
                            in_experts: FALSE,
                            is_routed: FALSE,
                            instances: moe_layers,
                            parameters: 0.0,
                            inputs: 0.0,
                            outputs: 0.0,
                            inputs_grow: FALSE,
                            outputs_grow: FALSE
                        }
                    )
                ELSE entries
            END
        ) AS entry
    FROM _seed_models
)
SELECT model, unnest(entry)
FROM listed;
