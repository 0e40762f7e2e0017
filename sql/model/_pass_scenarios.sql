-- One row per forward pass whose trace's model is known: the scenario that it is, with the columns
-- of _scenario_rows. Its name is made of trace, rank, device and pass, / between.
--
-- Of the requests only sums are known: all but one are taken to be alike and the last has the rest,
-- so that tokens, old and new, are exact; pairs are as said.
--
-- question          BIGINT    number of the row, below 0
-- scenario          VARCHAR   name
-- study             VARCHAR   passes
-- formulas          VARCHAR   physical
-- model             VARCHAR   model, as architectures calls it
-- phase             VARCHAR   prefill, decode or training
-- batch             BIGINT    requests
-- seq_len           BIGINT    new tokens of all requests but the last
-- kv_len            BIGINT    cached tokens of these
-- requests          STRUCT[]  the same for the last
-- logit_rows        BIGINT    rows of the output head
-- said_pairs        BIGINT    pairs of query and key
-- tp                BIGINT    degree of tensor parallelism
-- ep                BIGINT    degree of expert parallelism
-- dp                BIGINT    replicas
-- pp                BIGINT    pipeline stages
-- hardware          VARCHAR   chip
-- trace_id          VARCHAR   trace
-- rank              INTEGER   rank in the job
-- device            INTEGER   device
-- pass_id           BIGINT    pass
CREATE VIEW _pass_scenarios AS
WITH loads AS (
    SELECT
        p.trace_id, p.rank, p.device, p.pass_id, p.phase, m.model,
        coalesce(p.requests, 1) AS batch, p.new_tokens,
        coalesce(p.cached_tokens, 0) AS cached_tokens, p.logit_rows, p.pairs,
        CAST(coalesce(t.tp, 1) AS BIGINT) AS tp, CAST(coalesce(t.ep, 1) AS BIGINT) AS ep,
        CAST(coalesce(t.dp, 1) AS BIGINT) AS dp, CAST(coalesce(t.pp, 1) AS BIGINT) AS pp,
        t.hardware
    FROM pass_workloads AS p
    JOIN _trace_models AS m ON m.trace_id = p.trace_id
    JOIN traces AS t ON t.trace_id = p.trace_id
    WHERE p.new_tokens > 0
)
SELECT
    -1 - CAST(hash(trace_id, rank, device, pass_id) // 4 AS BIGINT) AS question,
    _pass_scenario(trace_id, rank, device, pass_id) AS scenario, 'passes' AS study,
    'physical' AS formulas, model,
    CASE WHEN phase IN ('training', 'decode') THEN phase ELSE 'prefill' END AS phase, batch,
    new_tokens // batch AS seq_len, cached_tokens // batch AS kv_len,
    CASE
        WHEN new_tokens % batch + cached_tokens % batch > 0
            THEN [
                {
                    'requests': batch - 1, 'new_tokens': new_tokens // batch,
                    'cached_tokens': cached_tokens // batch
                },
                {
                    'requests': 1, 'new_tokens': new_tokens - new_tokens // batch * (batch - 1),
                    'cached_tokens': cached_tokens - cached_tokens // batch * (batch - 1)
                }
            ]
    END AS requests,
    logit_rows, pairs AS said_pairs, tp, ep, dp, pp, hardware, trace_id, rank, device, pass_id
FROM loads;
