-- One row per device operation that communicates, without what a SparseCore does for another one.
--
-- stored: meanwhile
CREATE VIEW _collective_ops AS
SELECT
    trace_id, device, kernel_id, role, start_ns, end_ns, name, program, execution_id,
    hlo_category, shape, dtype
FROM _device_ops
ANTI JOIN offloaded_operations USING (trace_id, kernel_id)
WHERE class = 'communication';

-- Number of ranks in a group, by the replica_groups of an XLA instruction: listed, {{0,1},{2,3}};
-- as the shape of a list of devices, [2,2]<=[4]; or as axes of a mesh, mesh['a'=2,'b'=4] {'b'}, or
-- parts of an axis, 'b':(1)2, whose last number is the size. Older versions do not quote the names.
CREATE MACRO _replica_group_size(groups) AS
coalesce(
    TRY_CAST(regexp_extract(groups, '^\[\d+,(\d+)\]', 1) AS BIGINT),
    length(string_split(nullif(regexp_extract(groups, '^\{\{([\d,]+)\}', 1), ''), ',')),
    TRY_CAST(list_reduce(
        list_transform(
            string_split(
                regexp_extract(replace(groups, '''', ''), '^mesh.* \{(.*)\}$', 1), ','
            ),
            LAMBDA axis: TRY_CAST(coalesce(
                nullif(regexp_extract(axis, ':\(\d+\)(\d+)$', 1), ''),
                split_part(list_filter(
                    string_split(
                        regexp_extract(replace(groups, '''', ''), '^mesh\[(.*?)\]', 1), ','
                    ),
                    LAMBDA size: starts_with(size, axis || '=')
                )[1], '=', 2)
            ) AS DOUBLE)
        ),
        LAMBDA ranks, size: ranks * size
    ) AS BIGINT)
);

