-- The accepted posts in the order of their ids, everything but words.
SELECT
  l.id, l.parent_id, l.thread, l.subreddit, l.re, l.be, l.ae, l.ee, l.pv, l.re_adjusted,
  l.be_adjusted, l.re_norm, l.be_norm, l.ae_norm, l.score, l.z, l.label, c.side
FROM labels AS l
LEFT JOIN chosen AS c ON c.id = l.id
ORDER BY l.id
