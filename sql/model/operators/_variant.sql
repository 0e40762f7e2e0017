-- Name of a model with its dimensions scaled: equal for equal arguments.
CREATE MACRO _variant(model, top_k, hidden_scale, kv_rank_scale) AS
    hash(
        CAST(model AS VARCHAR), CAST(top_k AS BIGINT), CAST(hidden_scale AS DOUBLE),
        CAST(kv_rank_scale AS DOUBLE)
    );
