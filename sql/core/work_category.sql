-- The category that shows whether a kernel does the work of the operator that launched it or only
-- helps: by its name, if a rule matches the name and the operator does not contradict it.
CREATE MACRO work_category(category, category_source, name_category, is_contradicted) AS
CASE
    WHEN category_source = 'operator' AND NOT is_contradicted AND name_category <> 'other'
        THEN name_category
    ELSE category
END;
