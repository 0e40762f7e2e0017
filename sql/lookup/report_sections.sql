-- One row per section of a model report: its heading and the prose that it opens with.
--
-- section  VARCHAR  place in the report, numbers with points between; the key
-- title    VARCHAR  heading
-- prose    VARCHAR  opening; facts of report_facts in braces, paragraphs parted by a bar
-- items    VARCHAR  list below it, items parted by a bar; NULL: none
CREATE TABLE report_sections (
    section VARCHAR PRIMARY KEY,
    title VARCHAR NOT NULL,
    prose VARCHAR NOT NULL,
    items VARCHAR
);
