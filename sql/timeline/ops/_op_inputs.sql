-- The token, as in the table dtypes, of a framework's name for a type of elements.
CREATE MACRO _type_token(framework_type) AS
replace(replace(lower(framework_type), 'c10::', ''), ' int', '');

-- Products of all choices of dimensions: 1, 2, 3, 4, 6, 8, 12, 24 for [2, 3, 4].
CREATE MACRO _choices(dims) AS
list_reduce(
    list_transform(dims, LAMBDA size: [CAST(1 AS DOUBLE), CAST(size AS DOUBLE)]),
    LAMBDA made, sizes: list_distinct(flatten(
        list_transform(made, LAMBDA x: list_transform(sizes, LAMBDA y: x * y))
    ))
);

-- Per input, which dimensions repeat the same elements: those with stride 0 (expand). From JSON
-- texts with the shapes and strides of all inputs; NULL if there are no strides or none repeats.
CREATE MACRO _repeats(input_dims, input_strides) AS
list_filter(
    [
        list_transform(
            TRY_CAST(TRY_CAST(input_dims AS JSON) AS JSON[]),
            LAMBDA dims, slot: list_transform(
                TRY_CAST(dims AS BIGINT[]),
                LAMBDA size, d: size > 1 AND coalesce(
                    TRY_CAST(
                        TRY_CAST(TRY_CAST(input_strides AS JSON) AS JSON[])[slot] AS BIGINT[]
                    )[d] = 0,
                    FALSE
                )
            )
        )
    ],
    LAMBDA repeats: list_contains(flatten(repeats), TRUE)
)[1];

