-- One row per model: the parameters that one token is multiplied with, counted by the operators,
-- and beside them the publisher's figure. A large difference points to a wrong dimension.
--
-- key: model
--
-- model               VARCHAR  model
-- active              BIGINT   parameters of all products of one token, including the output head:
--                              half of their FLOP, without those of query-key pairs
-- active_embedded     BIGINT   active plus the embedding table, if that is not the head
-- published_active_b  DOUBLE   as published, billions
-- difference_pct      DOUBLE   difference of the nearer of the two from it, %
-- agrees              BOOLEAN  within 5 %; NULL if none is published
CREATE VIEW active_parameters AS
WITH counted AS (
    SELECT
        model,
        CAST(
            sum(layers * row_flop * CASE WHEN rows = 'assignments' THEN t.top_k ELSE 1 END)
            AS BIGINT
        ) // 2 AS active
    FROM _template AS t
    JOIN model_sizes USING (variant)
    WHERE
        variant = _variant(model, NULL, 1.0, 1.0)
        AND part <> 'mtp' AND category <> 'attention_core'
        AND (form IS NULL OR form = 'absorbed')
    GROUP BY model
),
embedded AS (
    SELECT
        model, active, published_active_b,
        active + CASE WHEN tied_embeddings AND has_head THEN 0 ELSE vocab_size * hidden_size END
            AS active_embedded
    FROM counted
    JOIN architectures USING (model)
),
compared AS (
    SELECT
        model, active, active_embedded, published_active_b,
        100 * (active / 1e9 / published_active_b - 1) AS without_pct,
        100 * (active_embedded / 1e9 / published_active_b - 1) AS with_pct
    FROM embedded
)
SELECT
    model, active, active_embedded, published_active_b,
    CASE WHEN abs(without_pct) < abs(with_pct) THEN without_pct ELSE with_pct END
        AS difference_pct,
    least(abs(without_pct), abs(with_pct)) <= 5 AS agrees
FROM compared;
