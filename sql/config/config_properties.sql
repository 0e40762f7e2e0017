-- One row per property that a config.json may give, with its names there.
--
-- key: field
--
-- field  VARCHAR    property, as in config_names
-- names  VARCHAR[]  its names, the first that is present applies
CREATE VIEW config_properties AS
SELECT field, list(name ORDER BY priority) AS names
FROM config_names
GROUP BY field;
