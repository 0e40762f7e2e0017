-- One row per trace and distinct call of an operator that multiplies matrices, experts' included.
--
-- FLOP are 2 per multiplication with its addition: 2 x batch x m x n x k; what is added besides,
-- a bias, does not count. The second matrix may lie the other way round than its rule says, as
-- libraries take weights of both kinds: its inner dimension is the one that fits. Bytes are those
-- of both operands and of the result, each once; experts that no token chooses are not read: of E
-- experts with top-k of T tokens E x (1 - (1 - k / E)^T) are expected to be.
--
-- trace_id    VARCHAR  trace
-- work_id     UBIGINT  the call
-- batch       BIGINT   products
-- m           BIGINT   rows of the result
-- n           BIGINT   columns of it
-- k           BIGINT   inner dimension
-- flop        BIGINT   FLOP
-- first_flop  BIGINT   part of the first of two products, NULL where there is one
-- bytes       DOUBLE   bytes moved
CREATE VIEW _op_products AS
WITH shaped AS (
    SELECT
        o.trace_id, o.work_id, o.a, o.b, o.a_bytes, o.b_bytes,
        coalesce(r.elements_per_item, 1) AS packed, r.rule, r.result,
        -- The second matrix in the order [k, n].
        CASE
            WHEN len(o.b) = 1 THEN [o.b[1], 1]
            WHEN r.rule = 'linear' THEN [o.b[-1], o.b[-2]]
            ELSE o.b[-2:]
        END AS right_dims
    FROM _op_inputs AS o
    JOIN trace_op_rules AS r USING (priority)
    WHERE r.rule IN ('matmul', 'linear', 'grouped') AND len(o.a) >= 1 AND len(o.b) >= 1
),
sized AS (
    SELECT
        trace_id, work_id, a, b, a_bytes, b_bytes, packed, result, a[-1] AS k,
        CASE a[-1] WHEN right_dims[1] THEN right_dims[2] WHEN right_dims[2] THEN right_dims[1] END
            AS n,
        CASE
            WHEN len(a) = 1 THEN 1
            WHEN len(b) <= 2 AND (rule <> 'grouped' OR len(a) = 2) THEN _dims_product(a[:-2])
            ELSE a[-2]
        END AS m,
        CASE
            -- Groups share out the rows of one matrix or the columns of the other.
            WHEN rule = 'grouped' AND (len(a) <> 3 OR len(b) <> 3) THEN 1
            WHEN len(b) <= 2 THEN 1
            -- A dimension that is missing or 1 is repeated.
            ELSE _dims_product(list_transform(
                range(3, greatest(len(a), len(b)) + 1), LAMBDA d: greatest(a[-d], b[-d])
            ))
        END AS batch
    FROM shaped
),
experts AS (
    SELECT
        o.trace_id, o.work_id, _dims_product(o.a[:-2]) * o.o[-1] AS m, o.b[2] AS n,
        o.a[-1] AS k, o.v[2] * o.v[3] * (o.a[-1] // o.b[3]) AS down,
        _dims_product(o.a) * 2 * o.a_bytes
        + o.b[1] * (1 - pow(1 - o.o[-1] / o.b[1], _dims_product(o.a[:-2])))
        * (o.b[2] * o.b[3] * o.b_bytes + o.v[2] * o.v[3] * o.v_bytes) AS bytes
    FROM _op_inputs AS o
    JOIN trace_op_rules AS r USING (priority)
    WHERE r.rule = 'fused_moe' AND len(o.b) = 3 AND len(o.v) = 3 AND len(o.o) = 2 AND o.b[3] > 0
)
SELECT
    trace_id, work_id, batch, m, n, k * packed AS k, 2 * batch * m * n * k * packed AS flop,
    CAST(NULL AS BIGINT) AS first_flop,
    _dims_product(a) * a_bytes + _dims_product(b) * b_bytes
    -- Operands of a byte or less give a result of two, or of the type that the rule says.
    + batch * m * n * CASE
        WHEN result = 'int32' THEN 4
        WHEN a_bytes < 2 THEN 2
        ELSE a_bytes
    END AS bytes
FROM sized
WHERE n IS NOT NULL
UNION ALL
SELECT
    trace_id, work_id, 1, m, n, k, 2 * m * (n * k + down), 2 * m * n * k, bytes
FROM experts;
