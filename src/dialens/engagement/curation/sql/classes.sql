-- How many posts each class has before balancing, and what Table 1 of the paper is made of: sums
-- and sums of squares in whole steps of 1e-12, the same in every order.
SELECT
  label,
  count(*) AS posts,
  sum(CAST(re AS DECIMAL(28, 0))) AS re_total,
  sum(CAST(re AS DECIMAL(25, 0)) * re) AS re_squares,
  sum(CAST(ae AS DECIMAL(28, 0))) AS ae_total,
  sum(CAST(ae AS DECIMAL(25, 0)) * ae) AS ae_squares,
  count(ee) AS ee_posts,
  sum(CAST(ee AS DECIMAL(28, 0))) AS ee_total,
  sum(CAST(ee AS DECIMAL(25, 0)) * ee) AS ee_squares,
  count(be) AS be_posts,
  sum(CAST(be AS DECIMAL(28, 0))) AS be_total,
  sum(CAST(be AS DECIMAL(25, 0)) * be) AS be_squares,
  sum(CAST(pico AS DECIMAL(28, 0))) AS score_total,
  sum(CAST(pico AS DECIMAL(25, 0)) * pico) AS score_squares
FROM (
  SELECT
    label, pico,
    CAST(floor(re_norm * 1e12 + CAST('0.5' AS DOUBLE)) AS DECIMAL(13, 0)) AS re,
    CAST(floor(ae_norm * 1e12 + CAST('0.5' AS DOUBLE)) AS DECIMAL(13, 0)) AS ae,
    CAST(floor(ee * 1e12 + CAST('0.5' AS DOUBLE)) AS DECIMAL(13, 0)) AS ee,
    CAST(floor(be_norm * 1e12 + CAST('0.5' AS DOUBLE)) AS DECIMAL(13, 0)) AS be
  FROM labels
) AS rounded
GROUP BY label
