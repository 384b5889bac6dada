-- Comments with a reply, beside what they answer: the first reason against each, or none, but for
-- cycles (`judged`). Reasons that need a model or the reactions themselves come later (`weighed`).
-- `backwards`: the parent does not come before the comment, by time and then by id. In any order of
-- comments a cycle has such a step.
SELECT
  c.id, c.parent_id, c.parent_is_submission, c.thread, c.subreddit, c.created, c.score,
  c.controversial, c.replies, c.speaking_replies, c.most_content_words, c.edited_replies,
  c.edit_unknown_replies,
  CASE WHEN c.parent_is_submission THEN s.score ELSE up.score END AS parent_score,
  CASE WHEN c.parent_is_submission THEN s.replies ELSE up.replies END AS parent_replies,
  up.id IS NOT NULL AND NOT (
    coalesce(up.created, 0) < coalesce(c.created, 0)
    OR (coalesce(up.created, 0) = coalesce(c.created, 0) AND (
      length(up.id) < length(c.id) OR (length(up.id) = length(c.id) AND up.id < c.id)
    ))
  ) AS backwards,
  CASE
    WHEN up.id IS NULL AND s.id IS NULL THEN 'no parent in the data'
    WHEN c.replies < $min_replies THEN 'fewer than $min_replies replies'
    WHEN NOT coalesce($subreddit_chosen, FALSE) THEN 'subreddit not chosen'
    WHEN c.deleted THEN 'deleted or removed'
    WHEN up.deleted OR s.deleted THEN 'parent deleted or removed'
    WHEN c.bot THEN 'bot'
    WHEN c.quote THEN 'quote'
    WHEN c.blank THEN 'empty'
    WHEN $english_only AND NOT c.english THEN 'not English'
  END AS reason
FROM (SELECT * FROM reacted WHERE present) AS c
LEFT JOIN (
  SELECT id, created, score, deleted, replies FROM reacted WHERE present
) AS up ON up.id = c.parent_id AND NOT c.parent_is_submission
LEFT JOIN (SELECT id, score, deleted, replies FROM submission_parents WHERE present) AS s
  ON s.id = c.parent_id AND c.parent_is_submission
