-- One row per graph launch whose stream capture is in the lake, in its own trace or another.
--
-- They match when the names of the replayed kernels, in the order of their starts, are exactly
-- those of the kernels launched while the stream was captured, in the order of launches. Copies and
-- fills do not count. If no capture has all the names, the one that shares most of them in this
-- order matches, if it shares at least nine of ten: see named_pct, and _capture_pairs for how the
-- other kernels are paired. CUDA does not name the kernels that it captures: there, a capture with
-- as many launches matches, if their operators do the work that the kernels' names show. Where
-- several captures fit equally well, the first by trace and event is given; those of the trace
-- itself, of its folder and its rank take precedence.
--
-- key: trace_id, launch_id
--
-- trace_id          VARCHAR  trace of the graph launch
-- launch_id         BIGINT   event_id of the graph launch
-- kernel_count      BIGINT   kernels that were paired
-- capture_trace_id  VARCHAR  trace of the capture
-- capture_id        BIGINT   event_id there of the call that begins the capture
-- capture_name      VARCHAR  name of that call
-- captures          BIGINT   captures in the lake that fit equally well
-- replayed_kernels  BIGINT   kernels of the launch
-- captured_kernels  BIGINT   kernels of the capture
-- renamed_kernels   BIGINT   paired by their place between others: the names differ; NULL where
--                            the capture names no kernels
-- named_pct         DOUBLE   kernels paired by name, in percent of the longer of both sequences;
--                            NULL in the same cases
-- aligned_pct       DOUBLE   kernels paired, in percent of the kernels of the launch
-- provenance        VARCHAR  where the pair comes from, in words
CREATE VIEW graph_captures AS
SELECT
    c.trace_id, c.launch_id, c.kernels AS kernel_count, c.capture_trace_id, c.capture_id,
    c.capture_name, c.captures, c.replayed_kernels, c.captured_kernels, c.renamed_kernels,
    c.named_pct, c.aligned_pct,
    format(
        '{} in the same order after {} (event {} of {}){}',
        CASE
            WHEN is_same THEN format('same {} kernel names', kernels)
            WHEN renamed_kernels IS NULL
                THEN format('as many launches, {}, without names,', kernels)
            ELSE format(
                '{} of {} kernel names, {} more by their place,',
                kernels - renamed_kernels, replayed_kernels, renamed_kernels
            )
        END,
        capture_name, capture_id, t.trace,
        if(captures > 1, format(', the first of {} such captures', captures), '')
    ) AS provenance
FROM _aligned_captures AS c
JOIN traces AS t ON t.trace_id = c.capture_trace_id;
