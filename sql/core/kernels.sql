-- One row per device operation: kernels, copies and fills, each once; what does not count is in
-- kernel_duplicates and offloaded_operations.
--
-- key: trace_id, kernel_id
--
-- trace_id         VARCHAR  trace
-- rank             INTEGER  rank in the job, NULL if unknown
-- device           INTEGER  device it ran on
-- stream           BIGINT   stream it ran on
-- kernel_id        BIGINT   event_id of the operation
-- start_ns         BIGINT   start in ns on the file's clock
-- dur_ns           BIGINT   duration, ns
-- dur_us           DOUBLE   duration, µs
-- end_ns           BIGINT   end, ns
-- name             VARCHAR  full name
-- display_name     VARCHAR  name without insignificant parts, by name_rules
-- op_type          VARCHAR  op type, for Ascend
-- core             VARCHAR  accelerator core or task type, for Ascend
-- category         VARCHAR  category: XLA's own, else by the operator that launched it
--                           (op_category_rules), else by the name (category_rules); other when no
--                           rule fits
-- kind             VARCHAR  compute, communication or memory
-- category_source  VARCHAR  what decided: hlo, operator, op_type (of Ascend) or name; NULL for
--                           other
-- name_category    VARCHAR  category by the name alone
-- is_contradicted  BOOLEAN  name and operator contradict each other, see category_conflicts
-- launch_id        BIGINT   event_id of the host call that launched it, NULL if the trace does
--                           not show it
-- launch_kernels   BIGINT   operations launched by the same call; above 1 for graphs
-- launch_ns        BIGINT   start of that call, ns
-- launch_pid       VARCHAR  process of that call
-- launch_tid       VARCHAR  thread of that call
-- issued_by        BIGINT   event_id of the host event that issued it: its operator, if that runs
--                           on another thread than the launch, as with torch_npu's task queue, or
--                           the launch is unknown; else launch_id
-- issued_ns        BIGINT   start of that event, ns; it decides what the operation belongs to on
--                           the host: steps, modules, annotations
-- issued_pid       VARCHAR  process of that event
-- issued_tid       VARCHAR  thread of that event
-- correlation      BIGINT   id shared with the launch
-- op_id            BIGINT   event_id of the framework operator that caused it, NULL if not shown
-- op_name          VARCHAR  name of that operator
-- input_dims       VARCHAR  shapes of its own inputs if it has them, else of the operator's,
--                           JSON
-- input_types      VARCHAR  types of the same inputs, JSON
CREATE VIEW kernels AS
SELECT
    trace_id, traces.rank, device, stream, kernel_id, _kernels.start_ns, dur_ns,
    dur_ns / 1000.0 AS dur_us,
    _kernels.end_ns, name, display_name, op_type, core, category, kind, category_source,
    name_category, is_contradicted, launch_id, launch_kernels, launch_ns, launch_pid, launch_tid,
    coalesce(issued_by, launch_id) AS issued_by, coalesce(issued_ns, launch_ns) AS issued_ns,
    coalesce(issued_pid, launch_pid) AS issued_pid, coalesce(issued_tid, launch_tid) AS issued_tid,
    correlation, op_id, op_name, input_dims, input_types
FROM _kernels
JOIN traces USING (trace_id);
