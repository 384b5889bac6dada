-- The comments as they came, each once, and what is not known about them.
SELECT
  count(*) AS comments,
  count(CASE WHEN score IS NULL THEN 1 END) AS without_score,
  count(CASE WHEN edited IS NULL THEN 1 END) AS edit_unknown,
  count(CASE WHEN deleted THEN 1 END) AS deleted,
  count(CASE WHEN parent_is_submission THEN 1 END) AS answer_a_submission,
  min(created) AS first_created,
  max(created) AS last_created
FROM comments
