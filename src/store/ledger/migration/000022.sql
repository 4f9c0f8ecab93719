-- Apps that take no releases any more. Their devices are answered as before.

ALTER TABLE apps ADD COLUMN archived_at timestamptz(3);
