-- What mean and standard deviation of the score are made of, as whole numbers.
SELECT
  count(*) AS posts,
  sum(CAST(pico AS DECIMAL(28, 0))) AS total,
  sum(CAST(pico AS DECIMAL(25, 0)) * pico) AS squares
FROM scored
