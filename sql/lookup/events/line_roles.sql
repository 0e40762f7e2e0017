-- One row per rule for what a line of a trace (a thread of a process) shows; the match of lowest
-- priority applies.
--
-- priority         INTEGER  order of evaluation, lowest first; the key
-- process_pattern  VARCHAR  regular expression (RE2) that the process name contains
-- thread_pattern   VARCHAR  regular expression (RE2) that the thread name contains
-- role             VARCHAR  operation, module, step, async, annotation, counter, summary,
--                           collective, detail, call or host
-- comment          VARCHAR  which profiler writes such a line
-- unless_pattern   VARCHAR  regular expression (RE2): the rule does not apply in a process with a
--                           thread whose name contains it; NULL: it always applies
CREATE TABLE line_roles (
    priority INTEGER PRIMARY KEY,
    process_pattern VARCHAR NOT NULL,
    thread_pattern VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    comment VARCHAR,
    unless_pattern VARCHAR
);
