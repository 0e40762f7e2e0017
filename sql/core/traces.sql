-- One row per trace with a model's config.json: the fields of it that every subject needs.
--
-- Multimodal models have these fields one level down, under text_config, which takes precedence.
CREATE VIEW _configs AS
WITH configs AS (
    SELECT trace_id, config, json_extract(config, '$.text_config') AS text_config
    FROM _trace_settings
    WHERE json_valid(config)
),
called_for AS (
    SELECT
        trace_id,
        profile,
        priority,
        coalesce(
            json_extract(config, '$.' || config_field),
            json_extract(text_config, '$.' || config_field)
        ) AS field,
        coalesce(config ->> '$.model_type', text_config ->> '$.model_type') AS model_type,
        model_types
    FROM configs CROSS JOIN profiles
),
chosen AS (
    SELECT trace_id, arg_min(profile, priority) AS profile
    FROM called_for
    WHERE
        (field IS NOT NULL AND CAST(field AS VARCHAR) NOT IN ('null', '0', '[]', 'false', '""'))
        OR list_contains(string_split(model_types, ','), model_type)
    GROUP BY trace_id
)
SELECT
    trace_id,
    TRY_CAST(
        coalesce(text_config ->> '$.num_hidden_layers', config ->> '$.num_hidden_layers') AS INTEGER
    ) AS num_layers,
    chosen.profile
FROM configs
LEFT JOIN chosen USING (trace_id);

-- One row per trace whose device is known: by its name, or where the profiler prints none, by its
-- properties.
--
-- A part of a chip, which its name or properties show, has less than the chip's peaks: an instance
-- of MIG, a partition of an AMD accelerator.
CREATE VIEW _hardware_matches AS
WITH shown AS (
    SELECT
        trace_id, device_name, compute_major, compute_minor, num_sms, memory_bytes,
        TRY_CAST(metadata ->> '$.planes[0].clock_rate' AS DOUBLE) AS shown_khz,
        TRY_CAST(metadata ->> '$.planes[0].memory_bandwidth' AS DOUBLE) AS shown_bandwidth
    FROM _catalog
),
candidates AS (
    SELECT
        trace_id,
        hardware.hardware,
        coalesce(found.num_sms = hardware.num_sms, FALSE) AS has_its_sms,
        CASE
            WHEN
                regexp_matches(lower(found.device_name), hardware.device_pattern)
                AND (
                    contains(hardware.device_pattern, 'mig')
                    OR NOT regexp_matches(lower(found.device_name), '\bmig\b')
                )
                AND coalesce(found.num_sms NOT BETWEEN 1 AND 0.9 * hardware.num_sms, TRUE)
                AND coalesce(
                    found.memory_bytes NOT BETWEEN 1 AND 0.9 * hardware.memory_bytes_min, TRUE
                )
                THEN 'name'
            WHEN
                coalesce(found.device_name, '') IN ('', 'GPU', 'AMD Radeon Graphics')
                AND found.compute_major = hardware.compute_major
                AND found.compute_minor = hardware.compute_minor
                AND found.num_sms = hardware.num_sms
                AND found.memory_bytes BETWEEN memory_bytes_min AND memory_bytes_max
                AND (clock_mhz IS NULL OR abs(shown_khz / 1e3 - clock_mhz) <= 20)
                -- With AMD's clocks, XLA's profiler shows half of the bandwidth.
                AND (
                    hardware.vendor <> 'nvidia' OR shown_bandwidth IS NULL
                    OR abs(shown_bandwidth / (hbm_gbps * 1e9) - 1) <= 0.025
                )
                THEN 'properties'
        END AS hardware_match
    FROM shown AS found CROSS JOIN hardware
)
SELECT trace_id, min(hardware) AS hardware, min(hardware_match) AS hardware_match
FROM (
    -- Multiprocessors distinguish two parts with one name (MI250X / MI250).
    SELECT trace_id, hardware, hardware_match
    FROM candidates
    WHERE hardware_match IS NOT NULL
    QUALIFY has_its_sms = max(has_its_sms) OVER (PARTITION BY trace_id)
)
GROUP BY trace_id
-- If two parts cannot be distinguished, the hardware is unknown.
HAVING count(*) = 1;