-- One row per device operation that is a collective, or the start or done half of one, with what
-- the trace shows about it.
--
-- PyTorch writes kind, sizes and group into the arguments of the kernel (named as in Kineto's
-- output_json.cpp) or of the operator record_param_comms; older versions leave an annotation around
-- the launch, with kind and input, and the operator of c10d with its shapes. XLA has them in the
-- instruction, NCCL in its own ranges, HCCL in the arguments of its lines in the timeline. RCCL's
-- calls show the kind.
--
-- stored: per trace
--
-- trace_id       VARCHAR    trace
-- device         INTEGER    device
-- kernel_id      BIGINT     event_id of the operation
-- role           VARCHAR    op, or async: in flight beside the operations
-- stream         BIGINT     stream
-- start_ns       BIGINT     start, ns
-- end_ns         BIGINT     end, ns
-- name           VARCHAR    full name
-- copied_by      BIGINT     operator of the collective, if copy engines do the transfer: its copies
--                           are one call
-- program        VARCHAR    program it is part of
-- execution_id   BIGINT     run of that program
-- words          VARCHAR[]  words that may show its kind, the most reliable first, in lower case
-- half           VARCHAR    start or done, if the compiler split it in two
-- start_name     VARCHAR    name of the half that starts it, if it was split
-- process_group  VARCHAR    name of its group of ranks
-- group_ranks    VARCHAR    the ranks of that group, as the trace lists them
-- group_size     BIGINT     their number
-- group_size_source  VARCHAR  where it is from: arguments, NCCL, instruction or operator
-- sequence       BIGINT     number of the call within the group, as counted by the framework
-- input_bytes    DOUBLE     input of the rank, bytes
-- output_bytes   DOUBLE     output of the rank, bytes
-- dtype          VARCHAR    type of the elements
-- bytes_source   VARCHAR    where the bytes are from: arguments, operator (shapes of
--                            that of c10d), annotation, NCCL or instruction
CREATE VIEW _collective_parts AS
WITH their_kernels AS (
    SELECT
        trace_id, kernel_id, stream, display_name, name_category, issued_ns, issued_pid,
        issued_tid, op_id
    FROM kernels
    SEMI JOIN _collective_ops USING (trace_id, kernel_id)
),
parts AS (
    SELECT
        ops.trace_id, ops.device, ops.kernel_id, ops.role, kernels.stream, ops.start_ns,
        ops.end_ns, ops.name, ops.program, ops.execution_id,
        ops.hlo_category, ops.shape, ops.dtype, kernels.display_name, kernels.issued_ns,
        kernels.issued_pid, kernels.issued_tid, kernels.op_id,
        CASE WHEN kernels.name_category = 'memcpy' THEN kernels.op_id END AS copied_by
    FROM _collective_ops AS ops
    LEFT JOIN their_kernels AS kernels
        ON kernels.trace_id = ops.trace_id AND kernels.kernel_id = ops.kernel_id
),
written AS (
    SELECT trace_id, event_id AS kernel_id, args
    FROM events
    -- Not joined with parts: DuckDB expects more of them than events, and would hold all arguments
    -- in memory.
    SEMI JOIN _collective_ops AS ops
        ON ops.trace_id = events.trace_id AND ops.kernel_id = events.event_id
    WHERE lane = 'device'
),
recorded AS (
    SELECT trace_id, event_id AS op_id, args
    FROM events
    SEMI JOIN parts ON parts.trace_id = events.trace_id AND parts.op_id = events.event_id
    WHERE lane = 'host' AND name = 'record_param_comms'
),
annotated AS (
    SELECT
        trace_id, pid, tid, start_ns, end_ns,
        regexp_extract(lower(name), '[a-z]ccl:(.*)', 1) AS called, input_dims,
        lower(TRY_CAST(input_types AS JSON) ->> '$[0]') AS element
    FROM events
    WHERE lane = 'host' AND category = 'user_annotation' AND name LIKE '%ccl:%'
    WINDOW thread AS (PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns DESC, event_id)
    -- Of ranges that start together the innermost.
    QUALIFY start_ns IS DISTINCT FROM lead(start_ns) OVER thread
),
launched AS (
    SELECT
        parts.trace_id, parts.kernel_id, annotated.called, annotated.element,
        list_sum(list_transform(
            TRY_CAST(annotated.input_dims AS BIGINT[][]),
            lambda shape: list_product(shape)
        )) AS elements
    FROM parts
    ASOF JOIN annotated
        ON annotated.trace_id = parts.trace_id
        AND annotated.pid = parts.issued_pid
        AND annotated.tid = parts.issued_tid
        AND annotated.start_ns <= parts.issued_ns
    WHERE parts.issued_ns <= annotated.end_ns
),
given AS (
    SELECT
        parts.trace_id, parts.kernel_id,
        coalesce(written.args ->> '$."Collective name"', recorded.args ->> '$."Collective name"')
            AS called,
        coalesce(written.args ->> '$."Process Group Name"',
            recorded.args ->> '$."Process Group Name"') AS process_group,
        coalesce(written.args ->> '$."Process Group Ranks"',
            recorded.args ->> '$."Process Group Ranks"') AS group_ranks,
        -- A group has at least one rank.
        nullif(greatest(TRY_CAST(
            coalesce(written.args ->> '$."Group size"', recorded.args ->> '$."Group size"')
            AS BIGINT), 0), 0) AS group_size,
        TRY_CAST(coalesce(written.args ->> '$.Seq', recorded.args ->> '$.Seq') AS BIGINT)
            AS sequence,
        TRY_CAST(coalesce(written.args ->> '$."In msg nelems"',
            recorded.args ->> '$."In msg nelems"') AS BIGINT) AS elements_in,
        TRY_CAST(coalesce(written.args ->> '$."Out msg nelems"',
            recorded.args ->> '$."Out msg nelems"') AS BIGINT) AS elements_out,
        lower(coalesce(written.args ->> '$.dtype', recorded.args ->> '$.dtype')) AS element,
        written.args ->> '$.long_name' AS instruction
    FROM parts
    LEFT JOIN written USING (trace_id, kernel_id)
    LEFT JOIN recorded USING (trace_id, op_id)
),
instructions AS (
    -- The XLA instruction: its halves, its groups, its output arrays.
    SELECT
        parts.trace_id, parts.kernel_id,
        collective_half(parts.name) AS half,
        collective_start(parts.name, given.instruction) AS start_name,
        -- The devices of a mesh, if in another order, come before its axes.
        nullif(regexp_extract(
            given.instruction, 'replica_groups=(mesh.*? \{.*?\}|.*?)(?:, [a-z]|$)', 1
        ), '') AS groups,
        list_filter(
            list_transform(
                string_split(parts.shape, '|'),
                lambda shape, place: {
                    -- A scalar is an element if there is no array: tokens beside arrays are
                    -- scalars, too.
                    'elements': CASE
                        WHEN regexp_matches(parts.shape, '^[][|]*$') THEN 1
                        ELSE list_product(TRY_CAST(string_split(shape, ',') AS BIGINT[]))
                    END,
                    'token': lower(split_part(parts.dtype, '|', CAST(place AS INTEGER)))
                }
            ),
            lambda piece: piece.elements IS NOT NULL
        ) AS arrays,
        split_part(parts.dtype, '|', 1) AS element
    FROM parts
    JOIN given USING (trace_id, kernel_id)
),
widths AS (
    SELECT map_from_entries(list({'k': token, 'v': bytes})) AS bytes_of FROM dtypes
),
sized AS (
    SELECT
        trace_id, kernel_id, half, start_name, groups,
        _replica_group_size(groups) AS group_size,
        CASE
            WHEN list_count(array_bytes) < len(array_bytes) THEN NULL
            -- Its arrays are buffers for the worst case, and what moves is in other operands.
            WHEN starts_with(start_name, 'ragged-all-to-all') THEN NULL
            -- The start half of a gather or a permutation lists its inputs beside its outputs.
            WHEN half = 'start' AND NOT contains(start_name, 'reduce') THEN list_max(array_bytes)
            ELSE list_sum(array_bytes)
        END AS output_bytes,
        element
    FROM (
        SELECT
            instructions.*,
            list_transform(
                arrays, lambda piece: piece.elements * widths.bytes_of[piece.token]
            ) AS array_bytes
        FROM instructions
        CROSS JOIN widths
    )
)
SELECT
    parts.trace_id,
    parts.device,
    parts.kernel_id,
    parts.role,
    parts.stream,
    parts.start_ns,
    parts.end_ns,
    parts.name,
    parts.copied_by,
    parts.program,
    parts.execution_id,
    list_filter(
        [
            lower(given.called), launched.called, lower(parts.hlo_category),
            -- Counters are one word; the digit in a2a and all2all is not a counter.
            regexp_replace(
                lower(coalesce(parts.display_name, parts.name)), '\d+($|[^a-z\d])', '0\1', 'g'
            ),
            regexp_replace(lower(parts.name), '\d+($|[^a-z\d])', '0\1', 'g'),
            -- The kernels of RCCL may all be called ncclDevKernel_Generic.
            nccl.called
        ],
        lambda word: word IS NOT NULL
    ) AS words,
    sized.half,
    sized.start_name,
    coalesce(
        given.process_group, nccl.process_group, sized.groups,
        -- HCCL writes the end of the group's hash into the name: hcom_allReduce__935_3_1.
        nullif(regexp_extract(parts.name, '^hcom_[A-Za-z]+_?_(\d+)_\d+', 1), '')
    ) AS process_group,
    given.group_ranks,
    coalesce(
        given.group_size, hccl.group_size, nccl.group_size, sized.group_size, c10d.group_size
    ) AS group_size,
    CASE
        WHEN coalesce(given.group_size, hccl.group_size) IS NOT NULL THEN 'arguments'
        WHEN nccl.group_size IS NOT NULL THEN 'NCCL'
        WHEN sized.group_size IS NOT NULL THEN 'instruction'
        WHEN c10d.group_size IS NOT NULL THEN 'operator'
    END AS group_size_source,
    given.sequence,
    coalesce(
        given.elements_in * stated.bytes, hccl.input_bytes, c10d.input_bytes,
        launched.elements * noted.bytes, nccl.input_bytes
    ) AS input_bytes,
    coalesce(
        given.elements_out * stated.bytes, hccl.output_bytes, c10d.output_bytes, nccl.output_bytes,
        sized.output_bytes
    ) AS output_bytes,
    coalesce(stated.dtype, hccl.dtype, c10d.dtype, noted.dtype, sized.element) AS dtype,
    CASE
        WHEN given.elements_in IS NOT NULL OR given.elements_out IS NOT NULL
            OR hccl.input_bytes IS NOT NULL OR hccl.output_bytes IS NOT NULL
            THEN 'arguments'
        WHEN coalesce(c10d.input_bytes, c10d.output_bytes) IS NOT NULL THEN 'operator'
        WHEN launched.elements IS NOT NULL THEN 'annotation'
        WHEN coalesce(nccl.input_bytes, nccl.output_bytes) IS NOT NULL THEN 'NCCL'
        WHEN sized.output_bytes IS NOT NULL THEN 'instruction'
    END AS bytes_source
FROM parts
JOIN given USING (trace_id, kernel_id)
LEFT JOIN launched USING (trace_id, kernel_id)
LEFT JOIN _hccl_payloads AS hccl USING (trace_id, kernel_id)
LEFT JOIN _nccl_payloads AS nccl USING (trace_id, kernel_id)
LEFT JOIN _c10d_payloads AS c10d USING (trace_id, kernel_id)
LEFT JOIN sized USING (trace_id, kernel_id)
LEFT JOIN dtypes AS stated ON stated.token = given.element
LEFT JOIN dtypes AS noted ON noted.token = launched.element;
