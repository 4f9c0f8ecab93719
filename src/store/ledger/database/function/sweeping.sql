-- Deletions from the fleet's record: silent devices, purged devices, and old counts and version changes.

-- Joins the rows of all parts for past hours, days and months into one row each. A late check-in adds another row,
-- which is joined later. Call it under the locks of all parts.
CREATE OR REPLACE FUNCTION fold_fleet_parts(rows_max integer) RETURNS void
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
BEGIN
  WITH taken AS (
    DELETE FROM fleet_hour_parts WHERE ctid = ANY (ARRAY (
      SELECT ctid FROM fleet_hour_parts
      WHERE part >= 0 AND hour < date_trunc('hour', fleet_time() - interval '1 hour', 'UTC')
      ORDER BY hour LIMIT rows_max
    )) RETURNING *
  )
  INSERT INTO fleet_hour_parts (app_id, hour, channel, version, platform, part, devices)
  SELECT app_id, hour, channel, version, platform, -1, sum(devices)
  FROM taken GROUP BY app_id, hour, channel, version, platform
  ON CONFLICT (app_id, hour, channel, version, platform, part)
    DO UPDATE SET devices = fleet_hour_parts.devices + excluded.devices;

  WITH taken AS (
    DELETE FROM fleet_step_parts WHERE ctid = ANY (ARRAY (
      SELECT ctid FROM fleet_step_parts
      WHERE part >= 0 AND at < date_trunc('day', fleet_time() - interval '1 hour', 'UTC')
        AND at < date_trunc(step, fleet_time() - interval '1 hour', 'UTC')
      ORDER BY at LIMIT rows_max
    )) RETURNING *
  )
  INSERT INTO fleet_step_parts (app_id, step, at, channel, version, platform, part, devices)
  SELECT app_id, step, at, channel, version, platform, -1, sum(devices)
  FROM taken GROUP BY app_id, step, at, channel, version, platform
  ON CONFLICT (app_id, step, at, channel, version, platform, part)
    DO UPDATE SET devices = fleet_step_parts.devices + excluded.devices;
END
$$;

-- Deletes devices with their version changes, and takes them from the counts of the present. Returns what was deleted.
-- Call it under the locks of their parts.
CREATE OR REPLACE FUNCTION delete_devices(app_ids text[], device_ids text[])
RETURNS TABLE (
  app_id text, device_id text, part smallint, channel text, version text, platform text, last_seen timestamptz
) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH gone AS (
    DELETE FROM devices USING unnest(app_ids, device_ids) AS given (app_id, device_id)
    WHERE devices.app_id = given.app_id AND devices.device_id = given.device_id
    RETURNING devices.app_id, devices.device_id, device_part(devices.app_id, devices.device_id) AS part,
      devices.channel, devices.version, devices.platform, devices.last_seen
  ), uncounted AS (
    INSERT INTO fleet_count_parts (app_id, channel, version, platform, part, devices)
    SELECT app_id, channel, version, platform, part, -count(*) FROM gone GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT (app_id, channel, version, platform, part)
      DO UPDATE SET devices = fleet_count_parts.devices + excluded.devices
  ), forgotten AS (
    DELETE FROM device_versions USING gone
    WHERE device_versions.app_id = gone.app_id AND device_versions.device_id = gone.device_id
  ), inactive AS (
    DELETE FROM device_actions USING gone
    WHERE device_actions.app_id = gone.app_id AND device_actions.device_id = gone.device_id
  )
  SELECT gone.* FROM gone;
END
$$;

-- Deletes devices not seen since a time, hours before a time with the days and months that ended before it, and empty
-- cells of the counts: at most `rows_max` of each. An index on `last_seen` would slow every check-in, so it searches
-- random pages of each part, or all of a small one; repeated calls find all silent devices. The search takes no lock;
-- the deletion checks again under the lock.
CREATE OR REPLACE FUNCTION sweep_fleet(
  devices_before timestamptz, hours_before timestamptz, rows_max integer
) RETURNS TABLE (devices_gone integer, hours_gone integer)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  search_size CONSTANT bigint := 512;
  any_part CONSTANT integer := floor(random() * 16);
  table_name text;
  page_count bigint;
  first_page bigint;
  found_apps text[];
  found_devices text[];
  silent_apps text[] := '{}';
  silent_devices text[] := '{}';
