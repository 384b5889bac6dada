-- Texts whose toxicity matters: of posts that have passed so far. Equal texts share a key.
SELECT j.id, md5(t.text) AS text_key, t.text
FROM (SELECT id FROM judged WHERE reason IS NULL AND $score_toxicity) AS j
JOIN (SELECT id, text FROM comments) AS t ON t.id = j.id
