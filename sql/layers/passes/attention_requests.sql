-- The number of requests that an attention serves, by the shapes of its inputs, a list of lists in
-- slot order: the number of its sequence lengths (slots 5 and 6 from 0), or of rows of its block
-- table (slot 14); NULL if it has neither.
CREATE MACRO attention_requests(shapes) AS coalesce(
    CASE WHEN len(shapes[6]) = 1 THEN shapes[6][1] END,
    CASE WHEN len(shapes[7]) = 1 THEN shapes[7][1] END,
    CASE WHEN len(shapes[15]) = 2 THEN shapes[15][1] END
);
