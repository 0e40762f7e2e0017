-- One row per row of a relation of a run's ranks, with the label of its device.
--
-- `FROM _labelled('rank_steps')` with a relation that has the columns trace_id and device: all of
-- its columns follow these.
--
-- label  VARCHAR  what a chart calls the device
-- place  BIGINT   its place in the run, from 0
CREATE MACRO _labelled(relation) AS TABLE
SELECT labels.label, labels.place, own.*
FROM query_table(relation) AS own
JOIN _rank_labels AS labels ON labels.trace_id = own.trace_id AND labels.device = own.device;
