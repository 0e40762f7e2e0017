-- One row per device operation of a trace that shows several models, or calls of one: the series of
-- passes that it may belong to. The host, graphs or alternation show the models.
-- trace_id   VARCHAR  trace
-- device     INTEGER  device
-- kernel_id  BIGINT   the operation
-- series     VARCHAR  name of the model, empty where there is one alone; NULL: none of the models
-- call_ns    BIGINT   start of the outermost module's call that launched it, or of compiled code's;
--                     NULL if unknown
-- module     VARCHAR  that module
CREATE VIEW _kernel_series AS
SELECT c.trace_id, c.device, c.kernel_id, c.series, c.call_ns, c.module
FROM _called_kernels AS c
ANTI JOIN _turned_kernels AS t ON t.trace_id = c.trace_id AND t.kernel_id = c.kernel_id
UNION ALL
SELECT trace_id, device, kernel_id, series, call_ns, module
FROM _turned_kernels;
