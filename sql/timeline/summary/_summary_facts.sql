-- One row per trace: what a summary shows first.
-- trace_id        VARCHAR  trace
-- trace           VARCHAR  its name
-- run             VARCHAR  run that it is a part of
-- rank            INTEGER  rank in the job, NULL if unknown
-- world_size      INTEGER  ranks of the job
-- format          VARCHAR  kineto, jax, ascend, ...
-- source_path     VARCHAR  its file; NULL if read from standard input
-- device_name     VARCHAR  device as the profiler prints it
-- hardware        VARCHAR  key of the table hardware
-- model           VARCHAR  model as set
-- tp              INTEGER  degree of tensor parallelism
-- ep              INTEGER  degree of expert parallelism
-- dp              INTEGER  data-parallel replicas
-- pp              INTEGER  pipeline stages
-- source_sha256   VARCHAR  SHA-256 of the file as given
-- content_xxh3    VARCHAR  XXH3-128 of its decompressed content
-- event_count     BIGINT   events stored
-- rejected_count  BIGINT   events of the file that could not be read
-- truncated       BOOLEAN  the file is cut off
-- devices         BIGINT   devices with operations; NULL if there are none
-- window_us       DOUBLE   window that all devices share
-- device_time_us  DOUBLE   time of all devices
CREATE VIEW _summary_facts AS
SELECT
    t.trace_id, t.trace, t.run, t.rank, t.world_size, t.format, t.source_path, t.device_name,
    t.hardware, t.model, t.tp, t.ep, t.dp, t.pp, t.source_sha256, t.content_xxh3, t.event_count,
    t.rejected_count, t.truncated, b.devices, b.window_us, b.device_time_us
FROM traces AS t
LEFT JOIN _trace_times AS b ON b.trace_id = t.trace_id;
