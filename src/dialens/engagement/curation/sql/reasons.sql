-- How many comments each reason took.
SELECT reason, count(*) AS comments FROM rejected GROUP BY reason
