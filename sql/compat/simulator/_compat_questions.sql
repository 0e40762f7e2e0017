-- One row per scenario of the reference's simulator, with its names resolved.
-- request       VARCHAR  scenario
-- model         VARCHAR  model, from compat_models; NULL if it knows none of that name
-- batch         BIGINT   sequences
-- seq_len       BIGINT   tokens of each
-- tp            BIGINT   tensor-parallel degree, 1 for 0
-- ep            BIGINT   expert-parallel degree, 1 for 0
-- num_layers    BIGINT   layers of the model
-- peak_tflops   DOUBLE   peak of the given type; NULL if the GPU is unknown
-- fp8_tflops    DOUBLE   FP8 peak
-- measured_ms   DOUBLE   time of a forward pass by whatever was measured, ms
CREATE VIEW _compat_questions AS
WITH resolved AS (
    SELECT
        request, models.model, batch, seq_len,
        coalesce(nullif(tp, 0), 1) AS tp,
        coalesce(nullif(ep, 0), 1) AS ep,
        CASE WHEN requests.dtype = 'bf16' THEN bf16_tflops ELSE chips.fp8_tflops END
            AS peak_tflops,
        chips.fp8_tflops, measured_ms, per_layer_ms
    FROM compat_requests AS requests
    LEFT JOIN compat_models AS models
        ON models.model = replace(lower(trim(requests.model)), ' ', '-')
        OR list_contains(models.aliases, replace(lower(trim(requests.model)), ' ', '-'))
    LEFT JOIN compat_chips AS chips
        ON chips.chip = lower(trim(requests.gpu))
        OR list_contains(chips.aliases, lower(trim(requests.gpu)))
),
timed AS (
    -- A flow of kernels is read after the forward pass is computed, so it gives no time.
    SELECT
        request,
        CASE any_value(form)
            WHEN 'kernel_detail' THEN any_value(total_dur_us)
            WHEN 'kernel_ms' THEN sum(dur_us)
        END / 1000 AS layer_ms
    FROM timing_metadata
    LEFT JOIN category_timings USING (request)
    GROUP BY request
)
SELECT
    request, model, batch, seq_len, tp, ep, num_layers, peak_tflops, fp8_tflops,
    coalesce(layer_ms * num_layers, per_layer_ms * num_layers, measured_ms) AS measured_ms
FROM resolved
LEFT JOIN _compat_model_dims USING (model)
LEFT JOIN timed USING (request);
