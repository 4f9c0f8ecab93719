-- The request that made a change, by the id that its caller was told (X-Request-Id). Entries from before have none.

ALTER TABLE audit_entries ADD COLUMN request_id text;
