-- Each text once, for the toxicity classifier, in the order of keys: shards are cut from it.
SELECT DISTINCT text_key, text FROM post_texts ORDER BY text_key
