-- Ids that came more than once: the same comment in two files, or retrieved twice.
SELECT id FROM raw_comments GROUP BY id HAVING count(*) > 1
