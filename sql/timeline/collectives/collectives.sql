-- One row per pair of a trace and a trace of the same run in which a cluster's communication.json
-- lists the groups of ranks.
CREATE VIEW _cluster_links AS
SELECT DISTINCT traces.trace_id, listing.trace_id AS other_trace_id
FROM _cluster_groups
JOIN traces AS listing USING (trace_id)
JOIN traces ON traces.run = listing.run
WHERE traces.format = 'ascend' AND traces.trace_id != listing.trace_id;

-- One row per word that shows the kind of a collective: rules are tried once per distinct word.
CREATE VIEW _collective_words AS
WITH words AS (
    SELECT DISTINCT unnest(words) AS word FROM _collective_parts
)
SELECT words.word, arg_min(collective_rules.kind, collective_rules.priority) AS kind
FROM words
JOIN collective_rules ON regexp_matches(words.word, collective_rules.pattern)
GROUP BY words.word;

-- One row per call of a collective on a device: when it ran, and what the device did meanwhile.
--
-- While nothing else runs, the time is exposed, and it is counted for one collective only, see
-- awaited_turns: the sum over a device is its exposed communication. A collective that is only
-- in flight exposes nothing: the device is then idle, or busy with something else. The work before
-- a call begins where the last collective before it ended, or where the device's window begins.
CREATE VIEW _collective_times AS
WITH owned AS MATERIALIZED (
    SELECT trace_id, device, kernel_id, start_ns, end_ns FROM _collective_turns
),
calls AS (
    SELECT
        trace_id, device, call_id, count(*) AS operations, min(start_ns) AS start_ns,
        max(end_ns) AS end_ns
    FROM _collective_parts
    JOIN _collective_halves USING (trace_id, device, kernel_id)
    GROUP BY trace_id, device, call_id
),
followed AS (
    SELECT
        trace_id, device, call_id, CASE WHEN ended_ns IS NOT NULL THEN least(start_ns, ended_ns) END
            AS since_ns
    FROM (
        SELECT
            trace_id, device, call_id, start_ns, max(end_ns) OVER (
                PARTITION BY trace_id, device ORDER BY start_ns, call_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS ended_ns
        FROM calls
    )
),
begun AS (
    SELECT trace_id, device, min(start_ns) AS begin_ns FROM _state_sums GROUP BY trace_id, device
),
moments AS (
    SELECT trace_id, device, start_ns AS at_ns FROM owned
    UNION
    SELECT trace_id, device, end_ns FROM owned
    UNION
    SELECT trace_id, device, start_ns FROM calls
    UNION
    SELECT trace_id, device, end_ns FROM calls
),
reached AS (
    SELECT
        moments.trace_id, moments.device, moments.at_ns, before.state, before.compute_ns,
        before.communication_ns, before.wait_ns + before.idle_ns AS idle_ns,
        least(moments.at_ns, before.end_ns) - before.start_ns AS part_ns
    FROM moments
    ASOF JOIN _state_sums AS before
        ON before.trace_id = moments.trace_id
        AND before.device = moments.device
        AND before.start_ns <= moments.at_ns
),
sums AS (
    SELECT
        trace_id, device, at_ns,
        compute_ns + CASE WHEN state = 'compute' THEN part_ns ELSE 0 END AS compute_ns,
        communication_ns + CASE WHEN state = 'communication' THEN part_ns ELSE 0 END
            AS communication_ns,
        idle_ns + CASE WHEN state IN ('idle', 'wait') THEN part_ns ELSE 0 END AS idle_ns
    FROM reached
),
exposed AS (
    SELECT
        owned.trace_id, owned.device, _collective_halves.call_id,
        sum(till.communication_ns - coalesce(since.communication_ns, 0)) AS exposed_ns
    FROM owned
    JOIN _collective_halves USING (trace_id, device, kernel_id)
    JOIN sums AS till
        ON till.trace_id = owned.trace_id
        AND till.device = owned.device
        AND till.at_ns = owned.end_ns
    LEFT JOIN sums AS since
        ON since.trace_id = owned.trace_id
        AND since.device = owned.device
        AND since.at_ns = owned.start_ns
    GROUP BY owned.trace_id, owned.device, _collective_halves.call_id
)
SELECT
    calls.trace_id, calls.device, calls.call_id, calls.operations, calls.start_ns, calls.end_ns,
    CAST(coalesce(exposed.exposed_ns, 0) AS BIGINT) AS exposed_ns,
    coalesce(till.compute_ns, 0) - coalesce(since.compute_ns, 0) AS hidden_ns,
    coalesce(till.idle_ns, 0) - coalesce(since.idle_ns, 0) AS idle_ns,
    greatest(calls.start_ns - coalesce(followed.since_ns, begun.begin_ns), 0) AS before_ns,
    coalesce(since.compute_ns, 0) - coalesce(ended.compute_ns, 0) AS computed_before_ns
FROM calls
LEFT JOIN exposed USING (trace_id, device, call_id)
LEFT JOIN begun USING (trace_id, device)
LEFT JOIN followed USING (trace_id, device, call_id)
LEFT JOIN sums AS ended
    ON ended.trace_id = calls.trace_id
    AND ended.device = calls.device
    AND ended.at_ns = followed.since_ns
LEFT JOIN sums AS since
    ON since.trace_id = calls.trace_id
    AND since.device = calls.device
    AND since.at_ns = calls.start_ns
LEFT JOIN sums AS till
    ON till.trace_id = calls.trace_id
    AND till.device = calls.device
    AND till.at_ns = calls.end_ns;

-- One row per collective operation on a device: an operation that the compiler split into a start
-- and a done is one row, from the start of the first to the end of the second.
--
-- Sizes are those of the whole operation as nccl-tests counts them: for an all-gather the output of
-- a rank, for a reduce-scatter the input of a rank. Bandwidths are over the rank's own time,
-- including the wait for others; collective_calls has those from the last arrival. Ascend records
-- what a rank moved over its links: 2 (n-1)/n of the size for an all-reduce in a group of n ranks,
-- (n-1)/n for the other collectives in which all ranks exchange. The number of ranks comes from a
-- cluster's file of the same run.
--
-- stored: per trace
--
-- others: _cluster_links
--
-- key: trace_id, collective_id
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device
-- stream          BIGINT   stream
-- collective_id   BIGINT   event_id of its first operation
-- name            VARCHAR  name of that operation
-- kind            VARCHAR  kind, by collective_rules
-- program         VARCHAR  program it is part of, NULL if the trace shows none
-- execution_id    BIGINT   run of that program
-- operations      BIGINT   device operations it consists of
-- start_ns        BIGINT   start, ns
-- end_ns          BIGINT   end, ns
-- dur_us          DOUBLE   from start to end, µs
-- exposed_us      DOUBLE   time in which the device only communicates, µs; if several collectives
--                          run, counted for one, see awaited_turns, so that the sum is the
--                          device's: one that ends before the device computes again goes before
--                          others; of several, the last to begin
-- hidden_us       DOUBLE   time in which the device computes, µs
-- idle_us         DOUBLE   time in which the device is idle or waits while it is in flight, µs
-- before_us       DOUBLE   from the end of the collectives before it on the device, else from the
--                          first operation on any device of the trace, to its start, µs; 0 where
--                          they overlap
-- computed_before_us  DOUBLE  of that, time in which the device computes, µs
-- process_group   VARCHAR  group of ranks, as the trace names it
-- group_ranks     VARCHAR  the ranks of that group, as the trace lists them
-- group_size      BIGINT   their number
-- sequence        BIGINT   number of the call within the group, where the trace has it
-- call_number     BIGINT   number of the call among those of the group on the device, in time order
--                          from 0; in a run of a program, among those of one name
-- dtype           VARCHAR  type of the elements
-- moved_bytes     DOUBLE   what this rank moved over its links, bytes; from communication.json
-- bytes           DOUBLE   size of the whole operation, bytes; NULL for a ragged all-to-all of XLA,
--                          whose arrays are larger than what moves
-- bytes_source    VARCHAR  where it is from: arguments, operator (shapes of that of c10d or
--                          symm_mem), annotation, NCCL (its own ranges), instruction, or transfers:
--                          moved_bytes by the factor of its kind and group
-- algorithm_gbps  DOUBLE   size over time, GB/s
-- bus_gbps        DOUBLE   the same times the factor of its kind, GB/s; if the size is unknown,
--                          moved_bytes over time, which already includes the factor
-- group_size_source  VARCHAR  where group_size is from: arguments, NCCL (its own ranges),
--                             instruction, operator (shapes of that of c10d), ranks (those that
--                             the trace lists), cluster file, or world size: the whole job's, if
--                             nothing names a group
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
        arg_min(parts.stream, (parts.start_ns, parts.stream)) AS stream,
        arg_min(parts.name, (parts.start_ns, parts.stream, parts.name)) AS name,
        arg_min(kinds.kind, (parts.start_ns, parts.stream, parts.name)) AS kind,
        any_value(parts.program) AS program,
        any_value(parts.execution_id) AS execution_id,
        any_value(parts.process_group) AS process_group,
        any_value(parts.group_ranks) AS group_ranks,
        any_value(parts.group_size) AS group_size,
        any_value(parts.group_size_source) AS group_size_source,
        any_value(parts.sequence) AS sequence,
        any_value(parts.dtype) AS dtype,
        any_value(parts.bytes_source) AS bytes_source,
        max(parts.input_bytes) AS input_bytes,
        -- The output of the second half is only the result.
        coalesce(max(parts.output_bytes) FILTER (parts.half = 'done'), max(parts.output_bytes))
            AS output_bytes
    FROM _collective_halves AS calls
    JOIN _collective_parts AS parts USING (trace_id, device, kernel_id)
    LEFT JOIN kinds USING (trace_id, device, kernel_id)
    GROUP BY calls.trace_id, calls.device, calls.call_id
),
listed AS (
    SELECT
        communication_ops.trace_id, coalesce(traces.run, communication_ops.trace_id) AS run,
        kernel_id, comm_group,
        -- Ascend's MB are a million bytes: its packets of 0.003072 MB have 3072 bytes.
        1e6 * transit_mb AS moved_bytes
    FROM communication_ops
    JOIN traces USING (trace_id)
),
rank_groups AS (
    SELECT coalesce(traces.run, trace_id) AS run, comm_group, max(ranks) AS ranks
    FROM _cluster_groups
    JOIN traces USING (trace_id)
    GROUP BY ALL
),
transfers AS (
    SELECT
        calls.trace_id, calls.device, calls.call_id,
        sum(listed.moved_bytes) AS moved_bytes, any_value(rank_groups.ranks) AS ranks
    FROM _collective_halves AS calls
    JOIN listed ON listed.trace_id = calls.trace_id AND listed.kernel_id = calls.kernel_id
    LEFT JOIN rank_groups
        ON rank_groups.run = listed.run AND rank_groups.comm_group = listed.comm_group
    GROUP BY calls.trace_id, calls.device, calls.call_id
),
worlds AS (
    SELECT trace_id, CAST(world_size AS BIGINT) AS ranks
    FROM traces
    WHERE world_size IS NOT NULL
),
grouped AS (
    SELECT
        described.trace_id, described.device, described.call_id, stream, described.name,
        described.kind, program, execution_id, process_group, group_ranks,
        coalesce(
            group_size, length(TRY_CAST(group_ranks AS BIGINT[])), transfers.ranks, worlds.ranks
        ) AS group_size,
        CASE
            WHEN group_size IS NOT NULL THEN group_size_source
            WHEN length(TRY_CAST(group_ranks AS BIGINT[])) IS NOT NULL THEN 'ranks'
            WHEN transfers.ranks IS NOT NULL THEN 'cluster file'
            WHEN worlds.ranks IS NOT NULL THEN 'world size'
        END AS group_size_source,
        sequence, dtype, bytes_source, input_bytes, output_bytes, moved_bytes
    FROM described
    -- A message has two ranks whatever the job's size, and a named group may be part of the job.
    LEFT JOIN worlds
        ON worlds.trace_id = described.trace_id
        AND described.process_group IS NULL AND described.group_ranks IS NULL
        AND described.kind IS DISTINCT FROM 'send-recv'
    LEFT JOIN transfers
        ON transfers.trace_id = described.trace_id AND transfers.call_id = described.call_id
        AND transfers.device = described.device
),
sized AS (
    SELECT
        grouped.trace_id, device, call_id, stream, name,
        coalesce(grouped.kind, 'other-collective') AS kind, program, execution_id, process_group,
        group_ranks, group_size, group_size_source, sequence, dtype, bytes_source, moved_bytes,
        greatest(
            input_bytes * CASE WHEN formulas.input_shares THEN group_size ELSE 1 END,
            output_bytes * CASE WHEN formulas.output_shares THEN group_size ELSE 1 END
        ) AS bytes,
        formulas.scale,
        formulas.scale * CASE
            WHEN formulas.peers_only THEN (group_size - 1) / group_size
            ELSE 1
        END AS factor,
        formulas.peers_only
    FROM grouped
    LEFT JOIN collective_formulas AS formulas
        ON formulas.kind = coalesce(grouped.kind, 'other-collective')
),
worked AS (
    SELECT
        trace_id, device, call_id, stream, name, kind, program, execution_id, process_group,
        group_ranks, group_size, group_size_source, sequence, dtype, moved_bytes, scale, factor,
        CASE
            WHEN bytes IS NOT NULL THEN bytes_source
            WHEN peers_only AND factor > 0 AND moved_bytes IS NOT NULL THEN 'transfers'
        END AS bytes_source,
        coalesce(bytes, CASE WHEN peers_only THEN moved_bytes / nullif(factor, 0) END) AS bytes
    FROM sized
)
SELECT
    trace_id, traces.rank, device, worked.stream, call_id AS collective_id, worked.name,
    worked.kind, worked.program, worked.execution_id, times.operations, times.start_ns,
    times.end_ns,
    (times.end_ns - times.start_ns) / 1000.0 AS dur_us,
    times.exposed_ns / 1000.0 AS exposed_us,
    times.hidden_ns / 1000.0 AS hidden_us,
    times.idle_ns / 1000.0 AS idle_us,
    times.before_ns / 1000.0 AS before_us,
    times.computed_before_ns / 1000.0 AS computed_before_us,
    worked.process_group, worked.group_ranks, worked.group_size, worked.sequence,
    row_number() OVER (
        PARTITION BY trace_id, device, worked.process_group, worked.group_ranks, worked.program,
            worked.execution_id, CASE WHEN worked.program IS NOT NULL THEN worked.name END
        ORDER BY times.start_ns, call_id
    ) - 1 AS call_number,
    worked.dtype, worked.moved_bytes, worked.bytes, worked.bytes_source,
    CASE
        WHEN worked.scale IS NOT NULL THEN worked.bytes / nullif(times.end_ns - times.start_ns, 0)
    END AS algorithm_gbps,
    coalesce(worked.factor * worked.bytes, worked.moved_bytes)
        / nullif(times.end_ns - times.start_ns, 0) AS bus_gbps,
    worked.group_size_source
FROM worked
JOIN _collective_times AS times USING (trace_id, device, call_id)
JOIN traces USING (trace_id);
