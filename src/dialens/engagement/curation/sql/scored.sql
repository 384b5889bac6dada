-- Normalised dimensions x / (x + alpha) and their weighted mean over those that are known
-- (EnDex 2.4). `pico` is the score in whole steps of 1e-12, to be summed exactly.
SELECT
  *, CAST(floor(score * 1e12 + CAST('0.5' AS DOUBLE)) AS DECIMAL(13, 0)) AS pico
FROM (
  SELECT
    *,
    ($weight_re * re_norm + $weight_ae * ae_norm
      + coalesce($weight_ee * ee, CAST('0' AS DOUBLE))
      + coalesce($weight_be * be_norm, CAST('0' AS DOUBLE)))
    / ($weight_re + $weight_ae
      + CASE WHEN ee IS NULL THEN CAST('0' AS DOUBLE) ELSE $weight_ee END
      + CASE WHEN be_norm IS NULL THEN CAST('0' AS DOUBLE) ELSE $weight_be END) AS score
  FROM (
    SELECT
      a.*, e.ee,
      a.re_adjusted / (a.re_adjusted + $alpha_re) AS re_norm,
      a.be_adjusted / (a.be_adjusted + $alpha_be) AS be_norm,
      CAST(a.ae AS DOUBLE) / (CAST(a.ae AS DOUBLE) + $alpha_ae) AS ae_norm
    FROM adjusted AS a
    LEFT JOIN emotions AS e ON e.id = a.id
  ) AS normalised
) AS weighted
