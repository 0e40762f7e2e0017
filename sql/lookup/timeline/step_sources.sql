-- One row per kind of evidence for the steps of a trace. If there are several, a step line wins,
-- then the one with the most steps, then the lowest priority; optimizer steps are used only if
-- there is no other. Steps within others that leave out much of their work are parts of them, and
-- do not win: rollouts in an iteration of reinforcement learning (also in one that only optimizer
-- steps show), micro-batches in a training step.
--
-- step_source  VARCHAR  source of the steps; the key
-- priority     INTEGER  order of choice
-- warm_up      INTEGER  first steps of a program that are left out of its figures, at most half of
--                       its steps; warm_up_steps of the trace overrides it
-- comment      VARCHAR  what it is
CREATE TABLE step_sources (
    step_source VARCHAR PRIMARY KEY,
    priority INTEGER NOT NULL,
    warm_up INTEGER NOT NULL,
    comment VARCHAR
);
