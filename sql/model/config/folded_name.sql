-- A name of a model as it is compared: in lower case, without an organisation before a slash, and
-- with one dash for what is neither letter nor digit.
CREATE MACRO folded_name(name) AS
trim(regexp_replace(lower(regexp_extract(name, '[^/]*$')), '[^a-z0-9]+', '-', 'g'), '-');
