-- What posts answer, in slices as in `post_words`. In a step of its own: the places of half the
-- lines are in memory at a time.
SELECT n.slice, n.place, t.text
FROM (
  SELECT p.slice, p.place, p.parent_id, p.parent_is_submission, d.id IS NOT NULL AS twice
  FROM places AS p
  LEFT JOIN (
    SELECT id, FALSE AS is_submission FROM duplicated_comments
    UNION ALL
    SELECT id, TRUE AS is_submission FROM duplicated_submissions
  ) AS d ON d.id = p.parent_id AND d.is_submission = p.parent_is_submission
) AS n
JOIN (
  SELECT id, FALSE AS is_submission, FALSE AS twice, text FROM raw_comments
  UNION ALL
  SELECT id, FALSE AS is_submission, TRUE AS twice, text FROM chosen_duplicates
  UNION ALL
  SELECT id, TRUE AS is_submission, FALSE AS twice, text FROM raw_submissions
  UNION ALL
  SELECT id, TRUE AS is_submission, TRUE AS twice, text FROM chosen_submissions
) AS t
  ON t.id = n.parent_id AND t.is_submission = n.parent_is_submission AND t.twice = n.twice
