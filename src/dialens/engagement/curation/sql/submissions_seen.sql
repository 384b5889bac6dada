-- The submissions as they came, each once.
SELECT count(*) AS submissions FROM submissions
