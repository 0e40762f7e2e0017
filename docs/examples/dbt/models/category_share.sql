WITH by_category AS (
    SELECT kernel.trace_key, category.category, count(*) AS kernels, sum(kernel.dur_ns) AS dur_ns
    FROM {{ source('star', 'fact_kernel') }} AS kernel
    JOIN {{ source('star', 'dim_category') }} AS category USING (category_key)
    GROUP BY kernel.trace_key, category.category
)
SELECT
    by_category.trace_key, dim_trace.trace, by_category.category, by_category.kernels, by_category.dur_ns,
    by_category.dur_ns / sum(by_category.dur_ns) OVER (PARTITION BY by_category.trace_key) AS share
FROM by_category
JOIN {{ source('star', 'dim_trace') }} AS dim_trace USING (trace_key)
