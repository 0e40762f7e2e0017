-- The name by which an operation is listed: instances are one operation if the compiler marks them,
-- not if only their numbers differ.
CREATE MACRO _shared_name(name, canonical_name, dedup_name, hlo_category) AS if(
    hlo_category IS NULL AND regexp_replace(ltrim(name, '%'), '\.\d+$', '') = canonical_name,
    name, dedup_name
);
