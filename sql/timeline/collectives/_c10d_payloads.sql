-- One row per device operation launched by an operator of c10d that has one tensor of each kind,
-- with their sizes: the result is its first argument, the input its second (Ops.cpp of c10d). All
-- ranks have equal inputs, except of alltoall_base_, so the ratio is the number of ranks.
--
-- An all-reduce of symmetric memory has its input as first argument, and a result as large
-- (SymmetricMemory.cpp); the ratio shows nothing.
--
-- trace_id      VARCHAR  trace
-- kernel_id     BIGINT   event_id of the operation
-- group_size    BIGINT   ranks in the group, NULL if the sizes do not show it
-- input_bytes   DOUBLE   input of the rank, bytes
-- output_bytes  DOUBLE   output of the rank, bytes
-- dtype         VARCHAR  type of the elements
CREATE VIEW _c10d_payloads AS
WITH calls AS (
    SELECT
        trace_id, pid, tid, start_ns, end_ns, name,
        CAST(list_product(_slot_dims(input_dims, 0)) AS BIGINT) AS elements_out,
        CAST(list_product(
            _slot_dims(input_dims, CASE WHEN starts_with(name, 'c10d::') THEN 1 ELSE 0 END)
        ) AS BIGINT) AS elements_in,
        replace(lower(
            TRY_CAST(input_types AS JSON)
            ->> CASE WHEN starts_with(name, 'c10d::') THEN '$[1]' ELSE '$[0]' END
        ), 'c10::', '') AS token
    FROM events
    WHERE lane = 'host' AND category = 'cpu_op'
        AND name IN (
            'c10d::_allgather_base_', 'c10d::_reduce_scatter_base_', 'c10d::alltoall_base_',
            'symm_mem::multimem_all_reduce_', 'symm_mem::multimem_one_shot_all_reduce',
            'symm_mem::multimem_one_shot_all_reduce_out', 'symm_mem::one_shot_all_reduce',
            'symm_mem::one_shot_all_reduce_out', 'symm_mem::two_shot_all_reduce_',
            'symm_mem::two_shot_all_reduce_out'
        )
),
launched AS (
    SELECT
        kernels.trace_id, kernels.kernel_id, calls.elements_out, calls.elements_in, calls.token,
        CASE calls.name
            WHEN 'c10d::_allgather_base_' THEN [elements_out, elements_in]
            WHEN 'c10d::_reduce_scatter_base_' THEN [elements_in, elements_out]
        END AS whole_and_share
    FROM kernels
    ASOF JOIN calls
        ON calls.trace_id = kernels.trace_id
        AND calls.pid = kernels.issued_pid
        AND calls.tid = kernels.issued_tid
        AND calls.start_ns <= kernels.issued_ns
    WHERE kernels.kind = 'communication' AND kernels.issued_ns <= calls.end_ns
)
SELECT
    launched.trace_id, launched.kernel_id,
    CASE
        WHEN whole_and_share[1] % nullif(whole_and_share[2], 0) = 0
            THEN nullif(whole_and_share[1] // whole_and_share[2], 0)
    END AS group_size,
    elements_in * dtypes.bytes AS input_bytes, elements_out * dtypes.bytes AS output_bytes,
    dtypes.dtype
FROM launched
LEFT JOIN dtypes ON dtypes.token = launched.token;
