-- One row per setting of a trace: what the user said of it, tags of the user's own among them.
-- trace_id  VARCHAR  trace
-- key       VARCHAR  name of the setting or tag
-- value     VARCHAR  its value
CREATE VIEW tags AS
SELECT trace_id, key, value
FROM _settings;
