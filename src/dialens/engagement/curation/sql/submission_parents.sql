-- Submissions as parents: how many comments answer them directly, and their votes if they are
-- `present` in the data.
SELECT r.id, s.id IS NOT NULL AS present, s.score, s.deleted, r.replies
FROM (
  SELECT parent_id AS id, count(*) AS replies
  FROM comments
  WHERE parent_is_submission AND parent_id IS NOT NULL
  GROUP BY parent_id
) AS r
LEFT JOIN (SELECT id, score, deleted FROM submissions) AS s ON s.id = r.id
