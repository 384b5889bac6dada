-- z-scores and labels (EnDex 2.5). The draw of an id and of its thread depends on the seed alone.
SELECT
  *,
  md5(concat('$seed:', id)) AS draw,
  CASE
    WHEN md5(concat('$seed:', thread)) < '$validation_below' THEN 'validation' ELSE 'train'
  END AS side
FROM (
  SELECT *, CAST(CASE WHEN z > $kappa THEN 1 WHEN z < -$kappa THEN 0 END AS INT) AS label
  FROM (SELECT *, (score - $mean) / $deviation AS z FROM scored) AS standardised
) AS labelled
