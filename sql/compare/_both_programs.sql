-- The messages of _programs_message of two traces, or sides, as one; NULL if neither has one.
--
-- before  of the first
-- after   of the second
CREATE MACRO _both_programs(before, after) AS if(
    before = after, before, nullif(concat_ws('; ', 'before, ' || before, 'after, ' || after), '')
);
