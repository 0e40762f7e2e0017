-- A shape of so many rows as text: with products side by side and their width, or with the elements
-- of a row.
CREATE MACRO _shape_text(row_count, instances, width, elements) AS
    '[' || concat_ws(
        ', ', row_count, CASE WHEN width IS NOT NULL THEN instances END,
        coalesce(width, nullif(elements, 0))
    ) || ']';
