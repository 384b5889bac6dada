-- EE: mean over replies of the probability of a positive emotion. Micro-units are whole numbers,
-- so that their sum is the same in every engine and order.
SELECT
  r.post AS id,
  CAST(sum(s.micro) AS DOUBLE) / (CAST(count(*) AS DOUBLE) * 1e6) AS ee
FROM reply_texts AS r
JOIN emotion_scores AS s ON s.text_key = r.text_key
GROUP BY r.post
