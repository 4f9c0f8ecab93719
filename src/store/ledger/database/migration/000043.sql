-- Milliseconds that the last tries to send to a destination took: a slow one counts at once, a prompt one by half.
ALTER TABLE notification_destinations ADD COLUMN pace_ms integer NOT NULL DEFAULT 0;
