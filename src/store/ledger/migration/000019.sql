-- Devices of a channel in an order that has nothing to do with them: the first of them are a random sample, which
-- tells what a change would do to a large fleet. A check-in writes it only when it writes the other indexes.
--
-- Both columns are expressions, so that no other statement is planned with it: while the table has no statistics,
-- an index that begins with the app looked like a good way to one device.

CREATE FUNCTION device_place(app_id text, channel text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtext($1 || ' ' || $2)
$$;

CREATE INDEX devices_in_random_order ON devices (device_place(app_id, channel), hashtext(device_id));