BEGIN
  FOR turn IN 0..15 LOOP
    table_name := 'devices_' || (any_part + turn) % 16;
    page_count := pg_relation_size(table_name) / current_setting('block_size')::bigint;
    -- A search may begin before the table does, so that its ends are searched as often as its middle.
    first_page := CASE WHEN page_count > search_size
      THEN floor(random() * (page_count + search_size)) - search_size ELSE 0 END;
    EXECUTE format(
      'SELECT array_agg(app_id), array_agg(device_id) FROM (
         SELECT app_id, device_id FROM %I WHERE ctid >= $1 AND ctid < $2 AND last_seen < $3 LIMIT $4
       ) AS silent', table_name
    ) INTO found_apps, found_devices USING
      format('(%s,0)', greatest(first_page, 0))::tid, format('(%s,0)', first_page + search_size)::tid,
      devices_before, rows_max - cardinality(silent_apps);
    silent_apps := silent_apps || coalesce(found_apps, '{}');
    silent_devices := silent_devices || coalesce(found_devices, '{}');
    EXIT WHEN cardinality(silent_apps) >= rows_max;
  END LOOP;

  PERFORM lock_fleet();
  SELECT array_agg(devices.app_id), array_agg(devices.device_id) INTO silent_apps, silent_devices
  FROM unnest(silent_apps, silent_devices) AS silent (app_id, device_id)
  JOIN devices ON devices.app_id = silent.app_id AND devices.device_id = silent.device_id
  WHERE devices.last_seen < devices_before;
  SELECT count(*) INTO devices_gone FROM delete_devices(silent_apps, silent_devices);

  DELETE FROM fleet_count_parts WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM fleet_count_parts WHERE devices = 0 LIMIT rows_max
  ));

  WITH gone AS (
    DELETE FROM fleet_hour_parts WHERE ctid = ANY (ARRAY (
      SELECT ctid FROM fleet_hour_parts WHERE hour < hours_before ORDER BY hour LIMIT rows_max
    )) RETURNING app_id
  )
  SELECT count(*) INTO hours_gone FROM gone;

  DELETE FROM fleet_step_parts WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM fleet_step_parts
    WHERE at < date_trunc('day', hours_before, 'UTC') AND at < date_trunc(step, hours_before, 'UTC')
    ORDER BY at LIMIT rows_max
  ));
  PERFORM fold_fleet_parts(10 * rows_max);
  DELETE FROM awaited_devices WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM awaited_devices WHERE at < fleet_time() - interval '2 hours' LIMIT 10 * rows_max
  ));
  RETURN NEXT;
END
$$;

-- Deletes the devices of an app that were first seen after a time and that run `only_version` (any if null), among
-- the next `rows_max` devices after the id `after_device`. Returns their ids, and the id up to which it searched,
-- null at the end. Subtracts them from the present counts, and from the hour, day and month of their last-seen time;
-- earlier times keep them, because their cells then are unknown. No writer caches what was purged.
--
-- The search takes no lock, and the deletion checks again under the lock: a device that was deleted and has come back
-- meanwhile is judged by its new record.
CREATE OR REPLACE FUNCTION purge_devices(
  app text, after_device text, seen_after timestamptz, only_version text, rows_max integer, is_dry_run boolean
) RETURNS TABLE (purged text[], looked_up_to text)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  candidates text[];
BEGIN
  SELECT array_agg(device_id) FILTER (
      WHERE first_seen > seen_after AND (only_version IS NULL OR version = only_version)
    ),
    CASE WHEN count(*) = rows_max THEN max(device_id) END
  INTO candidates, looked_up_to
  FROM (
    SELECT device_id, first_seen, version FROM devices
    WHERE app_id = app AND device_id > after_device ORDER BY device_id LIMIT rows_max
  ) AS looked;
  purged := coalesce(candidates, '{}');
  IF is_dry_run OR candidates IS NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;

  PERFORM note_writer(
    lock_device_parts(array_fill(app, ARRAY [cardinality(candidates)]), candidates), ''
  );
  SELECT coalesce(array_agg(devices.device_id), '{}') INTO candidates
  FROM unnest(candidates) AS candidate (device_id)
  JOIN devices ON devices.app_id = app AND devices.device_id = candidate.device_id
  WHERE devices.first_seen > seen_after AND (only_version IS NULL OR devices.version = only_version);
  WITH gone AS MATERIALIZED (
    SELECT *, date_trunc('hour', last_seen, 'UTC') AS hour
    FROM delete_devices(array_fill(app, ARRAY [cardinality(candidates)]), candidates)
  ), uncounted_in_hours AS (
    INSERT INTO fleet_hour_parts (app_id, hour, channel, version, platform, part, devices)
    SELECT app, hour, channel, version, platform, part, -count(*)
    FROM gone GROUP BY hour, channel, version, platform, part
    ON CONFLICT (app_id, hour, channel, version, platform, part)
      DO UPDATE SET devices = fleet_hour_parts.devices + excluded.devices
  ), uncounted_in_steps AS (
    INSERT INTO fleet_step_parts (app_id, step, at, channel, version, platform, part, devices)
    SELECT app, step, date_trunc(step, last_seen, 'UTC'), channel, version, platform, part, -count(*)
    FROM gone, unnest(ARRAY ['day', 'month']) AS step GROUP BY 2, 3, channel, version, platform, part
    ON CONFLICT (app_id, step, at, channel, version, platform, part)
      DO UPDATE SET devices = fleet_step_parts.devices + excluded.devices
  )
  SELECT coalesce(array_agg(device_id), '{}') INTO purged FROM gone;
  RETURN NEXT;
