-- What came back to each comment. Deleted replies and bots still are replies; only a comment
-- that names itself as its parent is none.
SELECT
  parent_id AS id,
  count(*) AS replies,
  CAST(sum(CASE WHEN speaks THEN 1 ELSE 0 END) AS BIGINT) AS speaking_replies,
  max(CASE WHEN speaks THEN content_words END) AS most_content_words,
  CAST(sum(CASE WHEN edited THEN 1 ELSE 0 END) AS BIGINT) AS edited_replies,
  CAST(sum(CASE WHEN edited IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS edit_unknown_replies
FROM comments
WHERE NOT parent_is_submission AND parent_id IS NOT NULL AND parent_id <> id
GROUP BY parent_id
