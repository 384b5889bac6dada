-- Each text once, for the emotion classifier, in the order of keys: shards are cut from it.
SELECT DISTINCT text_key, text FROM reply_texts ORDER BY text_key
