-- The category of hlo_categories that an operation of XLA has: its own, but what the host sends and
-- receives in a trace of several slices is a transfer between them, see multislice_traces.
CREATE MACRO hlo_category_of(hlo_category, is_multislice) AS
if(is_multislice, replace(hlo_category, 'host ', ''), hlo_category);
