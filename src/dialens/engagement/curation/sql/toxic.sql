-- Posts that the classifier finds toxic.
SELECT p.id
FROM post_texts AS p
JOIN toxicity_scores AS t ON t.text_key = p.text_key
WHERE t.micro > $toxic_above
