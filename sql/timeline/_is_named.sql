-- How well a name fits what is sought: 2 the same whatever its case, 1 it holds that, 0 not.
CREATE MACRO _is_named(name, sought) AS CASE
    WHEN lower(name) = lower(trim(sought)) THEN 2
    WHEN contains(lower(name), lower(trim(sought))) THEN 1
    ELSE 0
END;