END
$$;

-- Number of changes of a device after the one in a slot.
CREATE OR REPLACE FUNCTION changes_after(slot smallint, version_changes integer) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (version_changes - 1 - slot) % 100
$$;

-- Deletes version changes that are not among the newest `history` of their device, which a longer history has left.
-- Each call reads the next few rows in the order of the key, and begins again after the last one. Returns how many it
-- deleted.
CREATE OR REPLACE FUNCTION trim_device_versions(history integer, rows_max integer) RETURNS integer
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  looked_max CONSTANT integer := 10 * rows_max;
  place device_versions_trim%ROWTYPE;
  surplus_apps text[];
  surplus_devices text[];
  surplus_slots smallint[];
  trimmed integer := 0;
BEGIN
  -- No device has more than its ring.
  IF history >= 100 THEN RETURN 0; END IF;
  SELECT * INTO place FROM device_versions_trim;
  WITH looked AS MATERIALIZED (
    SELECT app_id, device_id, slot FROM device_versions
    WHERE (app_id, device_id, slot) > (place.app_id, place.device_id, place.slot)
    ORDER BY app_id, device_id, slot LIMIT looked_max
  ), judged AS (
    SELECT looked.*, changes_after(looked.slot, devices.version_changes) >= history AS is_surplus
    FROM looked JOIN devices USING (app_id, device_id)
  ), numbered AS (
    SELECT judged.*, count(*) FILTER (WHERE is_surplus) OVER (ORDER BY app_id, device_id, slot) AS number
    FROM judged
  ), taken AS (
    SELECT * FROM numbered WHERE number <= rows_max
  ), ends AS (
    SELECT app_id, device_id, slot FROM taken ORDER BY app_id DESC, device_id DESC, slot DESC LIMIT 1
  )
  SELECT array_agg(taken.app_id) FILTER (WHERE is_surplus),
    array_agg(taken.device_id) FILTER (WHERE is_surplus),
    array_agg(taken.slot) FILTER (WHERE is_surplus),
    (SELECT app_id FROM ends), (SELECT device_id FROM ends), (SELECT slot FROM ends)
  INTO surplus_apps, surplus_devices, surplus_slots, place.app_id, place.device_id, place.slot
  FROM taken;

  IF surplus_slots IS NOT NULL THEN
    PERFORM lock_device_parts(surplus_apps, surplus_devices);
    -- Looks again, as a slot may have got another change of its device meanwhile.
    WITH gone AS (
      DELETE FROM device_versions
      USING unnest(surplus_apps, surplus_devices, surplus_slots) AS surplus (app_id, device_id, slot), devices
      WHERE device_versions.app_id = surplus.app_id AND device_versions.device_id = surplus.device_id
        AND device_versions.slot = surplus.slot
        AND devices.app_id = surplus.app_id AND devices.device_id = surplus.device_id
        AND changes_after(surplus.slot, devices.version_changes) >= history
      RETURNING device_versions.slot
    )
    SELECT count(*) INTO trimmed FROM gone;
  END IF;
  UPDATE device_versions_trim SET app_id = coalesce(place.app_id, ''),
    device_id = coalesce(place.device_id, ''), slot = coalesce(place.slot, -1);
  RETURN trimmed;
END
$$;
