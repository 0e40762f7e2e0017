-- One row per section of a model report by the formulas of the reference report.
--
-- instead of: compat.report_sections
--
-- section  VARCHAR  place in the report, numbers with points between; the key
-- title    VARCHAR  heading
-- prose    VARCHAR  opening; facts of report_facts in braces, paragraphs parted by a bar
-- items    VARCHAR  list below it, items parted by a bar; NULL: none
CREATE VIEW _compat_shown_sections AS
SELECT section, title, coalesce(c.prose, s.prose) AS prose, items
FROM report_sections AS s
LEFT JOIN compat_report_sections AS c USING (section);
