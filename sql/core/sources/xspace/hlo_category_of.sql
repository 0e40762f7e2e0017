-- The category of hlo_categories that an operation of XLA has: its own, but what the host sends and
-- receives in a trace of several slices is a transfer between them, unless a callback of the
-- program does (callbacks of multislice_traces, NULL for other traces).
CREATE MACRO hlo_category_of(hlo_category, callbacks, name, instruction) AS
CASE
    WHEN
        callbacks IS NOT NULL AND starts_with(hlo_category, 'host ')
        AND NOT list_contains(callbacks, collective_start(name, instruction))
        THEN replace(hlo_category, 'host ', '')
    ELSE hlo_category
END;
