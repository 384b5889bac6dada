-- Comments without a reply cannot be posts; the first reason that applies is kept. A parent has
-- this very comment as a reply, so those that are not in the data are known, and few.
SELECT
  c.id,
  CASE
    WHEN NOT c.parent_is_submission AND c.parent_id = c.id THEN 'part of a cycle'
    WHEN c.parent_id IS NULL OR lost.id IS NOT NULL THEN 'no parent in the data'
    ELSE 'no reply in the data'
  END AS reason
FROM comments AS c
LEFT JOIN (
  SELECT id, FALSE AS is_submission FROM reacted WHERE NOT present
  UNION ALL
  SELECT id, TRUE AS is_submission FROM submission_parents WHERE NOT present
) AS lost ON lost.id = c.parent_id AND lost.is_submission = c.parent_is_submission
WHERE NOT EXISTS (SELECT 1 FROM comment_reactions AS r WHERE r.id = c.id)
