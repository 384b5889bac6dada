-- Comments with a reply, `present` in the data or only named as a parent. Every post and every
-- comment that is a parent is among them.
SELECT
  r.id, c.id IS NOT NULL AS present,
  c.parent_id, c.parent_is_submission, c.thread, c.subreddit, c.created, c.score,
  c.controversial, c.deleted, c.quote, c.bot, c.english, c.blank,
  r.replies, r.speaking_replies, r.most_content_words, r.edited_replies, r.edit_unknown_replies
FROM comment_reactions AS r
LEFT JOIN comments AS c ON c.id = r.id