-- One row per trace: when it was recorded, as far as the file and its name show it.
--
-- A clock that counts from 1970 shows a date in this century; one that counts from boot or from the
-- start of the trace does not.
CREATE VIEW _recorded AS
WITH found AS (
    SELECT
        trace_id, source_mtime_ns,
        coalesce(base_time_ns, 0) + CAST(coalesce(start_ns, 0) AS HUGEINT) AS clock_ns,
        regexp_extract(
            names,
            concat(
                '(?:^|\D)(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])',
                '(?:[-_.T ]?([01]\d|2[0-3])[-_.:]?([0-5]\d)[-_.:]?([0-5]\d)[.]?(\d{3})?)?(?:\D|$)'
            ),
            ['year', 'month', 'day', 'hour', 'minute', 'second', 'ms']
        ) AS named,
        -- A profiler's own name: seconds, milliseconds, microseconds or nanoseconds since 1970.
        regexp_extract(
            names, '(?:^|\D)(1[5-9]\d{8})(\d{9}|\d{6}|\d{3})?(?:\D|$)', ['seconds', 'rest']
        ) AS counted
    FROM (
        SELECT
            trace_id, source_mtime_ns, base_time_ns, start_ns,
            concat_ws(
                ' ', coalesce(settings.trace, found.trace),
                coalesce(settings.run, found.metadata ->> '$.places.run.value')
            ) AS names
        FROM _catalog AS found
        LEFT JOIN _trace_settings AS settings USING (trace_id)
    )
)
SELECT
    trace_id,
    CASE
        WHEN clock_ns BETWEEN 946684800000000000 AND 4102444800000000000
            THEN make_timestamp(CAST(clock_ns // 1000 AS BIGINT))
    END AS by_clock,
    coalesce(
        make_timestamp(
            TRY_CAST(
                nullif(counted.seconds, '') || rpad(counted.rest, 6, '0')[:6] AS BIGINT
            )
        ),
        TRY_CAST(
            concat_ws('-', named.year, named.month, named.day)
            || CASE
                WHEN named.hour <> ''
                    THEN
                        concat(
                            ' ', concat_ws(':', named.hour, named.minute, named.second),
                            '.', rpad(named.ms, 3, '0')
                        )
                ELSE ''
            END AS TIMESTAMP
        )
    ) AS by_name,
    make_timestamp(source_mtime_ns // 1000) AS by_file
FROM found;

-- One row per trace in the lake: its file's metadata, overridden by the user's settings.
--
-- stored: in memory
--
-- key: trace_id
--
-- trace_id          VARCHAR    first 16 hexadecimal digits of the XXH3-128 of the file's
--                              decompressed content
-- trace             VARCHAR    name: the file's, unless the user gave one
-- run               VARCHAR    the run it belongs to
-- run_source        VARCHAR    where the run is from: user, file name, folder name; NULL without
--                              one. Names: see place_rules
-- rank              INTEGER    rank in the job, NULL if unknown
-- rank_source       VARCHAR    where the rank is from: user, distributedInfo, NCCL, file name,
--                              folder name, files of the run (its host's place among them),
--                              RANK_DEVICE_MAP (of msprof),
--                              devices (several ranks, each a device of its own), unknown
-- phase             VARCHAR    prefill, decode, mixed or capture, from the file's name; NULL if it
--                              has none
-- format            VARCHAR    kineto, jax, ascend, nsys (Nsight Systems), rocpd
--                              (rocprofiler-sdk) or chrome
-- source_path       VARCHAR    the file it was read from
-- device_name       VARCHAR    name of the first device, as the profiler prints it
-- vendor            VARCHAR    nvidia, amd, huawei or google; NULL if unknown
-- hardware          VARCHAR    key of the table hardware, NULL if unknown
-- hardware_match    VARCHAR    how it was found: user, name, properties, or none
-- model             VARCHAR    model, set by the user
-- profile           VARCHAR    profile that finds the layers: the user's, or the one the model's
--                              config calls for
-- profile_source    VARCHAR    where it is from: user or config
-- num_layers        INTEGER    layers of the model: the user's, or the config's num_hidden_layers
-- tp                INTEGER    degree of tensor parallelism, NULL if unknown
-- ep                INTEGER    degree of expert parallelism, NULL if unknown
-- dp                INTEGER    degree of data parallelism, NULL if unknown
-- pp                INTEGER    degree of pipeline parallelism, NULL if unknown
-- tp_rank           INTEGER    place along the tensor-parallel axis, from the file's name
-- ep_rank           INTEGER    place along the expert-parallel axis, from the file's name
-- dp_rank           INTEGER    place along the data-parallel axis, from the file's name
-- pp_rank           INTEGER    place along the pipeline-parallel axis, from the file's name
-- dcp_rank          INTEGER    place along the axis that splits the contexts of decodes (vLLM's
--                              decode context parallelism), from the file's name
-- world_size        INTEGER    ranks in the job, NULL if unknown
-- origin_ns         BIGINT     start of the first event that is neither metadata nor a flow, in ns:
--                              Perfetto's zero
-- start_ns          BIGINT     the same
-- end_ns            BIGINT     end of the last such event, in ns
-- base_time_ns      BIGINT     ns since 1970 at the file's time 0, if the file has it
-- recorded_at       TIMESTAMP  when it was recorded, UTC
-- recorded_at_source  VARCHAR  its source: user, clock (the file's own, at its first event), name
--                              (in the trace's name or run: a time since 1970, else a date, with
--                              the time of day behind it), or file (when it was last written)
-- event_count       BIGINT     events stored
-- rejected_count    BIGINT     events of the file that could not be stored
-- repaired_count    BIGINT     events stored after their text was repaired
-- skipped_bytes     BIGINT     bytes of damaged text in which events cannot be distinguished
-- redacted_count    BIGINT     credentials of the file that were redacted in the stored data; NULL
--                              if it was read by an older version, which redacted none
-- unmatched_count   BIGINT     begin or end events without a partner
-- array_count       BIGINT     arrays of events in the file: 1, more if the key "traceEvents" is
--                              repeated, 0 for tables
-- truncated         BOOLEAN    the file ends before its end
-- samples           VARCHAR    some rejected and repaired events with the reason, JSON
-- anchor            VARCHAR    regular expression for the anchor kernel, set by the user
-- anchor_role       VARCHAR    begin, inside or end, set by the user
-- blocks_per_layer  INTEGER    anchors in one layer, set by the user
-- kv_len            INTEGER    keys that a request of a paged attention sees, set by the user
-- warm_up_steps     INTEGER    first steps of each program that are warm-up, set by the user
-- dedup             VARCHAR    tracelake, compat or none: which rows of an Ascend trace count, set
--                              by the user; default: tracelake
-- config            VARCHAR    the model's config.json, given by the user
-- metadata          VARCHAR    the file's own keys that are stored, JSON
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
        coalesce(settings.hardware, _hardware_matches.hardware) AS hardware,
        CASE
            WHEN settings.hardware IS NOT NULL THEN 'user'
            ELSE coalesce(_hardware_matches.hardware_match, 'none')
        END AS hardware_match
    FROM _catalog
    LEFT JOIN _trace_settings AS settings USING (trace_id)
    LEFT JOIN _hardware_matches USING (trace_id)
)
SELECT
    trace_id,
    coalesce(settings.trace, found.trace) AS trace,
    coalesce(settings.run, found.metadata ->> '$.places.run.value') AS run,
    CASE
        WHEN settings.run IS NOT NULL THEN 'user'
        ELSE found.metadata ->> '$.places.run.source'
    END AS run_source,
    coalesce(settings.rank, found.rank) AS rank,
    CASE WHEN settings.rank IS NOT NULL THEN 'user' ELSE found.rank_source END AS rank_source,
    found.metadata ->> '$.places.phase.value' AS phase,
    found.format,
    found.source_path,
    found.device_name,
    coalesce(
        hardware.vendor,
        CASE
            WHEN found.format = 'ascend' THEN 'huawei'
            WHEN found.format = 'nsys' THEN 'nvidia'
            WHEN found.format = 'rocpd' THEN 'amd'
            WHEN found.format = 'jax' AND starts_with(found.device_name, 'TPU') THEN 'google'
            WHEN regexp_matches(found.metadata, '"(hip|roctracer|rocprofiler)_|_vendor": "AMD"')
                THEN 'amd'
            WHEN regexp_matches(found.metadata, '"(cuda|cupti)_|_vendor": "N[Vv]') THEN 'nvidia'
        END
    ) AS vendor,
    identified.hardware,
    identified.hardware_match,
    settings.model,
    coalesce(settings.profile, _configs.profile) AS profile,
    CASE
        WHEN settings.profile IS NOT NULL THEN 'user'
        WHEN _configs.profile IS NOT NULL THEN 'config'
    END AS profile_source,
    coalesce(settings.num_layers, _configs.num_layers) AS num_layers,
    coalesce(settings.tp, found.tp) AS tp,
    coalesce(settings.ep, found.ep) AS ep,
    coalesce(settings.dp, found.dp) AS dp,
    coalesce(settings.pp, found.pp) AS pp,
    found.tp_rank,
    found.ep_rank,
    found.dp_rank,
    found.pp_rank,
    TRY_CAST(
        coalesce(found.metadata ->> '$.dcp_rank', found.metadata ->> '$.places.dcp_rank.value')
        AS INTEGER
    ) AS dcp_rank,
    found.world_size,
    found.origin_ns,
    found.start_ns,
    found.end_ns,
    found.base_time_ns,
    coalesce(settings.recorded_at, recorded.by_clock, recorded.by_name, recorded.by_file)
        AS recorded_at,
    CASE
        WHEN settings.recorded_at IS NOT NULL THEN 'user'
        WHEN recorded.by_clock IS NOT NULL THEN 'clock'
        WHEN recorded.by_name IS NOT NULL THEN 'name'
        WHEN recorded.by_file IS NOT NULL THEN 'file'
    END AS recorded_at_source,
    found.event_count,
    found.rejected_count,
    found.repaired_count,
    found.skipped_bytes,
    found.redacted_count,
    found.unmatched_count,
    found.array_count,
    found.truncated,
    found.samples,
    settings.anchor,
    settings.anchor_role,
    settings.blocks_per_layer,
    settings.kv_len,
    settings.warm_up_steps,
    settings.dedup,
    settings.config,
    found.metadata,
    found.source_bytes,
    found.source_sha256,
    found.content_bytes,
    found.content_xxh3,
    found.ingested_at,
    found.ingested_by
FROM _catalog AS found
JOIN identified USING (trace_id)
JOIN _recorded AS recorded USING (trace_id)
LEFT JOIN _trace_settings AS settings USING (trace_id)
LEFT JOIN _configs USING (trace_id)
LEFT JOIN hardware ON hardware.hardware = identified.hardware;
