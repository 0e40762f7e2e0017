-- A model name normalised for comparison: in lower case, without an organisation before a slash,
-- and with one dash for anything but letters and digits.
CREATE MACRO folded_name(name) AS
trim(regexp_replace(lower(regexp_extract(name, '[^/]*$')), '[^a-z0-9]+', '-', 'g'), '-');
