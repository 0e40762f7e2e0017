-- One row per kind of unit that runs an Ascend task, as tables of kernels (accelerator core) and
-- timelines (task type) spell it; the match of lowest priority applies.
--
-- priority        INTEGER  order of evaluation, lowest first; the key
-- pattern         VARCHAR  pattern for the whole word, ignoring case; * matches anything
-- core_group      VARCHAR  cube, vector, aicpu, dsa, dvpp, communication, memory, control, other or
--                          unknown; control tasks are not kernels
-- of_collectives  BOOLEAN  collectives are made of such tasks
-- comment         VARCHAR  what it is
CREATE TABLE ascend_cores (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    core_group VARCHAR NOT NULL,
    of_collectives BOOLEAN NOT NULL,
    comment VARCHAR
);
