-- The fleet's time, and the locks of its parts. Under the lock of a part, one caller at a time writes its devices and
-- everything that follows from them: so counts are exact, and no reader waits.

-- The fleet's present time: this database's clock in whole milliseconds, because the clocks of nodes differ. A
-- function, so that tests can set it.
CREATE OR REPLACE FUNCTION fleet_time() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
  SELECT date_trunc('milliseconds', clock_timestamp())
$$;

-- Locks the parts of devices in the order of the parts, so that writers cannot deadlock, until the transaction ends.
-- Returns the parts.
CREATE OR REPLACE FUNCTION lock_device_parts(app_ids text[], device_ids text[]) RETURNS smallint[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  parts CONSTANT smallint[] := ARRAY (
    SELECT DISTINCT device_part(app_id, device_id) AS part
    FROM unnest(app_ids, device_ids) AS item (app_id, device_id) ORDER BY part
  );
  part smallint;
BEGIN
  FOREACH part IN ARRAY parts LOOP
    PERFORM pg_advisory_xact_lock(7583494, part);
  END LOOP;
  RETURN parts;
END
$$;

-- Locks all parts, for callers that write in all of them.
CREATE OR REPLACE FUNCTION lock_fleet() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  FOR part IN 0..15 LOOP
    PERFORM pg_advisory_xact_lock(7583494, part);
  END LOOP;
END
$$;

-- Stores the writer of the parts; call it under their locks. An empty text is a writer that caches nothing, such as a
-- purge. Null keeps the last writer.
CREATE OR REPLACE FUNCTION note_writer(parts smallint[], present text) RETURNS void LANGUAGE sql VOLATILE AS $$
  UPDATE device_writers SET writer = present, turns = turns + 1
  WHERE part = ANY (parts) AND writer <> present
$$;

-- Stores that devices were recorded for a waiting caller; call it under the locks of their parts.
CREATE OR REPLACE FUNCTION note_awaited(app_ids text[], device_ids text[]) RETURNS void LANGUAGE sql VOLATILE AS $$
  WITH item AS MATERIALIZED (
    SELECT each_device.*, row_number() OVER (PARTITION BY part) AS number
    FROM (
      SELECT device_part(app_id, device_id) AS part, app_id, device_id
      FROM unnest(app_ids, device_ids) AS given (app_id, device_id)
    ) AS each_device
  ), numbered AS (
    UPDATE device_writers SET awaited = awaited + added.devices
    FROM (SELECT part, count(*) AS devices FROM item GROUP BY part) AS added
    WHERE device_writers.part = added.part
    RETURNING device_writers.part, awaited - added.devices AS before
  )
  INSERT INTO awaited_devices (part, number, at, app_id, device_id)
  SELECT item.part, before + item.number, fleet_time(), app_id, device_id
  FROM item JOIN numbered ON numbered.part = item.part
$$;

-- Reads the last writer of these parts. The shared locks wait for writers of the parts, so that whatever is recorded
-- after this read has a later time.
CREATE OR REPLACE FUNCTION read_device_writers(parts smallint[]) RETURNS SETOF device_writers LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  each_part smallint;
BEGIN
  FOREACH each_part IN ARRAY parts LOOP
    PERFORM pg_advisory_xact_lock_shared(7583494, each_part);
  END LOOP;
  RETURN QUERY SELECT * FROM device_writers WHERE part = ANY (parts);
END
$$;

-- Number of pages of the devices table, over all parts.
CREATE OR REPLACE FUNCTION device_pages() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT (sum(pg_relation_size(inhrelid)) / current_setting('block_size')::bigint)::bigint
  FROM pg_inherits WHERE inhparent = 'devices'::regclass
$$;
