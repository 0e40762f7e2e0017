-- One row per distinct name of a device operation in the star; row 0 stands for an absent
-- operation, such as one before a gap that the trace does not show.
--
-- key: kernel_name_key
--
-- kernel_name_key  INTEGER  key, from 1 in the order of the names; 0 if there is none
-- name             VARCHAR  full name
-- display_name     VARCHAR  name without insignificant parts, by name_rules
CREATE VIEW dim_kernel_name AS
WITH names AS (
    SELECT name, min(display_name) AS display_name
    FROM kernels
    WHERE name IS NOT NULL
    GROUP BY name
)
SELECT
    CAST(row_number() OVER (ORDER BY name) AS INTEGER) AS kernel_name_key, name, display_name
FROM names
UNION ALL
SELECT 0, '(none)', '(none)';
