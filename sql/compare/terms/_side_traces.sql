-- One row per side of a comparison and trace of it: what the trace is.
--
-- side            VARCHAR    name of the side
-- trace_id        VARCHAR    trace
-- trace           VARCHAR    its name
-- run             VARCHAR    run; NULL if none was given
-- rank            INTEGER    rank in the job, NULL if unknown
-- recorded_at     TIMESTAMP  when it was recorded, UTC; NULL if unknown
-- device_name     VARCHAR    name of the device, as the profiler has it
-- hardware        VARCHAR    chip, see the table hardware
-- model           VARCHAR    model that is set; NULL if none is
-- phase           VARCHAR    prefill, decode or training; NULL if unknown
-- devices         BIGINT     devices that ran something
-- format          VARCHAR    format of the file
-- basis           VARCHAR    what its measures are taken per, see comparison_bases
-- truncated       BOOLEAN    the file ends before its end
-- rejected_count  BIGINT     events that could not be read
-- source_path     VARCHAR    the file
CREATE VIEW _side_traces AS
SELECT
    s.side, s.trace_id, s.trace, t.run, t.rank, t.recorded_at, t.device_name, t.hardware, t.model,
    p.phase, p.devices, t.format, p.basis, t.truncated, t.rejected_count, t.source_path
FROM comparison_sides AS s
JOIN traces AS t ON t.trace_id = s.trace_id
JOIN trace_programs AS p ON p.trace_id = s.trace_id;
