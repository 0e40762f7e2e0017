-- One row per trace of a star schema: where it is from, and what it ran.
--
-- Keys count the traces in the order of their ids, whatever order they were ingested in. They are
-- valid within one export: an additional trace shifts those after it. Across exports, trace_id
-- identifies a trace.
--
-- key: trace_key
--
-- trace_key    INTEGER    key, from 1
-- trace_id     VARCHAR    trace: first 16 hexadecimal digits of the XXH3-128 of its content
-- trace        VARCHAR    name
-- run          VARCHAR    run it belongs to, NULL if not set
-- rank         INTEGER    rank in the job, NULL if unknown
-- world_size   INTEGER    ranks in the job, NULL if unknown
-- model        VARCHAR    model, NULL if not set
-- profile      VARCHAR    profile that finds the layers, NULL if none
-- num_layers   INTEGER    layers of the model, NULL if unknown
-- hardware     VARCHAR    key of its hardware in the table hardware, NULL if unknown
-- device_name  VARCHAR    name of its first device, as the profiler prints it
-- vendor       VARCHAR    nvidia, amd, huawei or google; NULL if unknown
-- format       VARCHAR    kineto, jax, ascend, nsys, rocpd or chrome
-- tp           INTEGER    degree of tensor parallelism, NULL if unknown
-- ep           INTEGER    degree of expert parallelism, NULL if unknown
-- dp           INTEGER    degree of data parallelism, NULL if unknown
-- pp           INTEGER    degree of pipeline parallelism, NULL if unknown
-- recorded_at  TIMESTAMP  time of its first event, UTC; see recorded_at_source of traces
-- recorded_at_source  VARCHAR  source of recorded_at: user, clock, name or file
-- start_ns     BIGINT     the same on the file's clock, ns
-- end_ns       BIGINT     end of its last event on that clock, ns
-- end_at       TIMESTAMP  when that was, UTC
-- event_count  BIGINT     events stored
-- truncated    BOOLEAN    the file ends before its end
-- source_path  VARCHAR    the file it was read from
-- ingested_at  TIMESTAMP  when it was read, UTC
CREATE VIEW dim_trace AS
SELECT
    CAST(row_number() OVER (ORDER BY trace_id) AS INTEGER) AS trace_key,
    trace_id, trace, run, rank, world_size, model, profile, num_layers, hardware, device_name,
    vendor, format, tp, ep, dp, pp, recorded_at, recorded_at_source, start_ns, end_ns,
    _moment(recorded_at, _clock_ns(recorded_at_source, base_time_ns, start_ns), end_ns) AS end_at,
    event_count, truncated, source_path, ingested_at
FROM traces;
