-- One row per scenario and remark on its figures: what they leave out of its model, and
-- questionable figures of its chip.
--
-- key: scenario, remark
--
-- scenario  VARCHAR  scenario
-- remark    VARCHAR  what
CREATE VIEW scenario_remarks AS
SELECT scenario, concat('Of the model: ', remark) AS remark
FROM scenarios
JOIN model_remarks USING (model)
UNION ALL
SELECT scenario, concat('Of ', hardware, ': ', remark)
FROM scenarios
JOIN hardware_remarks USING (hardware);
