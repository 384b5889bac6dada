-- Every comment once. `speaks`: as a reply, it can be read. A view: steps that ask for ids and
-- numbers leave the text column on the disk.
SELECT
  c.id, c.parent_id, c.parent_is_submission, c.thread, c.subreddit, c.created, c.score,
  c.controversial, c.edited, c.text, c.content_words, c.deleted, c.quote, c.bot, c.english,
  c.words = 0 AS blank, c.words > 0 AND NOT c.deleted AS speaks
FROM raw_comments AS c
WHERE NOT EXISTS (SELECT 1 FROM duplicated_comments AS d WHERE d.id = c.id)
UNION ALL
SELECT
  id, parent_id, parent_is_submission, thread, subreddit, created, score,
  controversial, edited, text, content_words, deleted, quote, bot, english,
  words = 0 AS blank, words > 0 AND NOT deleted AS speaks
FROM chosen_duplicates
