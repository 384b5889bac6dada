-- Of each of them the row retrieved last. As with comments, everything that is known decides ties.
SELECT id, score, text, deleted
FROM (
  SELECT
    r.id, r.score, r.text, r.deleted,
    row_number() OVER (
      PARTITION BY r.id
      ORDER BY
        r.retrieved DESC NULLS LAST, r.deleted, r.score DESC NULLS LAST,
        r.created DESC NULLS LAST, r.subreddit DESC NULLS LAST, r.text DESC
    ) AS place
  FROM raw_submissions AS r
  JOIN duplicated_submissions AS d ON d.id = r.id
) AS ranked
WHERE place = 1
