-- Whether the name of an operation of XLA shows its work, and not its hlo_category, which only says
-- that a back end wraps something: always for such a category, or for the names that it lists,
-- without their numbers.
CREATE MACRO names_its_work(is_wrapper, wrapped_names, name) AS
is_wrapper AND coalesce(
    list_contains(string_split(wrapped_names, ';'), split_part(ltrim(trim(name), '%'), '.', 1)),
    TRUE
);
