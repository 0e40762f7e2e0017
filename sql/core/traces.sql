-- One row per trace in the lake: what its file says, and over it what the user said of it.
--
-- Held in memory.
--
-- trace_id          VARCHAR    first 16 hexadecimal digits of the XXH3-128 of the file's
--                              decompressed content
-- trace             VARCHAR    name: the file's, unless the user gave one
-- run               VARCHAR    the run it belongs to, as the user said
-- rank              INTEGER    rank in the job, NULL when unknown
-- rank_source       VARCHAR    where the rank is from: user, distributedInfo, file name, unknown
-- format            VARCHAR    kineto, jax, ascend or chrome
-- source_path       VARCHAR    the file it was read from
-- device_name       VARCHAR    name of the first device, as the profiler prints it
-- vendor            VARCHAR    nvidia, amd, huawei or google; NULL when unknown
-- hardware          VARCHAR    key of the table hardware, NULL when unknown
-- hardware_match    VARCHAR    how it was found: user, name, properties, or none
-- model             VARCHAR    model, as the user said
-- profile           VARCHAR    profile that finds the layers: the user's, or the one the model's
--                              config calls for
-- num_layers        INTEGER    layers of the model: the user's, or the config's num_hidden_layers
-- tp                INTEGER    degree of tensor parallelism, NULL when unknown
-- ep                INTEGER    degree of expert parallelism, NULL when unknown
-- dp                INTEGER    degree of data parallelism, NULL when unknown
-- pp                INTEGER    degree of pipeline parallelism, NULL when unknown
-- tp_rank           INTEGER    place along the tensor-parallel axis, from the file's name
-- ep_rank           INTEGER    place along the expert-parallel axis, from the file's name
-- dp_rank           INTEGER    place along the data-parallel axis, from the file's name
-- pp_rank           INTEGER    place along the pipeline-parallel axis, from the file's name
-- world_size        INTEGER    ranks in the job, NULL when unknown
-- origin_ns         BIGINT     start of the first event that is neither metadata nor a flow, in ns:
--                              Perfetto's zero
-- start_ns          BIGINT     the same
-- end_ns            BIGINT     end of the last such event, in ns
-- base_time_ns      BIGINT     ns since 1970 at the file's time 0, where the file says so
-- event_count       BIGINT     events stored
-- rejected_count    BIGINT     events of the file that could not be stored
-- repaired_count    BIGINT     events stored after their text was mended
-- unmatched_count   BIGINT     begin or end events without a partner
-- truncated         BOOLEAN    the file ends before its end
-- samples           VARCHAR    some rejected and repaired events with the reason, JSON
-- anchor            VARCHAR    regular expression for the anchor kernel, as the user said
-- anchor_role       VARCHAR    begin, inside or end, as the user said
-- blocks_per_layer  INTEGER    anchors in one layer, as the user said
-- dedup             VARCHAR    tracelake, seed or none: which rows of an Ascend trace count, as the
--                              user said; NULL is tracelake
-- config            VARCHAR    the model's config.json, as the user gave it
-- metadata          VARCHAR    what is kept of the file's own keys, JSON
-- source_bytes      BIGINT     size of the file, bytes
-- source_sha256     VARCHAR    SHA-256 of the file as given
-- content_bytes     BIGINT     size of the decompressed content, bytes
-- content_xxh3      VARCHAR    XXH3-128 of the decompressed content
-- ingested_at       TIMESTAMP  when it was read, UTC
-- ingested_by       VARCHAR    which version read it
CREATE VIEW traces AS
WITH identified AS (
    SELECT
        trace_id,
        coalesce(said.hardware, _hardware_matches.hardware) AS hardware,
        CASE
            WHEN said.hardware IS NOT NULL THEN 'user'
            ELSE coalesce(_hardware_matches.hardware_match, 'none')
        END AS hardware_match
    FROM _catalog
    LEFT JOIN _said AS said USING (trace_id)
    LEFT JOIN _hardware_matches USING (trace_id)
)
SELECT
    trace_id,
    coalesce(said.trace, found.trace) AS trace,
    said.run,
    coalesce(said.rank, found.rank) AS rank,
    CASE WHEN said.rank IS NOT NULL THEN 'user' ELSE found.rank_source END AS rank_source,
    found.format,
    found.source_path,
    found.device_name,
    coalesce(
        hardware.vendor,
        CASE
            WHEN found.format = 'ascend' THEN 'huawei'
            WHEN found.format = 'jax' AND found.device_name = 'TPU' THEN 'google'
            WHEN regexp_matches(found.metadata, '"(hip|roctracer|rocprofiler)_') THEN 'amd'
            WHEN regexp_matches(found.metadata, '"(cuda|cupti)_') THEN 'nvidia'
        END
    ) AS vendor,
    identified.hardware,
    identified.hardware_match,
    said.model,
    coalesce(said.profile, _configs.profile) AS profile,
    coalesce(said.num_layers, _configs.num_layers) AS num_layers,
    coalesce(said.tp, found.tp) AS tp,
    coalesce(said.ep, found.ep) AS ep,
    coalesce(said.dp, found.dp) AS dp,
    coalesce(said.pp, found.pp) AS pp,
    found.tp_rank,
    found.ep_rank,
    found.dp_rank,
    found.pp_rank,
    found.world_size,
    found.origin_ns,
    found.start_ns,
    found.end_ns,
    found.base_time_ns,
    found.event_count,
    found.rejected_count,
    found.repaired_count,
    found.unmatched_count,
    found.truncated,
    found.samples,
    said.anchor,
    said.anchor_role,
    said.blocks_per_layer,
    said.dedup,
    said.config,
    found.metadata,
    found.source_bytes,
    found.source_sha256,
    found.content_bytes,
    found.content_xxh3,
    found.ingested_at,
    found.ingested_by
FROM _catalog AS found
JOIN identified USING (trace_id)
LEFT JOIN _said AS said USING (trace_id)
LEFT JOIN _configs USING (trace_id)
LEFT JOIN hardware ON hardware.hardware = identified.hardware;
