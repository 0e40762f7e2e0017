-- One row per operation of a measured trace, or of one window of one of its passes, that a
-- simulator is compared with. Service rows of collectives are left out: they belong to no sum.
--
-- `FROM _measured_rows(trace_id, pass, window, dedup)`; pass NULL for the whole trace. dedup is
-- tracelake for what counts in kernels, compat for the rule of published figures (of the
-- collectives of one type that start in one whole microsecond the longest counts), none for every
-- row.
--
-- kernel_type  VARCHAR  type of operation, folded; the name to show if a trace has no types
-- shape_key    VARCHAR  shapes of the inputs, NULL if unknown
-- dur_ns       BIGINT   duration, ns
-- is_comm      BOOLEAN  a collective
CREATE MACRO _measured_rows(of_trace, of_pass, of_window, of_dedup) AS TABLE
WITH listed AS (
    SELECT
        kernel_id, device, start_ns, dur_ns, op_type, op_type_folded AS kernel_type, input_dims,
        counted, comm_role IN ('logical', 'physical') AS is_comm,
        starts_with(op_type, 'hcom_') AS is_hcom
    FROM ascend_kernels
    WHERE
        trace_id = of_trace AND comm_role <> 'service' AND core_group IS DISTINCT FROM 'control'
        AND dup_reason IS DISTINCT FROM 'timeline_twin'
    UNION ALL
    SELECT
        kernel_id, device, kernels.start_ns, dur_ns, display_name, display_name, input_dims,
        TRUE, kind = 'communication', FALSE
    FROM kernels
    JOIN traces ON traces.trace_id = kernels.trace_id AND traces.format <> 'ascend'
    WHERE kernels.trace_id = of_trace
),
inside AS (
    SELECT kernel_type, kernel_id, start_ns, dur_ns, op_type, input_dims, counted, is_comm, is_hcom
    FROM listed
    WHERE
        of_pass IS NULL
        OR kernel_id IN (
            SELECT kernel_id
            FROM window_kernels
            WHERE trace_id = of_trace AND pass_id = of_pass AND window_kind = of_window
        )
),
ranked AS (
    SELECT
        kernel_type, dur_ns, counted, is_comm, is_hcom, input_dims,
        row_number() OVER (
            PARTITION BY op_type, start_ns // 1000 ORDER BY dur_ns DESC, kernel_id
        ) AS place
    FROM inside
)
SELECT kernel_type, _shape_key(input_dims) AS shape_key, dur_ns, is_comm
FROM ranked
WHERE
    CASE of_dedup
        WHEN 'compat' THEN NOT is_hcom OR place = 1
        WHEN 'none' THEN TRUE
        ELSE counted
    END;
