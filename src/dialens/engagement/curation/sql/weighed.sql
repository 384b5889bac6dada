-- Raw dimensions (EnDex 2.2) and popularity value (2.3), and the reasons that depend on them.
-- Where neither post nor parent has votes the source has none: PV counts replies alone and BE is
-- unknown. Where only the parent's are unknown, popularity cannot be ascertained.
SELECT
  id, parent_id, parent_is_submission, thread, subreddit, created, re, be, ae, pv,
  edit_unknown_replies,
  CASE
    WHEN toxic THEN 'toxic'
    WHEN speaking_replies = 0 THEN 'no reply with text'
    WHEN pv IS NULL OR pv <= 0 THEN 'popularity cannot be ascertained'
  END AS reason
FROM (
  SELECT
    j.id, j.parent_id, j.parent_is_submission, j.thread, j.subreddit, j.created,
    j.speaking_replies, j.edit_unknown_replies, j.replies AS re,
    CASE
      WHEN j.score IS NULL THEN NULL
      WHEN j.controversial OR j.score < 0 THEN 0
      ELSE j.score
    END AS be,
    j.most_content_words + 10 * j.edited_replies AS ae,
    CASE
      WHEN j.parent_score IS NOT NULL THEN 2 * j.parent_replies + j.parent_score
      WHEN j.score IS NULL THEN 2 * j.parent_replies
    END AS pv,
    x.id IS NOT NULL AS toxic
  FROM (SELECT * FROM judged WHERE reason IS NULL) AS j
  LEFT JOIN toxic AS x ON x.id = j.id
) AS measured
