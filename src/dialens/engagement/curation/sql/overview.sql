-- The accepted posts as a whole: dates, and what is not known about them.
SELECT
  count(*) AS posts,
  min(created) AS first_created,
  max(created) AS last_created,
  count(CASE WHEN created IS NULL THEN 1 END) AS undated,
  count(CASE WHEN be IS NULL THEN 1 END) AS without_votes,
  count(CASE WHEN parent_is_submission THEN 1 END) AS answer_a_submission,
  CAST(sum(re) AS BIGINT) AS replies,
  CAST(sum(edit_unknown_replies) AS BIGINT) AS edit_unknown_replies
FROM numbers
