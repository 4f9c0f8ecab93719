-- Messages are the same at each try: the first one fixes the base URL of the console, and the organization's name, for
-- all tries of an event. Null before.
ALTER TABLE notification_events ADD COLUMN console_url text, ADD COLUMN organization_name text;
