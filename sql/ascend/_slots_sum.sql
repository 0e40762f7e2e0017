-- The sum of what a list says of some slots, named by their numbers from 0 with ; between; 0 where
-- none of them is there.
CREATE MACRO _slots_sum(sizes, slots) AS coalesce(
    list_sum(
        list_transform(string_split(slots, ';'), lambda slot: sizes[TRY_CAST(slot AS BIGINT) + 1])
    ),
    0
);