-- One row per trace and distinct call of a framework operator with a matching rule: its inputs,
-- parsed once.
--
-- The compiler passes to a template all buffers that the fused operations read and write, as they
-- lie in memory: a bias comes before the factors or after them, a residual between them and the
-- result. The result is the last input with two dimensions or more. The factors are the two before
-- it that fit it with one inner dimension, which both have; the inputs of what is fused into a
-- factor fit as it does. If pairs have different inner dimensions none counts, nor if they are
-- those of two products (a, b, a, b) whose results are added. An inner dimension of 1 does not
-- count: scales of rows and of columns fit the result with it.
--
-- Between versions of Marlin, inputs were added: the packed weights are its first matrix of int32,
-- the scales the next matrix.
--
-- stored: per trace
--
-- trace_id         VARCHAR    trace
-- work_id          UBIGINT    equal for calls of equal operator, shapes, types and arguments
-- op               VARCHAR    name of the operator
-- priority         INTEGER    the rule
-- needs_arguments  BOOLEAN    the rule looks at values of arguments
-- input_dims       VARCHAR    shapes of the inputs, JSON; NULL if missing
-- types            VARCHAR[]  types of the inputs, as tokens of dtypes
-- arguments        VARCHAR    values of the inputs, JSON, if the rule looks at them
-- stated_type      VARCHAR    value of the argument that may give the result another type; several
--                             if such calls differ in it alone
-- stated_dim       INTEGER    value of the argument with the dimension of a selection, from 0 or,
--                             negative, from the end; NULL if such calls differ in it alone
-- repeats          BOOLEAN[][]  per input, which dimensions have stride 0: the same elements are
--                             read again; NULL if none has one or such calls differ in it alone
-- repeats_differ   BOOLEAN    such calls differ in it alone
-- a                BIGINT[]   shape of the first operand that the rule names
-- b                BIGINT[]   shape of the second
-- v                BIGINT[]   shape of the third
-- o                BIGINT[]   shape of the result, if it is an input
-- a_type           VARCHAR    type of the first operand, as in dtypes
-- b_type           VARCHAR    type of the second
-- a_bytes          DOUBLE     bytes of an element of the first operand
-- b_bytes          DOUBLE     bytes of an element of the second
-- v_bytes          DOUBLE     bytes of an element of the third
CREATE VIEW _op_inputs AS
WITH names AS (
    SELECT DISTINCT name AS op
    FROM events
    WHERE lane = 'host' AND category = 'cpu_op'
),
ruled AS (
    SELECT op, _trace_op_rule(op) AS priority FROM names
),
needs AS (
    SELECT
        op, priority, family, dtype_slot, dim_slot,
        coalesce(
            causal_slot, window_slot, stride_slot, transposed_slot,
            CASE WHEN rule = 'fused_moe' THEN lengths_slot END
        ) IS NOT NULL AS needs_arguments
    FROM ruled
    JOIN trace_op_rules USING (priority)
),
calls AS (
    SELECT DISTINCT
        e.trace_id, n.op, n.priority, n.needs_arguments, e.input_dims, e.input_types,
        CASE WHEN n.needs_arguments THEN e.args ->> '$."Concrete Inputs"' END AS arguments,
        CASE
            WHEN n.dtype_slot IS NOT NULL
                THEN _slot_text(e.args ->> '$."Concrete Inputs"', n.dtype_slot)
        END AS stated_type,
        CASE
            WHEN n.dim_slot IS NOT NULL
                THEN TRY_CAST(
                    _slot_text(e.args ->> '$."Concrete Inputs"', n.dim_slot) AS INTEGER
                )
        END AS stated_dim,
        CASE WHEN n.family IN ('product', 'memory') THEN e.args ->> '$."Input Strides"' END
            AS strides
    FROM events AS e
    JOIN needs AS n ON n.op = e.name
    WHERE e.lane = 'host' AND e.category = 'cpu_op'
),
laid AS (
    SELECT *, _repeats(input_dims, strides) AS repeats FROM calls
),
typed AS (
    SELECT
        trace_id, work_id(op, input_dims, input_types, arguments) AS work_id, op, priority,
        needs_arguments, input_dims,
        list_transform(
            TRY_CAST(TRY_CAST(input_types AS JSON) AS VARCHAR[]), LAMBDA t: _type_token(t)
        ) AS types,
        arguments,
        CASE
            WHEN count(DISTINCT coalesce(stated_type, '')) = 1 THEN any_value(stated_type)
            ELSE 'several'
        END AS stated_type,
        CASE WHEN min(stated_dim) = max(stated_dim) THEN min(stated_dim) END AS stated_dim,
        count(DISTINCT coalesce(CAST(repeats AS VARCHAR), '')) > 1 AS repeats_differ,
        CASE WHEN NOT repeats_differ THEN any_value(repeats) END AS repeats
    FROM laid
    GROUP BY ALL
),
templates AS (
    SELECT
        trace_id, work_id, rule,
        -- No device holds 2^48 elements.
        list_transform(
            TRY_CAST(input_dims AS BIGINT[][]),
            LAMBDA s: CASE WHEN list_min(s) > 0 AND list_product(s) < pow(2, 48) THEN s END
        ) AS shapes,
        len(shapes) + 1
        - list_position(list_reverse(list_transform(shapes, LAMBDA s: len(s) >= 2)), TRUE) AS last
    FROM typed
    JOIN trace_op_rules USING (priority)
    WHERE rule IN ('template', 'batched_template')
),
buffers AS (
    SELECT
        trace_id, work_id, rule, last, shapes[last] AS o,
        unnest(shapes[:last - 1]) AS dims, generate_subscripts(shapes[:last - 1], 1) AS place
    FROM templates
),
pairs AS (
    SELECT
        trace_id, work_id, a.last, a.place AS a_place, b.place AS b_place,
        a.dims AS a, b.dims AS b, a.o, _template_batch(a.rule, a.o) AS batch,
        _template_inner(a.dims, b.dims, a.o, batch) AS k
    FROM buffers AS a
    JOIN buffers AS b USING (trace_id, work_id)
    WHERE a.place < b.place
),
factors AS (
    SELECT trace_id, work_id, min(a_place) - 1 AS a, min(b_place) - 1 AS b, any_value(last) - 1 AS o
    FROM pairs
    WHERE
        k > 1
        AND list_contains(_choices(a), k)
        AND list_contains(_choices(b), k)
        AND list_product(a) * list_product(b) = batch * list_product(o) * k * k
        AND list_product(a) % (batch * k) = 0
        -- Of products of a batch the rows and columns are the last dimensions of the result.
        AND (batch = 1 OR list_product(a) = batch * o[-2] * k)
    GROUP BY trace_id, work_id
    HAVING count(DISTINCT k) = 1 AND max(a_place) <= min(b_place)
),
marlin AS (
    SELECT
        trace_id, work_id,
        list_position(types, 'int') - 1 AS packed,
        list_filter(
            range(packed, len(types)), LAMBDA slot: len(_slot_dims(input_dims, slot)) = 2
        ) AS matrices
    FROM typed
    JOIN trace_op_rules USING (priority)
    WHERE rule = 'marlin'
),
slots AS (
    SELECT
        i.*,
        coalesce(f.a, r.a_slot) AS a_slot, coalesce(f.b, r.b_slot, m.matrices[1]) AS b_slot,
        coalesce(r.v_slot, m.matrices[2]) AS v_slot, coalesce(f.o, r.out_slot) AS o_slot
    FROM typed AS i
    JOIN trace_op_rules AS r USING (priority)
    LEFT JOIN factors AS f USING (trace_id, work_id)
    LEFT JOIN marlin AS m USING (trace_id, work_id)
)
SELECT
    i.trace_id, i.work_id, i.op, i.priority, i.needs_arguments, i.input_dims, i.types, i.arguments,
    i.stated_type, i.stated_dim, i.repeats, i.repeats_differ,
    _slot_dims(i.input_dims, i.a_slot) AS a, _slot_dims(i.input_dims, i.b_slot) AS b,
    _slot_dims(i.input_dims, i.v_slot) AS v, _slot_dims(i.input_dims, i.o_slot) AS o,
    ta.dtype AS a_type, tb.dtype AS b_type, ta.bytes AS a_bytes, tb.bytes AS b_bytes,
    tv.bytes AS v_bytes
FROM slots AS i
LEFT JOIN dtypes AS ta ON ta.token = i.types[i.a_slot + 1]
LEFT JOIN dtypes AS tb ON tb.token = i.types[i.b_slot + 1]
LEFT JOIN dtypes AS tv ON tv.token = i.types[i.v_slot + 1];
