-- One row per model as the reference report sees it: sizes, the cost of an attention, and the
-- entries of a pass.
--
-- The report divides models of the DeepSeek kind into families of modules: the attention, the ends,
-- the dense MLPs, whose three products are one entry, and the experts. It takes all others module
-- by module: the attention, and every linear layer and embedding outside it, both of whose widths
-- grow with the hidden one, even the vocabulary and the number of experts. It recognises a latent
-- attention by its compressed query.
--
-- model                  VARCHAR   model
-- by_family              BOOLEAN   taken by families: the DeepSeek way
-- layers                 DOUBLE    N
-- moe_layers             DOUBLE    N_m, layers with experts
-- hidden_size            DOUBLE    H
-- heads                  DOUBLE    h
-- expert_width           DOUBLE    d_moe
-- experts                DOUBLE    E, routed
-- shared_experts         DOUBLE    n_s
-- top_k                  DOUBLE    k
-- attention_parameters   DOUBLE    of one layer's attention, inner norms and biases too
-- latent_elements        DOUBLE    r_kv + d_rope, cached per token and layer; NULL: not latent
-- latent_flop_per_token  DOUBLE    products of a latent attention; NULL: counted by the width H
-- latent_flop_per_pair   DOUBLE    scores, softmax and values of a query and a key, all heads
-- routed_parameters      DOUBLE    of all routed experts
-- other_parameters       DOUBLE    of everything else
-- entries                STRUCT[]  module, its kind and category; whether its weights stay as long
--                                  as those of experts do and whether it is a routed expert; how
--                                  many there are, parameters, inputs and outputs of one; whether
--                                  inputs and outputs grow with the hidden width
CREATE VIEW _compat_report_models AS
WITH named AS (
    SELECT
        *, attention IN ('mla', 'dsa') AS by_family,
        CASE
            WHEN part = 'attention' THEN 'attention'
            WHEN attention IN ('mla', 'dsa') AND part IN ('router', 'routed', 'shared')
                THEN 'experts'
            ELSE kind
        END AS module_kind,
        CASE
            WHEN part = 'attention' THEN 'blocks.*.attn'
            WHEN attention IN ('mla', 'dsa') AND part IN ('router', 'routed', 'shared')
                THEN 'blocks.*.ffn.moe'
            WHEN attention IN ('mla', 'dsa') AND part = 'dense' THEN 'blocks.*.ffn.dense'
            ELSE module
        END AS entry
    FROM model_modules
),
entries AS (
    SELECT
        model, any_value(by_family) AS by_family, any_value(top_k) AS top_k,
        any_value(sizes) AS sizes, entry, module_kind, any_value(category) AS category,
        bool_or(part IN ('router', 'routed', 'shared')) AS in_experts,
        bool_or(part = 'routed') AS is_routed,
        -- The gate, up and down products of an MLP have equal sums of inputs and outputs.
        sum(instances) AS instances, any_value(instance_parameters) AS parameters,
        any_value(inputs) AS inputs, any_value(outputs) AS outputs,
        sum(holders * instance_parameters) AS held,
        coalesce(sum(holders * instance_parameters) FILTER (part = 'routed'), 0) AS routed_held
    FROM named
    GROUP BY model, entry, module_kind
),
summed AS (
    SELECT
        model, any_value(by_family) AS by_family, any_value(top_k) AS top_k,
        any_value(sizes) AS sizes,
        sum(held) FILTER (module_kind = 'attention') AS attention_parameters,
        sum(routed_held) AS routed_parameters,
        sum(held) - sum(routed_held) AS other_parameters,
        list(
            {
                module: entry,
                module_kind: module_kind,
                category: CASE
                    WHEN module_kind IN ('attention', 'experts') THEN module_kind
                    ELSE category
                END,
                in_experts: in_experts,
                is_routed: is_routed,
                instances: CAST(instances AS DOUBLE),
                parameters: CAST(parameters AS DOUBLE),
                inputs: CAST(inputs AS DOUBLE),
                outputs: CAST(outputs AS DOUBLE),
                inputs_grow: module_kind = 'linear',
                outputs_grow: entry <> 'lm_head' OR NOT by_family
            }
        ) FILTER (module_kind <> 'norm') AS entries
    FROM entries
    GROUP BY model
)
SELECT
    model, by_family,
    CAST(sizes['layers'] AS DOUBLE) AS layers,
    CAST(sizes['moe_layers'] AS DOUBLE) AS moe_layers,
    CAST(sizes['hidden'] AS DOUBLE) AS hidden_size,
    CAST(sizes['heads'] AS DOUBLE) AS heads,
    CAST(coalesce(sizes['expert_width'], 0) AS DOUBLE) AS expert_width,
    CAST(sizes['experts'] AS DOUBLE) AS experts,
    CAST(sizes['shared_each'] AS DOUBLE) AS shared_experts,
    CAST(coalesce(top_k, 0) AS DOUBLE) AS top_k,
    CAST(attention_parameters AS DOUBLE) / sizes['layers'] AS attention_parameters,
    CAST(sizes['latent'] AS DOUBLE) AS latent_elements,
    CAST(
        2 * (
            sizes['hidden'] * sizes['query_rank'] + sizes['query_rank'] * sizes['query_up']
            + sizes['hidden'] * sizes['latent'] + sizes['latent_rank'] * sizes['latent_up']
            + sizes['attended'] * sizes['hidden']
        ) AS DOUBLE
    ) AS latent_flop_per_token,
    CAST(
        CASE
            WHEN sizes['query_rank'] IS NOT NULL
                THEN sizes['heads'] * (2 * sizes['latent_head'] + 1 + 2 * sizes['latent_value'])
        END AS DOUBLE
    ) AS latent_flop_per_pair,
    CAST(routed_parameters AS DOUBLE) AS routed_parameters,
    CAST(other_parameters AS DOUBLE) AS other_parameters,
    entries
FROM summed;
