-- Of each of them the row retrieved last. Everything that is known decides ties, so that neither
-- the order of files nor that of lines can.
SELECT
  id, parent_id, parent_is_submission, thread, subreddit, created, score, controversial, edited,
  text, words, content_words, deleted, quote, bot, english
FROM (
  SELECT
    c.id, c.parent_id, c.parent_is_submission, c.thread, c.subreddit, c.created, c.score,
    c.controversial, c.edited, c.text, c.words, c.content_words, c.deleted, c.quote, c.bot,
    c.english,
    row_number() OVER (
      PARTITION BY c.id
      ORDER BY
        c.retrieved DESC NULLS LAST, c.deleted, c.score DESC NULLS LAST, c.edited DESC NULLS LAST,
        c.controversial DESC NULLS LAST, c.created DESC NULLS LAST, c.parent_id DESC NULLS LAST,
        c.parent_is_submission, c.thread DESC NULLS LAST, c.subreddit DESC NULLS LAST, c.bot,
        c.quote, c.text DESC, c.words, c.content_words, c.english
    ) AS place
  FROM raw_comments AS c
  JOIN duplicated_comments AS d ON d.id = c.id
) AS ranked
WHERE place = 1
