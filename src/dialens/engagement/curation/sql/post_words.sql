-- What posts say. The lines come in no order, in one folder for each slice of neighbouring posts:
-- whoever reads a slice sorts it, and no sort ever holds the texts of all. It goes to the raw table
-- for them: an engine that guesses the size of `comments` too low would hash all texts.
SELECT n.slice, n.place, t.text
FROM (
  SELECT p.slice, p.place, p.id, d.id IS NOT NULL AS twice
  FROM places AS p
  LEFT JOIN duplicated_comments AS d ON d.id = p.id
) AS n
JOIN (
  SELECT id, FALSE AS twice, text FROM raw_comments
  UNION ALL
  SELECT id, TRUE AS twice, text FROM chosen_duplicates
) AS t ON t.id = n.id AND t.twice = n.twice
