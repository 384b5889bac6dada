-- Every submission once, with its text: there are few, and contexts are taken from here. As with
-- comments, everything that is known decides ties.
SELECT id, subreddit, created, score, text, deleted
FROM (
  SELECT
    id, subreddit, created, score, text, deleted,
    row_number() OVER (
      PARTITION BY id
      ORDER BY
        retrieved DESC NULLS LAST, deleted, score DESC NULLS LAST, created DESC NULLS LAST,
        subreddit DESC NULLS LAST, text DESC
    ) AS place
  FROM raw_submissions
) AS ranked
WHERE place = 1
