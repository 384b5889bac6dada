-- Exact medians of the adjusted dimensions: the alphas of `--alpha data`.
SELECT
  dimension,
  (min(CASE WHEN 2 * running >= total THEN value END)
    + min(CASE WHEN 2 * running > total THEN value END)) / 2 AS median,
  min(CASE WHEN value > 0 THEN value END) AS least,
  CAST(max(total) AS BIGINT) AS posts
FROM (
  SELECT
    dimension, value,
    sum(n) OVER (PARTITION BY dimension ORDER BY value) AS running,
    sum(n) OVER (PARTITION BY dimension) AS total
  FROM (
    SELECT 're' AS dimension, re_adjusted AS value, count(*) AS n
    FROM adjusted GROUP BY re_adjusted
    UNION ALL
    SELECT 'be' AS dimension, be_adjusted AS value, count(*) AS n
    FROM adjusted WHERE be_adjusted IS NOT NULL GROUP BY be_adjusted
    UNION ALL
    SELECT 'ae' AS dimension, CAST(ae AS DOUBLE) AS value, count(*) AS n
    FROM adjusted GROUP BY ae
  ) AS counted
) AS ordered
GROUP BY dimension
