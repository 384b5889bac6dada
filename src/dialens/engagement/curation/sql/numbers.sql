-- The accepted posts in the order of their ids, everything but words.
SELECT
  l.id, l.parent_id, l.parent_is_submission, l.thread, l.subreddit, l.created, l.re, l.be, l.ae,
  l.ee, l.pv, l.re_adjusted, l.be_adjusted, l.re_norm, l.be_norm, l.ae_norm, l.score, l.z, l.label,
  l.edit_unknown_replies, c.side
FROM labels AS l
LEFT JOIN chosen AS c ON c.id = l.id
ORDER BY l.id
