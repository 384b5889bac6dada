-- Submissions as parents: their votes and how many comments answer them directly.
SELECT s.id, s.score, s.deleted, r.replies
FROM (SELECT id, score, deleted FROM submissions) AS s
JOIN (
  SELECT parent_id, count(*) AS replies
  FROM comments
  WHERE parent_is_submission AND parent_id IS NOT NULL
  GROUP BY parent_id
) AS r ON r.parent_id = s.id
