-- One row per Ascend trace whose rows all belong to one device.
--
-- rows: of ascend traces
--
-- trace_id  VARCHAR  trace
-- device    INTEGER  the device
CREATE VIEW _ascend_devices AS
SELECT trace_id, min(device) AS device
FROM _ascend_rows
GROUP BY trace_id
HAVING min(device) = max(device);
