-- One row per part of a model report's model: its parameters.
--
-- part               VARCHAR  part of the model
-- parameters         HUGEINT  parameters
-- parameters_pct     DOUBLE   their share, %
-- active_parameters  HUGEINT  those used by one token
CREATE VIEW _report_parts AS
SELECT
    part, sum(parameters) AS parameters, sum(parameters_pct) AS parameters_pct,
    sum(active_parameters) AS active_parameters
FROM parameters
JOIN _report_workload USING (model)
GROUP BY part;
