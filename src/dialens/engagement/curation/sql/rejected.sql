-- Every comment that did not become a post, with the reason.
SELECT id, reason FROM unanswered
UNION ALL
SELECT id, reason FROM judged WHERE reason IS NOT NULL
UNION ALL
SELECT id, reason FROM weighed WHERE reason IS NOT NULL
ORDER BY id
