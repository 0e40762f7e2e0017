-- The name of the scenario that a forward pass is.
CREATE MACRO _pass_scenario(trace_id, rank, device, pass_id) AS
concat_ws('/', trace_id, coalesce(rank, 0), coalesce(device, 0), pass_id);
