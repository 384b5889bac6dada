-- Exact medians of the raw dimensions, from how often each value occurs: `median()` interpolates
-- in ways that differ between engines in the last digit. `least` replaces a median of zero.
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
    SELECT 're' AS dimension, CAST(re AS DOUBLE) AS value, count(*) AS n
    FROM weighed WHERE reason IS NULL GROUP BY re
    UNION ALL
    SELECT 'be' AS dimension, CAST(be AS DOUBLE) AS value, count(*) AS n
    FROM weighed WHERE reason IS NULL AND be IS NOT NULL GROUP BY be
    UNION ALL
    SELECT 'pv' AS dimension, CAST(pv AS DOUBLE) AS value, count(*) AS n
    FROM weighed WHERE reason IS NULL GROUP BY pv
  ) AS counted
) AS ordered
GROUP BY dimension
