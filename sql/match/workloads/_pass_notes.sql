-- One row per annotation of a serving engine that gives the load of a step.
--
-- Engines write sums over requests of new tokens q, of visible keys k, of q x q and of q x k,
-- most of them separately for requests in their context and in their generation phase; a shorter
-- form has q and q x q, or only q. With c = k - q cached tokens, a request has
-- q x c + q x (q + 1) / 2 pairs of a query and a key that it sees:
-- sum(q x k) - (sum(q x q) - sum(q)) / 2. If cached tokens are unknown, a step of context only is
-- assumed to have none. A number too large to compute with is NULL.
--
-- vLLM computes the logits of one token of a request in its context phase, and of all tokens of one
-- in its generation phase: those that verify drafts, too.
--
-- stored: per trace
--
-- trace_id       VARCHAR  trace
-- device         INTEGER  device, NULL if the annotation is the host's
-- start_ns       BIGINT   start
-- end_ns         BIGINT   end
-- form           INTEGER  form of the annotation, 1 the most detailed
-- requests       BIGINT   requests
-- new_tokens     BIGINT   tokens computed in the step
-- cached_tokens  BIGINT   tokens with keys in the cache before
-- pairs          BIGINT   pairs under a causal mask
-- pairs_full     BIGINT   pairs without the mask
-- logit_rows     BIGINT   tokens whose logits are computed, where it tells both phases
-- source         VARCHAR  what it describes
CREATE VIEW _pass_notes AS
WITH annotations AS (
    SELECT trace_id, name, start_ns, end_ns, device
    FROM user_annotations
    WHERE
        starts_with(name, 'execute_') OR starts_with(name, 'step[')
        OR contains(name, 'prefill[bs=') OR contains(name, 'decode[bs=')
),
names AS (
    SELECT
        name,
        regexp_extract(
            name,
            '^execute_(?:\d+_)?context_(\d+)\(sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)\)'
            || '_generation_(\d+)\(sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)\)',
            ['cn', 'cq', 'ck', 'cqq', 'cqk', 'gn', 'gq', 'gk', 'gqq', 'gqk']
        ) AS sums,
        regexp_extract(
            name, '^execute_(?:\d+_)?context_(\d+)\((\d+)_?(\d*)\)_generation_(\d+)\((\d+)_?\d*\)',
            ['cn', 'cq', 'cqq', 'gn', 'gq']
        ) AS short,
        -- SGLang, and ATOM: prefill[bs=2 tok=12 ctx=[8, 4] sqsq=80 sqsk=120 sk=20].
        regexp_extract(
            name, '^(?:step\[(\w+) |(?:eager_)?(?:prefill|decode)\[)bs=(\d+)', ['mode', 'bs']
        ) AS step,
        regexp_extract(name, '[ \[](?:tok|toks)=(\d+)', 1) AS toks,
        {
            'q': coalesce(
                sum_of_matches(name, ' (?:c_|g_)sq=(\d+)'), sum_of_matches(name, ' tok=(\d+)')
            ),
            'k': sum_of_matches(name, ' (?:c_|g_)?sk=(\d+)'),
            'qq': sum_of_matches(name, ' (?:c_|g_)?sqsq=(\d+)'),
            'qk': sum_of_matches(name, ' (?:c_|g_)?sqsk=(\d+)')
        } AS f
    FROM (SELECT DISTINCT name FROM annotations)
),
numbers AS (
    SELECT
        name, step.mode,
        TRY_CAST(sums AS STRUCT(
            cn BIGINT, cq BIGINT, ck BIGINT, cqq BIGINT, cqk BIGINT, gn BIGINT, gq BIGINT,
            gk BIGINT, gqq BIGINT, gqk BIGINT
        )) AS s,
        {
            'cn': TRY_CAST(short.cn AS BIGINT), 'cq': TRY_CAST(short.cq AS BIGINT),
            'cqq': TRY_CAST(short.cqq AS BIGINT), 'gn': TRY_CAST(short.gn AS BIGINT),
            'gq': TRY_CAST(short.gq AS BIGINT)
        } AS h,
        TRY_CAST(step.bs AS BIGINT) AS bs, TRY_CAST(toks AS BIGINT) AS toks, f
    FROM names
),
loads AS (
    SELECT
        name, 1 AS form, try(s.cn + s.gn) AS requests, try(s.cq + s.gq) AS new_tokens,
        try(s.ck + s.gk - s.cq - s.gq) AS cached_tokens,
        try(s.cqk - (s.cqq - s.cq) // 2 + s.gqk - (s.gqq - s.gq) // 2) AS pairs,
        try(s.cqk + s.gqk) AS pairs_full, try(s.cn + s.gq) AS logit_rows, 'annotation' AS source
    FROM numbers
    WHERE s.cn IS NOT NULL
    UNION ALL
    SELECT
        name, 1, bs, f.q, try(f.k - f.q), try(f.qk - (f.qq - f.q) // 2), f.qk, NULL, 'annotation'
    FROM numbers
    WHERE
        bs IS NOT NULL AND f.q IS NOT NULL AND f.k IS NOT NULL AND f.qq IS NOT NULL
        AND f.qk IS NOT NULL
    UNION ALL
    SELECT
        name, 2, try(h.cn + h.gn), try(h.cq + h.gq), NULL,
        CASE WHEN h.gn = 0 THEN try((squares + h.cq) // 2) END,
        CASE WHEN h.gn = 0 THEN squares END, try(h.cn + h.gq), 'annotation without cached tokens'
    FROM (
        SELECT *, CASE WHEN h.cn = 1 THEN try(h.cq * h.cq) ELSE h.cqq END AS squares
        FROM numbers
        WHERE h.cn IS NOT NULL
    )
    UNION ALL
    SELECT
        name, 3, bs, coalesce(f.q, toks, CASE WHEN mode = 'DECODE' THEN bs END), NULL, NULL, NULL,
        NULL, 'annotation of tokens'
    FROM numbers
    WHERE bs IS NOT NULL
)
SELECT
    trace_id, device, start_ns, end_ns, form, requests, new_tokens, cached_tokens, pairs,
    pairs_full, logit_rows, source
FROM annotations
JOIN loads USING (name);
