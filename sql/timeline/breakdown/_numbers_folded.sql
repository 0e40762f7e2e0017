-- A name or path with # for each number that counts: one that no letter touches, or that follows
-- layer, block, step, iter, iteration or batch directly. So layers.3, Linear_3 and block3 are
-- layers.#, Linear_# and block#; fc1, conv2d and all2all, whose number is a part of the name, stay.
-- PyTorch's pipelines name an action by its stage and micro-batch: PP:0F3 is PP:#F#.
--
-- A match takes the separators on both sides, so that of neighbours (0.1) the second is found by
-- the second run.
CREATE MACRO _numbers_folded(name) AS
regexp_replace(
    regexp_replace(
        regexp_replace(name, 'PP:\d+([A-Z_]+)\d*', 'PP:#\1#', 'g'),
        '(?i)(^|[^\pL\d]|layers?|blocks?|step|iter|iteration|batch)\d+($|[^\pL\d])', '\1#\2', 'g'
    ),
    '(?i)(^|[^\pL\d]|layers?|blocks?|step|iter|iteration|batch)\d+($|[^\pL\d])', '\1#\2', 'g'
);
