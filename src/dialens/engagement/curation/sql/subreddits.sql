-- Where the posts come from.
SELECT
  subreddit,
  count(*) AS posts,
  count(CASE WHEN label = 1 THEN 1 END) AS engaging,
  count(CASE WHEN label = 0 THEN 1 END) AS not_engaging
FROM numbers
GROUP BY subreddit
