-- Where the posts come from.
SELECT
  l.subreddit,
  count(*) AS posts,
  count(CASE WHEN l.label = 1 THEN 1 END) AS engaging,
  count(CASE WHEN l.label = 0 THEN 1 END) AS not_engaging
FROM labels AS l
GROUP BY l.subreddit
