-- Popularity adjustment (EnDex 2.3): x + (M_pv / M_x) * (x / PV) * x.
SELECT
  w.id, w.parent_id, w.parent_is_submission, w.thread, w.subreddit, w.created,
  w.re, w.be, w.ae, e.ee, w.pv, w.edit_unknown_replies,
  CAST(w.re AS DOUBLE) + ($median_pv / $median_re)
    * (CAST(w.re AS DOUBLE) / CAST(w.pv AS DOUBLE)) * CAST(w.re AS DOUBLE) AS re_adjusted,
  CAST(w.be AS DOUBLE) + ($median_pv / $median_be)
    * (CAST(w.be AS DOUBLE) / CAST(w.pv AS DOUBLE)) * CAST(w.be AS DOUBLE) AS be_adjusted
FROM (SELECT * FROM weighed WHERE reason IS NULL) AS w
LEFT JOIN emotions AS e ON e.id = w.id
