-- Ids that came more than once: the same submission in two files, or retrieved twice.
SELECT id FROM raw_submissions GROUP BY id HAVING count(*) > 1
