-- Both classes at the size of the smaller: the first in the order of the draw.
SELECT id, label, side
FROM (
  SELECT id, label, side, row_number() OVER (PARTITION BY label ORDER BY draw, id) AS place
  FROM labels
  WHERE label IS NOT NULL
) AS drawn
WHERE place <= $smaller_class
