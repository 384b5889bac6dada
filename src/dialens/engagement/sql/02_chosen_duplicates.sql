-- Of each of them the row retrieved last; row_key decides ties, so that file order cannot.
SELECT
  id, parent_id, parent_is_submission, thread, subreddit, created, score, controversial, edited,
  text, words, content_words, deleted, quote, bot, english
FROM (
  SELECT
    c.id, c.parent_id, c.parent_is_submission, c.thread, c.subreddit, c.created, c.score,
    c.controversial, c.edited, c.text, c.words, c.content_words, c.deleted, c.quote, c.bot,
    c.english,
    row_number() OVER (
      PARTITION BY c.id ORDER BY c.retrieved DESC NULLS LAST, c.row_key DESC
    ) AS place
  FROM raw_comments AS c
  JOIN duplicated_comments AS d ON d.id = c.id
) AS ranked
WHERE place = 1
