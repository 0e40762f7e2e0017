-- One row per word of a framework path that is not a scope of the user's program.
-- word     VARCHAR  the word, or the name of a transformation as in word(scope); the key
-- role     VARCHAR  unwrap: a transformation, the scope is inside it; show_inside: the same when a
--                   path is shown, not when time is summed; drop: a layer of the compiler or
--                   runtime, without its own meaning
-- comment  VARCHAR  what it is
CREATE TABLE path_words (
    word VARCHAR PRIMARY KEY,
    role VARCHAR NOT NULL,
    comment VARCHAR
);
