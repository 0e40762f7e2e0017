-- One row per trace with the given name or id.
--
-- `FROM _named_traces(trace)`.
--
-- trace_id  VARCHAR  trace
CREATE MACRO _named_traces(of_trace) AS TABLE
SELECT trace_id FROM traces WHERE of_trace IN (trace, trace_id);
