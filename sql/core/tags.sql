-- One row per setting of a trace, the user's own tags included.
--
-- key: trace_id, key
--
-- trace_id  VARCHAR  trace
-- key       VARCHAR  name of the setting or tag
-- value     VARCHAR  its value
CREATE VIEW tags AS
SELECT trace_id, key, value
FROM _settings;
