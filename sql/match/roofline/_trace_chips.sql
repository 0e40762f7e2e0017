-- One row per trace: its model and its chip, for a report's title.
-- trace          VARCHAR  name of the trace
-- trace_id       VARCHAR  trace
-- model          VARCHAR  model as set
-- hardware       VARCHAR  key of the table hardware
-- hardware_name  VARCHAR  the chip's full name
-- vendor         VARCHAR  nvidia, amd, huawei or google
-- tp             INTEGER  degree of tensor parallelism
CREATE VIEW _trace_chips AS
SELECT t.trace, t.trace_id, t.model, t.hardware, h.name AS hardware_name, h.vendor, t.tp
FROM traces AS t
LEFT JOIN hardware AS h ON h.hardware = t.hardware;
