-- The token, as in the table dtypes, of what a framework calls a type of elements.
CREATE MACRO _type_token(framework_type) AS
replace(replace(lower(framework_type), 'c10::', ''), ' int', '');
