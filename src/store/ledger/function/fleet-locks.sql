-- The fleet's time, and who may write which part of it. Under the lock of its part, a device and everything that
-- follows from it is written by one caller at a time: so counts are exact, and nobody who reads waits.

-- The present as far as the fleet's record goes: the clock of this database, in whole milliseconds, because nodes
-- have clocks of their own, and some are wrong. It is a function, so that tests can set it.
CREATE OR REPLACE FUNCTION fleet_time() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
  SELECT date_trunc('milliseconds', clock_timestamp())
$$;

-- Locks the parts of devices, always in the order of the parts, so that no two writers wait for each other. Held
-- until the transaction ends. Answers the parts.
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

-- The locks of all parts, for whoever writes in all.
CREATE OR REPLACE FUNCTION lock_fleet() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  FOR part IN 0..15 LOOP
    PERFORM pg_advisory_xact_lock(7583494, part);
  END LOOP;
END
$$;

-- Notes who records the parts; must be called under their locks. The empty text is somebody who remembers
-- nothing, such as whoever deletes devices. Null leaves it at who recorded last.
CREATE OR REPLACE FUNCTION note_writer(parts smallint[], present text) RETURNS void LANGUAGE sql VOLATILE AS $$
  UPDATE device_writers SET writer = present, turns = turns + 1
  WHERE part = ANY (parts) AND writer <> present
$$;

-- Notes that devices were recorded for a caller that waited; must be called under the locks of their parts.
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

-- Reads who recorded these parts last. The locks make it wait for whoever records one of them just now, so that
-- whatever is recorded after this read is of a later time.
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

-- Pages of all parts of the table of devices.
CREATE OR REPLACE FUNCTION device_pages() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT (sum(pg_relation_size(inhrelid)) / current_setting('block_size')::bigint)::bigint
  FROM pg_inherits WHERE inhparent = 'devices'::regclass
$$;
