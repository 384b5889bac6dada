-- Two rows a post, in the order of `numbers`: what it says, then what it answers. The only step
-- besides those of the models that touches texts.
SELECT id, is_context, text
FROM (
  SELECT n.post AS id, n.is_context, t.text
  FROM (
    SELECT id AS source, id AS post, FALSE AS is_context FROM scored
    UNION ALL
    SELECT parent_id AS source, id AS post, TRUE AS is_context
    FROM scored WHERE NOT parent_is_submission
  ) AS n
  JOIN (SELECT id, text FROM comments) AS t ON t.id = n.source
  UNION ALL
  SELECT p.id, TRUE AS is_context, s.text
  FROM (SELECT id, parent_id FROM scored WHERE parent_is_submission) AS p
  JOIN (SELECT id, text FROM submissions) AS s ON s.id = p.parent_id
) AS found
ORDER BY id, is_context
