-- One row per complete forward pass of a trace whose model is known: whether the trace computes
-- what the model's template does.
--
-- PASS: every matrix product matches, and attention. WARN: some are only close, or their
-- shapes are unknown, or attention is unknown, missing or different. FAIL: a product differs or is
-- missing, or products missing from the template make up more than 0.5 % of the FLOP.
--
-- key: trace_id, device, pass_id
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL if unknown
-- device         INTEGER  device
-- pass_id        BIGINT   pass, from 0
-- model          VARCHAR  model, of the relation architectures
-- verdict        VARCHAR  PASS, WARN or FAIL
-- gemms          BIGINT   matrix products of the template, in all layers
-- matched        BIGINT   of these, those that match, replicated ones included
-- close          BIGINT   those within 5 %
-- differing      BIGINT   those that differ
-- missing        BIGINT   those that the trace does not run
-- unshaped       BIGINT   those of unknown FLOP
-- extra          BIGINT   kinds of products that only the trace runs, layer by layer
-- template_flop  DOUBLE   FLOP of a rank by the template, attention included
-- trace_flop     DOUBLE   FLOP by the trace
-- coverage_pct   DOUBLE   share of the kernel time, without backward kernels, in operators that
--                         match or are close
CREATE VIEW template_verdicts AS
WITH judged AS (
    SELECT
        trace_id, rank, device, pass_id,
        count(*) FILTER (is_gemm AND status <> 'extra_in_trace') AS gemms,
        count(*) FILTER (is_gemm AND status IN ('match', 'replicated')) AS matched,
        count(*) FILTER (is_gemm AND status = 'close') AS close,
        count(*) FILTER (is_gemm AND status = 'differs') AS differing,
        count(*) FILTER (is_gemm AND status = 'missing_in_trace') AS missing,
        count(*) FILTER (is_gemm AND status = 'no_shape') AS unshaped,
        count(*) FILTER (status = 'extra_in_trace') AS extra,
        count(*) FILTER (NOT is_gemm AND status <> 'match') AS odd_attentions,
        sum(template_flop) AS template_flop, sum(trace_flop) AS trace_flop,
        coalesce(sum(trace_flop) FILTER (status = 'extra_in_trace'), 0) AS extra_flop,
        coalesce(sum(sum_us) FILTER (status IN ('match', 'replicated', 'close')), 0) AS matched_us,
        any_value(pass_us) AS pass_us
    FROM template_vs_trace
    GROUP BY trace_id, rank, device, pass_id
)
SELECT
    j.trace_id, j.rank, j.device, j.pass_id, m.model,
    CASE
        WHEN j.differing + j.missing > 0 OR j.extra_flop > 0.005 * j.template_flop THEN 'FAIL'
        WHEN j.close + j.unshaped + j.odd_attentions > 0 THEN 'WARN'
        ELSE 'PASS'
    END AS verdict,
    j.gemms, j.matched, j.close, j.differing, j.missing, j.unshaped, j.extra, j.template_flop,
    j.trace_flop, 100 * j.matched_us / nullif(j.pass_us, 0) AS coverage_pct
FROM judged AS j
JOIN _trace_models AS m ON m.trace_id = j.trace_id;
