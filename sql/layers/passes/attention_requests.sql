-- The requests that an attention serves, by the shapes of its inputs, a list of lists in the order
-- of the slots: as many as its lengths of sequences (slots 5 and 6 from 0), or as its block table
-- (slot 14) has rows; NULL if there are none of these.
CREATE MACRO attention_requests(shapes) AS coalesce(
    CASE WHEN len(shapes[6]) = 1 THEN shapes[6][1] END,
    CASE WHEN len(shapes[7]) = 1 THEN shapes[7][1] END,
    CASE WHEN len(shapes[15]) = 2 THEN shapes[15][1] END
);
