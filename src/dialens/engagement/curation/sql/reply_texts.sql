-- Texts whose emotion matters: replies that can be read, to posts that have passed everything.
SELECT w.id AS post, md5(c.text) AS text_key, c.text
FROM (SELECT id FROM weighed WHERE reason IS NULL AND $score_emotion) AS w
JOIN (
  SELECT parent_id, text FROM comments
  WHERE speaks AND NOT parent_is_submission AND parent_id <> id
) AS c ON c.parent_id = w.id
