-- Whether the reference takes a scope for one of the runtime: by words that it equals, begins with
-- or contains, whoever wrote it.
CREATE MACRO _compat_drops(scope) AS
regexp_matches(
    trim(regexp_replace(lower(scope), '[^a-z0-9_]+', '_', 'g'), '_'),
    '^$|^(xla|xla_ops|xla_modules|xla_traceme|xla_trace_me|pallas_call|shard_map|call|execute'
    || '|launch|tpu_launch)$|^(pjrt|xla_|tpu_|stream_executor)|launch|execute|thunk|runtime'
);
