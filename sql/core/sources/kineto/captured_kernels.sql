-- One row per kernel that a graph replayed, with its operator and modules from the graph's capture;
-- see graph_captures for the pairing.
--
-- Where several captures fit equally well, as those of one model for several batch sizes may, a
-- column has a value only if all captures that have one agree. Captures of the trace itself, of its
-- folder and its rank take precedence.
--
-- others: _capture_links
--
-- key: trace_id, kernel_id
--
-- trace_id           VARCHAR  trace of the kernel
-- kernel_id          BIGINT   event_id of the kernel
-- capture_trace_id   VARCHAR  trace of the capture, the first of several
-- capture_launch_id  BIGINT   event_id there of the launch that was captured
-- op_name            VARCHAR  name of the innermost operator around that launch
-- input_dims         VARCHAR  shapes of the operator's inputs, JSON
-- input_types        VARCHAR  types of the operator's inputs, JSON
-- module             VARCHAR  name of the innermost frame of a module around that launch, beginning
--                             with nn.Module; NULL if the thread has none
-- module_path        VARCHAR  names of all modules running then, the outermost first, with /
--                             between; a layer's module is one of them
-- captures           BIGINT   captures in the lake that fit equally well
-- source             VARCHAR  where the operator, its inputs and the modules are from: capture
-- is_renamed         BOOLEAN  the kernel has another name in the capture and is matched by its
--                             place between others
CREATE VIEW captured_kernels AS
WITH launches AS (
    SELECT
        pairs.trace_id,
        pairs.sequence,
        pairs.position,
        min_by(seen.trace_id, row(seen.trace_id, seen.capture_id)) AS capture_trace_id,
        min_by(seen.launch_id, row(seen.trace_id, seen.capture_id)) AS capture_launch_id,
        if(min(op_name) = max(op_name), min(op_name), NULL) AS op_name,
        if(min(input_dims) = max(input_dims), min(input_dims), NULL) AS input_dims,
        if(min(input_types) = max(input_types), min(input_types), NULL) AS input_types,
        if(min(module) = max(module), min(module), NULL) AS module,
        if(min(module_path) = max(module_path), min(module_path), NULL) AS module_path,
        count(*) AS captures,
        bool_or(is_renamed) AS is_renamed
    FROM _capture_pairs AS pairs
    JOIN _capture_links AS links
        ON
            links.trace_id = pairs.trace_id AND links.sequence = pairs.sequence
            AND links.other_sequence = pairs.capture_sequence
    JOIN _capture_launches AS seen
        ON
            seen.trace_id = links.other_trace_id AND seen.sequence = pairs.capture_sequence
            AND seen.position = pairs.capture_position
    GROUP BY pairs.trace_id, pairs.sequence, pairs.position
)
SELECT
    replays.trace_id,
    replays.kernel_id,
    launches.capture_trace_id,
    launches.capture_launch_id,
    launches.op_name,
    launches.input_dims,
    launches.input_types,
    launches.module,
    launches.module_path,
    launches.captures,
    'capture' AS source,
    launches.is_renamed
FROM _capture_replays AS replays
JOIN launches USING (trace_id, sequence, position);
