-- Two lines a post: what it says, then what it answers. They come in no order, in one folder for
-- each slice of neighbouring posts: whoever reads a slice sorts it, and no sort ever holds the texts
-- of all. The only step besides those of the models that touches texts. It goes to the raw tables
-- for them: an engine that guesses the size of `comments` too low would hash all texts.
SELECT n.slice, n.line, t.text
FROM (
  SELECT w.slice, w.line, w.source, w.is_submission, d.id IS NOT NULL AS twice
  FROM (
    SELECT slice, 2 * place AS line, id AS source, FALSE AS is_submission FROM places
    UNION ALL
    SELECT slice, 2 * place + 1 AS line, parent_id AS source, parent_is_submission FROM places
  ) AS w
  LEFT JOIN (
    SELECT id, FALSE AS is_submission FROM duplicated_comments
    UNION ALL
    SELECT id, TRUE AS is_submission FROM duplicated_submissions
  ) AS d ON d.id = w.source AND d.is_submission = w.is_submission
) AS n
JOIN (
  SELECT id, FALSE AS is_submission, FALSE AS twice, text FROM raw_comments
  UNION ALL
  SELECT id, FALSE AS is_submission, TRUE AS twice, text FROM chosen_duplicates
  UNION ALL
  SELECT id, TRUE AS is_submission, FALSE AS twice, text FROM raw_submissions
  UNION ALL
  SELECT id, TRUE AS is_submission, TRUE AS twice, text FROM chosen_submissions
) AS t ON t.id = n.source AND t.is_submission = n.is_submission AND t.twice = n.twice
