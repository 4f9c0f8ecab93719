-- Narrowed API keys: apps, rights and an end; null is no narrowing. Apps are kept as ids, which never change.
-- Whence a key was last used is kept beside when.
ALTER TABLE api_keys
  ADD COLUMN app_ids text[],
  ADD COLUMN may text[],
  ADD COLUMN expires_at timestamptz,
  ADD COLUMN last_used_from text,
  ADD CONSTRAINT api_keys_app_ids_check CHECK (cardinality(app_ids) BETWEEN 1 AND 50),
  ADD CONSTRAINT api_keys_may_check
    CHECK (cardinality(may) > 0 AND may <@ '{read,publish,control,fleet}'::text[]);
