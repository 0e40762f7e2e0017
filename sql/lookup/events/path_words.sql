-- One row per word of a framework path that is no scope of the user's program.
-- word     VARCHAR  the word, or the name of a transformation as in word(scope); the key
-- role     VARCHAR  unwrap: a transformation, the scope is what is inside; show_inside: the same
--                   where a path is shown, not where time is summed; drop: a layer of the
--                   compiler or runtime, without a meaning of its own
-- comment  VARCHAR  what it is
CREATE TABLE path_words (
    word VARCHAR PRIMARY KEY,
    role VARCHAR NOT NULL,
    comment VARCHAR
);
