-- Erasure of devices on request: what is on record of one goes, and check-ins that were received before do not
-- bring it back.

-- Hash of a device's id by which an erasure is remembered: it tells nobody the id who does not have the key.
-- Null while nothing was ever erased.
CREATE OR REPLACE FUNCTION erased_hash(app_id text, device_id text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT encode(sha256(convert_to(secret || ' ' || app_id || ' ' || device_id, 'UTF8')), 'hex')
  FROM signing_keys WHERE name = 'erased-devices'
$$;

-- Takes from the health of releases what a device did with them; must be called under the lock of its part.
CREATE OR REPLACE FUNCTION uncount_firsts(app text, device text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO release_signals (release_id, kind, part, known, pushed, at, devices)
  SELECT release_id, kind, device_part(app, device), known, pushed, signal.at, -1
  FROM release_devices CROSS JOIN LATERAL (
    SELECT 'reached' AS kind, 'epoch'::timestamptz AS at
    UNION ALL SELECT 'offered', date_bin('1 hour', offered_at, 'epoch') WHERE offered_at IS NOT NULL
    UNION ALL SELECT 'installed', date_bin('1 hour', installed_at, 'epoch') WHERE installed_at IS NOT NULL
    UNION ALL SELECT 'reverted', date_bin('1 hour', reverted_at, 'epoch') WHERE reverted_at IS NOT NULL
  ) AS signal
  WHERE app_id = app AND device_id = device
  ON CONFLICT (release_id, kind, part, known, pushed, at)
    DO UPDATE SET devices = release_signals.devices + excluded.devices;

  DELETE FROM release_failures WHERE device_id = device AND release_id IN (
    SELECT releases.id FROM channels JOIN releases ON releases.channel_id = channels.id
    WHERE channels.app_id = app AND releases.is_watched
  );
END
$$;

-- Erases a device: its row with its labels, what it ran, its offers and failures, and its part in the counts of the
-- present. The counts of hours, days and months stay. Check-ins up to `slack` from now on count as received before:
-- the clocks of nodes differ from this one by less. Answers the hash of the id, null when it is not on record.
-- `draft` becomes the key of the hashes if there is none yet.
CREATE OR REPLACE FUNCTION erase_device(app text, device text, slack interval, draft text) RETURNS text
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  of_part CONSTANT smallint := device_part(app, device);
  hash text;
BEGIN
  PERFORM note_writer(lock_device_parts(ARRAY [app], ARRAY [device]), '');
  PERFORM FROM devices WHERE app_id = app AND device_id = device;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM uncount_firsts(app, device);
  PERFORM delete_devices(ARRAY [app], ARRAY [device]);
  DELETE FROM awaited_devices
  WHERE part = of_part AND app_id = app AND device_id = device;

  INSERT INTO signing_keys (name, secret) VALUES ('erased-devices', draft) ON CONFLICT (name) DO NOTHING;
  hash := erased_hash(app, device);
  INSERT INTO erased_devices (app_id, device_hash, erased_at) VALUES (app, hash, fleet_time() + slack)
  ON CONFLICT (app_id, device_hash) DO UPDATE SET erased_at = excluded.erased_at;
  RETURN hash;
END
$$;

-- Check-ins, by their place from 1, of devices that were erased after they were received, with the millisecond of
-- that. A device that is on record again was first seen after it, so only check-ins from before that are looked at;
-- and none where all are newer than the last erasure. Must be called under the locks of the devices' parts.
CREATE OR REPLACE FUNCTION find_erased(app_ids text[], device_ids text[], times bigint[])
RETURNS TABLE (place integer, erased_ms bigint) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  IF NOT EXISTS (
    SELECT FROM unnest(times) AS given (ms)
    WHERE given.ms <= (SELECT extract(epoch FROM max(erased_at)) * 1000 FROM erased_devices)
  ) THEN
    RETURN;
  END IF;
  RETURN QUERY
  SELECT item.place::integer, (extract(epoch FROM erased.erased_at) * 1000)::bigint
  FROM unnest(app_ids, device_ids, times) WITH ORDINALITY AS item (app_id, device_id, ms, place)
  LEFT JOIN devices ON devices.app_id = item.app_id AND devices.device_id = item.device_id
  CROSS JOIN LATERAL (
    SELECT erased_at FROM erased_devices
    WHERE app_id = item.app_id AND device_hash = erased_hash(item.app_id, item.device_id) OFFSET 0
  ) AS erased
  WHERE (devices.first_seen IS NULL OR item.ms < extract(epoch FROM devices.first_seen) * 1000)
    AND item.ms <= extract(epoch FROM erased.erased_at) * 1000;
END
$$;

-- Labels of queued check-ins without those that their devices sent before they were erased: a check-in may have been
-- merged with an earlier one. Looks at nothing where all were sent after the last erasure.
CREATE OR REPLACE FUNCTION forget_erased_labels(app_ids text[], device_ids text[], label_writes text[])
RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  newest_ms bigint := (SELECT extract(epoch FROM max(erased_at)) * 1000 FROM erased_devices);
BEGIN
  IF NOT EXISTS (
    SELECT FROM unnest(label_writes) AS given (written)
    CROSS JOIN LATERAL jsonb_each(CASE WHEN strpos(written, '[') > 0 THEN written::jsonb ELSE '{}' END) AS label
    WHERE CASE jsonb_typeof(label.value) WHEN 'array' THEN (label.value ->> 1)::bigint <= newest_ms END
  ) THEN
    RETURN label_writes;
  END IF;
  RETURN (
    SELECT array_agg(CASE WHEN erased.ms IS NULL THEN item.written ELSE (
      SELECT nullif(coalesce(jsonb_object_agg(label.key, label.value), '{}'), '{}')::text
      FROM jsonb_each(item.written::jsonb) AS label
      WHERE CASE jsonb_typeof(label.value) WHEN 'array' THEN (label.value ->> 1)::bigint > erased.ms ELSE TRUE END
    ) END ORDER BY item.place)
    FROM unnest(app_ids, device_ids, label_writes) WITH ORDINALITY AS item (app_id, device_id, written, place)
    LEFT JOIN LATERAL (
      SELECT extract(epoch FROM erased_at) * 1000 AS ms FROM erased_devices
      WHERE item.written IS NOT NULL AND app_id = item.app_id
        AND device_hash = erased_hash(item.app_id, item.device_id) OFFSET 0
    ) AS erased ON TRUE
  );
END
$$;
