-- Every submission once; a view, as with comments.
SELECT r.id, r.score, r.text, r.deleted
FROM raw_submissions AS r
WHERE NOT EXISTS (SELECT 1 FROM duplicated_submissions AS d WHERE d.id = r.id)
UNION ALL
SELECT id, score, text, deleted FROM chosen_submissions
