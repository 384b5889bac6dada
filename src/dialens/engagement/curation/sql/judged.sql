-- The reasons with that which comes before all others: ids on `cycles` were found by walking, which
-- SQL cannot do.
SELECT
  r.id, r.parent_id, r.parent_is_submission, r.thread, r.subreddit, r.created, r.score,
  r.controversial, r.replies, r.speaking_replies, r.most_content_words, r.edited_replies,
  r.edit_unknown_replies, r.parent_score, r.parent_replies,
  CASE WHEN k.id IS NULL THEN r.reason ELSE 'part of a cycle' END AS reason
FROM related AS r
LEFT JOIN cycles AS k ON k.id = r.id
