-- Comments without a reply cannot be posts; the first reason that applies is kept. A parent that
-- is in the data has this very comment as a reply, so it stands in `reacted`.
SELECT
  c.id,
  CASE
    WHEN NOT c.parent_is_submission AND c.parent_id = c.id THEN 'part of a cycle'
    WHEN up.id IS NULL AND s.id IS NULL THEN 'no parent in the data'
    ELSE 'no reply in the data'
  END AS reason
FROM comments AS c
LEFT JOIN reacted AS up ON up.id = c.parent_id AND NOT c.parent_is_submission
LEFT JOIN submission_parents AS s ON s.id = c.parent_id AND c.parent_is_submission
WHERE NOT EXISTS (SELECT 1 FROM comment_reactions AS r WHERE r.id = c.id)
