-- Every submission once, with its text: there are few, and contexts are taken from here.
SELECT id, subreddit, created, score, text, deleted
FROM (
  SELECT
    id, subreddit, created, score, text, deleted,
    row_number() OVER (
      PARTITION BY id ORDER BY retrieved DESC NULLS LAST, row_key DESC
    ) AS place
  FROM raw_submissions
) AS ranked
WHERE place = 1
