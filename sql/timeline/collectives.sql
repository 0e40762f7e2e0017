-- One row per collective operation on a device: an operation that the compiler split into a start
-- and a done is one row, from the first's begin to the second's end.
--
-- Sizes are those of the whole operation as nccl-tests counts them: of an all-gather what every
-- rank has in the end, of a reduce-scatter what every rank begins with. Bandwidths are over the
-- rank's own time, waiting for the others included; collective_calls has those from the last
-- arrival.
--
-- Materialised per trace.
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL when unknown
-- device          INTEGER  device
-- stream          BIGINT   stream
-- collective_id   BIGINT   event_id of its first operation
-- name            VARCHAR  name of that operation
-- kind            VARCHAR  kind, by collective_rules
-- program         VARCHAR  program it is part of, NULL where the trace shows none
-- execution_id    BIGINT   run of that program
-- operations      BIGINT   device operations it consists of
-- start_ns        BIGINT   start, ns
-- end_ns          BIGINT   end, ns
-- dur_us          DOUBLE   from start to end, µs
-- exposed_us      DOUBLE   time in which the device only communicates; where several collectives
--                          run, counted for the first, so that the sum is the device's, µs
-- hidden_us       DOUBLE   time in which the device computes, µs
-- idle_us         DOUBLE   time in which the device is idle or waits while it is in flight, µs
-- process_group   VARCHAR  group of ranks, as the trace names it
-- group_ranks     VARCHAR  the ranks of that group, as the trace lists them
-- group_size      BIGINT   their number
-- sequence        BIGINT   number of the call within the group, where the trace has it
-- call_number     BIGINT   number of the call among those of the group on the device, in time order
--                          from 0; in a run of a program, among those of one name
-- dtype           VARCHAR  type of the elements
-- bytes           DOUBLE   size of the whole operation, bytes
-- bytes_source    VARCHAR  where it is from: arguments, annotation or instruction
-- algorithm_gbps  DOUBLE   size by time, GB/s
-- bus_gbps        DOUBLE   the same times the factor of its kind, GB/s
CREATE VIEW collectives AS
WITH kinds AS (
    SELECT parts.trace_id, parts.device, parts.kernel_id, arg_min(words.kind, parts.place) AS kind
    FROM (
        SELECT
            trace_id, device, kernel_id, unnest(words) AS word,
            generate_subscripts(words, 1) AS place
        FROM _collective_parts
    ) AS parts
    JOIN _collective_words AS words USING (word)
    GROUP BY parts.trace_id, parts.device, parts.kernel_id
),
described AS (
    SELECT
        calls.trace_id, calls.device, calls.call_id,
        arg_min(parts.stream, parts.start_ns) AS stream,
        arg_min(parts.name, parts.start_ns) AS name,
        arg_min(kinds.kind, parts.start_ns) AS kind,
        any_value(parts.program) AS program,
        any_value(parts.execution_id) AS execution_id,
        any_value(parts.process_group) AS process_group,
        any_value(parts.group_ranks) AS group_ranks,
        any_value(parts.group_size) AS group_size,
        any_value(parts.sequence) AS sequence,
        any_value(parts.dtype) AS dtype,
        any_value(parts.bytes_source) AS bytes_source,
        max(parts.input_bytes) AS input_bytes,
        -- What comes out of the second half is the result and nothing else.
        coalesce(max(parts.output_bytes) FILTER (parts.half = 'done'), max(parts.output_bytes))
            AS output_bytes
    FROM _collective_halves AS calls
    JOIN _collective_parts AS parts USING (trace_id, device, kernel_id)
    LEFT JOIN kinds USING (trace_id, device, kernel_id)
    GROUP BY calls.trace_id, calls.device, calls.call_id
),
sized AS (
    SELECT
        described.trace_id, device, call_id, stream, name,
        coalesce(described.kind, 'other-collective') AS kind, program, execution_id, process_group,
        group_ranks, group_size, sequence, dtype, bytes_source,
        greatest(
            input_bytes * CASE WHEN formulas.input_shares THEN group_size ELSE 1 END,
            output_bytes * CASE WHEN formulas.output_shares THEN group_size ELSE 1 END
        ) AS bytes,
        formulas.scale,
        formulas.scale * CASE
            WHEN formulas.peers_only THEN (group_size - 1) / group_size
            ELSE 1
        END AS factor
    FROM described
    LEFT JOIN collective_formulas AS formulas
        ON formulas.kind = coalesce(described.kind, 'other-collective')
)
SELECT
    trace_id, traces.rank, device, sized.stream, call_id AS collective_id, sized.name, sized.kind,
    sized.program, sized.execution_id, times.operations, times.start_ns, times.end_ns,
    (times.end_ns - times.start_ns) / 1000.0 AS dur_us,
    times.exposed_ns / 1000.0 AS exposed_us,
    times.hidden_ns / 1000.0 AS hidden_us,
    times.idle_ns / 1000.0 AS idle_us,
    sized.process_group, sized.group_ranks, sized.group_size, sized.sequence,
    row_number() OVER (
        PARTITION BY trace_id, device, sized.process_group, sized.group_ranks, sized.program,
            sized.execution_id, CASE WHEN sized.program IS NOT NULL THEN sized.name END
        ORDER BY times.start_ns, call_id
    ) - 1 AS call_number,
    sized.dtype,
    sized.bytes,
    CASE WHEN sized.bytes IS NOT NULL THEN sized.bytes_source END AS bytes_source,
    CASE
        WHEN sized.scale IS NOT NULL THEN sized.bytes / nullif(times.end_ns - times.start_ns, 0)
    END AS algorithm_gbps,
    sized.factor * sized.bytes / nullif(times.end_ns - times.start_ns, 0) AS bus_gbps
FROM sized
JOIN _collective_times AS times USING (trace_id, device, call_id)
JOIN traces USING (trace_id);
