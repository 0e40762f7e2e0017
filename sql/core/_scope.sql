-- The prefix that distinguishes processes of several ranks in merged files: SGLang, for example,
-- puts the rank in brackets before the number of the process, `[TP01] 4711`. Empty in any other
-- file.
CREATE MACRO _scope(pid) AS if(starts_with(pid, '['), split_part(pid, ']', 1), '');
