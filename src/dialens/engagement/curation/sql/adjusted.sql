-- Popularity adjustment (EnDex 2.3): x + (M_pv / M_x) * (x / PV) * x. The PV of a post is above 0;
-- `popularity` is null for others, because an engine may work out a row before it leaves it out.
SELECT
  w.id, w.parent_id, w.parent_is_submission, w.thread, w.subreddit, w.created,
  w.re, w.be, w.ae, w.pv, w.edit_unknown_replies,
  CAST(w.re AS DOUBLE) + ($median_pv / $median_re)
    * (CAST(w.re AS DOUBLE) / w.popularity) * CAST(w.re AS DOUBLE) AS re_adjusted,
  CAST(w.be AS DOUBLE) + ($median_pv / $median_be)
    * (CAST(w.be AS DOUBLE) / w.popularity) * CAST(w.be AS DOUBLE) AS be_adjusted
FROM (
  SELECT *, CASE WHEN pv > 0 THEN CAST(pv AS DOUBLE) END AS popularity
  FROM weighed WHERE reason IS NULL
) AS w
