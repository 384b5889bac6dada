-- Comments with a reply. Every post and every comment that is a parent is among them.
SELECT
  c.id, c.parent_id, c.parent_is_submission, c.thread, c.subreddit, c.created, c.score,
  c.controversial, c.deleted, c.quote, c.bot, c.english, c.blank,
  r.replies, r.speaking_replies, r.most_content_words, r.edited_replies, r.edit_unknown_replies
FROM comments AS c
JOIN comment_reactions AS r ON r.id = c.id
