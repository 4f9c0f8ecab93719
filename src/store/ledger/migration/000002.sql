-- The fleet: devices, what they ran, and how that adds up.
--
-- Unknown versions and architectures are the empty text here, so that a cell of the counts has no nulls.

-- `version` is the only column below that an index has and that changes, and rows get room to grow: an
-- update of any other one stays in its page and touches no index (HOT), as long as vacuum keeps up. There
-- is no index on `last_seen` for that reason, and no reference to `apps`, whose check would cost as much as
-- the row: only `record_check_ins` writes here, for apps that exist, and apps are never removed.
CREATE TABLE devices (
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  first_seen timestamptz(3) NOT NULL,
  last_seen timestamptz(3) NOT NULL,
  last_offered_at timestamptz(3),
  labels_revision integer NOT NULL DEFAULT 0,
  -- How many rows `device_versions` got for it, whether they are still there or not.
  version_changes integer NOT NULL DEFAULT 0,
  channel text COLLATE "C" NOT NULL,
  -- Canonical.
  version text COLLATE "C" NOT NULL,
  platform text COLLATE "C" NOT NULL,
  arch text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL CHECK (source IN ('pull', 'push')),
  last_offered_release_id text COLLATE "C",
  labels jsonb NOT NULL DEFAULT '{}',
  -- When each label was written, in milliseconds since 1970.
  label_times jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (app_id, device_id)
) WITH (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX devices_of_version ON devices (version, app_id, device_id);

-- What a device ran after the first version known of it. That one needs no row, as the device tells it, unless
-- it became known after the first sighting: then `from_version` is null. The newest 100 of each device are
-- kept, as each goes into the slot of the one that was 100 before it.
CREATE TABLE device_versions (
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  slot smallint NOT NULL,
  at timestamptz(3) NOT NULL,
  from_version text COLLATE "C",
  to_version text COLLATE "C" NOT NULL,
  PRIMARY KEY (app_id, device_id, slot)
);

-- Where the devices of an app are now: a cell has as many as a count of `devices` would find. Cells that
-- became empty stay until the next sweep.
CREATE TABLE fleet_counts (
  app_id text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  platform text COLLATE "C" NOT NULL,
  devices bigint NOT NULL,
  PRIMARY KEY (app_id, channel, version, platform)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- The devices seen in each hour, each of them once: in the cell where it last was in that hour.
CREATE TABLE fleet_hours (
  app_id text COLLATE "C" NOT NULL,
  hour timestamptz(0) NOT NULL,
  channel text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  platform text COLLATE "C" NOT NULL,
  devices bigint NOT NULL,
  PRIMARY KEY (app_id, hour, channel, version, platform)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX fleet_hours_oldest_first ON fleet_hours (hour);

-- A text's UTF-16 code units as far as order goes: those of two texts compare as JavaScript compares them.
CREATE FUNCTION code_unit_order(key text) RETURNS integer[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  -- U+E000 to U+FFFF come after the surrogates, in which everything above them is written.
  SELECT coalesce(array_agg(
    CASE WHEN code BETWEEN 57344 AND 65535 THEN code + 1114112 ELSE code END ORDER BY place
  ), '{}')
  FROM (
    SELECT ascii(symbol) AS code, place
    FROM unnest(string_to_array(key, NULL)) WITH ORDINALITY AS split (symbol, place)
  ) AS coded
$$;

CREATE TYPE written_labels AS (labels jsonb, times jsonb);

-- Labels with a write of labels merged into them. Of each key the newest write counts, the stored one on a
-- tie; there are at most 16: those of the newest write first, then by key in the order of their code units.
CREATE FUNCTION merge_labels(
  stored jsonb, stored_times jsonb, written jsonb, written_at bigint
) RETURNS written_labels LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ROW (
    coalesce(jsonb_object_agg(kept.key, kept.value), '{}'),
    coalesce(jsonb_object_agg(kept.key, kept.at), '{}')
  )::written_labels
  FROM (
    SELECT newest.key, newest.value, newest.at
    FROM (
      SELECT DISTINCT ON (each_write.key COLLATE "C")
        each_write.key, each_write.value, each_write.at
      FROM (
        SELECT key, value, (stored_times -> key)::bigint AS at, FALSE AS is_new
        FROM jsonb_each(stored)
        UNION ALL
        SELECT key, value, written_at, TRUE FROM jsonb_each(written)
      ) AS each_write
      ORDER BY each_write.key COLLATE "C", each_write.at DESC, each_write.is_new
    ) AS newest
    ORDER BY newest.at = max(newest.at) OVER () DESC,
      CASE WHEN count(*) OVER () > 16 THEN code_unit_order(newest.key) END
    LIMIT 16
  ) AS kept
$$;

-- The lock under which `devices` and everything that follows from it is written. One writer at a time
-- means exact counts and no deadlocks; whoever reads need not wait. Held until the transaction ends.
CREATE FUNCTION lock_fleet() RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_advisory_xact_lock(7583493)
$$;

-- Records check-ins, one per place of the arrays; no two of them may be about the same device. Empty
-- versions and offers are unknown ones. Answers the labels, as they are then, of the devices whose
-- check-in carried some, by the check-in's place, from 1.
--
-- The newest facts win. An unknown version replaces none, and an older check-in's version counts only
-- where none is known. A row is left alone when its only news is that it was seen again, in the same
-- hour and within five minutes. The changes of the counts follow from the rows as they were and as they
-- are afterwards: so a check-in that comes after a later one of its device counts in no hour of its own.
--
-- The plan is made once per connection, possibly while `devices` is still empty: it looks up each device
-- by its key all the same. A plan that uses what is switched off here counts as dear enough to be compiled,
-- which takes longer than to run it: hence no jit.
CREATE FUNCTION record_check_ins(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[]
) RETURNS TABLE (check_in_place integer, current_labels text, current_revision integer)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
BEGIN
  PERFORM lock_fleet();
  -- A statement of its own, so that it sees what the lock's last holder has committed.
  RETURN QUERY
  WITH compared AS MATERIALIZED (
    SELECT checked.*,
      old.ctid AS old_row,
      old.first_seen AS old_first_seen,
      old.last_seen AS old_last_seen,
      old.channel AS old_channel,
      old.version AS old_version,
      old.platform AS old_platform,
      old.arch AS old_arch,
      old.source AS old_source,
      old.version_changes AS old_version_changes,
      old.last_offered_at AS old_offered_at,
      old.last_offered_release_id AS old_offer,
      old.labels_revision AS old_labels_revision,
      old.labels AS old_labels,
      old.label_times AS old_label_times,
      checked.at > old.last_seen IS NOT FALSE AS is_newer,
      checked.offer <> '' AND checked.at > old.last_offered_at IS NOT FALSE AS is_offered,
      -- Null when there is nothing to merge, or nothing worth it: labels that it has, written again.
      CASE WHEN checked.label_write IS NOT NULL AND (
        old.labels @> checked.label_write AND checked.at < old.last_seen + interval '5 minutes'
      ) IS NOT TRUE THEN merge_labels(
        coalesce(old.labels, '{}'), coalesce(old.label_times, '{}'), checked.label_write, checked.ms
      ) END AS label_merge
    FROM (
      SELECT item.place, item.app_id, item.device_id, item.channel, item.version, item.platform,
        item.arch, item.source, item.ms, item.offer, item.label_write::jsonb AS label_write,
        to_timestamp(item.ms / 1000.0)::timestamptz(3) AS at
      FROM unnest(
        app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers, label_writes
      ) WITH ORDINALITY AS item (
        app_id, device_id, channel, version, platform, arch, source, ms, offer, label_write, place
      )
      WHERE (SELECT TRUE FROM apps WHERE apps.id = item.app_id)
    ) AS checked
    LEFT JOIN devices AS old ON old.app_id = checked.app_id AND old.device_id = checked.device_id
  ), merged AS NOT MATERIALIZED (
    SELECT compared.*,
      old_row IS NULL AS is_new,
      CASE WHEN is_newer THEN channel ELSE old_channel END AS new_channel,
      CASE WHEN version <> '' AND (is_newer OR old_version = '') THEN version
        ELSE coalesce(old_version, '') END AS new_version,
      CASE WHEN is_newer THEN platform ELSE old_platform END AS new_platform,
      CASE WHEN is_newer THEN arch ELSE old_arch END AS new_arch,
      CASE WHEN is_newer THEN source ELSE old_source END AS new_source,
      CASE WHEN is_newer THEN at ELSE old_last_seen END AS new_last_seen,
      date_trunc('hour', at, 'UTC') AS new_hour,
      date_trunc('hour', old_last_seen, 'UTC') AS old_hour,
      coalesce((label_merge).labels <> coalesce(old_labels, '{}'), FALSE) AS is_relabelled
    FROM compared
  ), moved AS NOT MATERIALIZED (
    SELECT merged.*,
      (new_channel, new_version, new_platform) IS DISTINCT FROM
        (old_channel, old_version, old_platform) AS is_elsewhere,
      is_newer AND new_hour IS DISTINCT FROM old_hour AS is_in_new_hour
    FROM merged
  ), written AS MATERIALIZED (
    SELECT * FROM moved
    WHERE is_new OR is_elsewhere OR is_in_new_hour OR is_relabelled
      OR new_arch <> old_arch OR new_source <> old_source
      OR at >= old_last_seen + interval '5 minutes' OR at < old_first_seen
      OR is_offered AND offer IS DISTINCT FROM old_offer
  ), inserted AS (
    INSERT INTO devices (
      app_id, device_id, first_seen, last_seen, last_offered_at, labels_revision, channel, version,
      platform, arch, source, last_offered_release_id, labels, label_times
    )
    SELECT app_id, device_id, at, at, CASE WHEN is_offered THEN at END,
      CASE WHEN is_relabelled THEN 1 ELSE 0 END, channel, version, platform, arch, source,
      nullif(offer, ''), coalesce((label_merge).labels, '{}'), coalesce((label_merge).times, '{}')
    FROM written WHERE is_new
  ), updated AS (
    UPDATE devices SET
      first_seen = least(written.old_first_seen, written.at),
      last_seen = written.new_last_seen,
      last_offered_at = CASE WHEN is_offered THEN written.at ELSE written.old_offered_at END,
      labels_revision = written.old_labels_revision + CASE WHEN is_relabelled THEN 1 ELSE 0 END,
      channel = written.new_channel,
      version = written.new_version,
      version_changes = written.old_version_changes
        + CASE WHEN written.new_version <> written.old_version THEN 1 ELSE 0 END,
      platform = written.new_platform,
      arch = written.new_arch,
      source = written.new_source,
      last_offered_release_id = CASE WHEN is_offered THEN written.offer ELSE written.old_offer END,
      labels = coalesce((label_merge).labels, written.old_labels),
      label_times = coalesce((label_merge).times, written.old_label_times)
    FROM written WHERE devices.ctid = written.old_row
  ), remembered AS (
    INSERT INTO device_versions (app_id, device_id, slot, at, from_version, to_version)
    SELECT app_id, device_id, old_version_changes % 100, at, nullif(old_version, ''), new_version
    FROM written WHERE new_version <> old_version
    ON CONFLICT (app_id, device_id, slot) DO UPDATE SET
      at = excluded.at, from_version = excluded.from_version, to_version = excluded.to_version
  ), counted AS (
    INSERT INTO fleet_counts (app_id, channel, version, platform, devices)
    SELECT app_id, channel, version, platform, sum(change)
    FROM (
      SELECT app_id, new_channel AS channel, new_version AS version, new_platform AS platform,
        1 AS change
      FROM written WHERE is_elsewhere
      UNION ALL
      SELECT app_id, old_channel, old_version, old_platform, -1
      FROM written WHERE is_elsewhere AND NOT is_new
    ) AS change GROUP BY app_id, channel, version, platform HAVING sum(change) <> 0
    ON CONFLICT (app_id, channel, version, platform)
      DO UPDATE SET devices = fleet_counts.devices + excluded.devices
  ), counted_in_hours AS (
    INSERT INTO fleet_hours (app_id, hour, channel, version, platform, devices)
    SELECT app_id, hour, channel, version, platform, sum(change)
    FROM (
      SELECT app_id, CASE WHEN is_newer THEN new_hour ELSE old_hour END AS hour,
        new_channel AS channel, new_version AS version, new_platform AS platform, 1 AS change
      FROM written WHERE is_elsewhere OR is_in_new_hour
      UNION ALL
      SELECT app_id, old_hour, old_channel, old_version, old_platform, -1
      FROM written WHERE is_elsewhere AND NOT is_in_new_hour
    ) AS change GROUP BY app_id, hour, channel, version, platform HAVING sum(change) <> 0
    ON CONFLICT (app_id, hour, channel, version, platform)
      DO UPDATE SET devices = fleet_hours.devices + excluded.devices
  )
  SELECT place::integer, coalesce((label_merge).labels, old_labels)::text,
    coalesce(old_labels_revision, 0) + CASE WHEN is_relabelled THEN 1 ELSE 0 END
  FROM moved WHERE label_write IS NOT NULL;
END
$$;

-- Forgets devices that were silent since before a time, hours before a time, and empty cells of the counts: at
-- most `rows_max` of each. An index on `last_seen` would cost every check-in, so silent devices are looked
-- for in a part of the table that chance picks, or in all of it while it is small: called often enough,
-- it finds them all. The look takes no lock; who is silent is asked again under it.
CREATE FUNCTION sweep_fleet(
  devices_before timestamptz, hours_before timestamptz, rows_max integer
) RETURNS TABLE (devices_gone integer, hours_gone integer)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  part_size CONSTANT bigint := 8192;
  page_count CONSTANT bigint := pg_relation_size('devices') / current_setting('block_size')::bigint;
  first_page CONSTANT bigint := CASE WHEN page_count > part_size
    -- A part may begin before the table does, so that its ends come as often as its middle.
    THEN floor(random() * (page_count + part_size)) - part_size ELSE 0 END;
  silent_apps text[];
  silent_devices text[];
BEGIN
  SELECT array_agg(app_id), array_agg(device_id) INTO silent_apps, silent_devices
  FROM (
    SELECT app_id, device_id FROM devices
    WHERE ctid >= format('(%s,0)', greatest(first_page, 0))::tid
      AND ctid < format('(%s,0)', first_page + part_size)::tid
      AND last_seen < devices_before
    LIMIT rows_max
  ) AS silent;

  PERFORM lock_fleet();
  WITH gone AS (
    DELETE FROM devices USING unnest(silent_apps, silent_devices) AS silent (app_id, device_id)
    WHERE devices.app_id = silent.app_id AND devices.device_id = silent.device_id
      AND devices.last_seen < devices_before
    RETURNING devices.app_id, devices.device_id, channel, version, platform
  ), uncounted AS (
    UPDATE fleet_counts SET devices = fleet_counts.devices - cell.devices
    FROM (
      SELECT app_id, channel, version, platform, count(*) AS devices
      FROM gone GROUP BY app_id, channel, version, platform
    ) AS cell
    WHERE fleet_counts.app_id = cell.app_id AND fleet_counts.channel = cell.channel
      AND fleet_counts.version = cell.version AND fleet_counts.platform = cell.platform
  ), forgotten AS (
    DELETE FROM device_versions USING gone
    WHERE device_versions.app_id = gone.app_id AND device_versions.device_id = gone.device_id
  )
  SELECT count(*) INTO devices_gone FROM gone;

  DELETE FROM fleet_counts WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM fleet_counts WHERE devices = 0 LIMIT rows_max
  ));

  WITH gone AS (
    DELETE FROM fleet_hours WHERE ctid = ANY (ARRAY (
      SELECT ctid FROM fleet_hours WHERE hour < hours_before ORDER BY hour LIMIT rows_max
    )) RETURNING app_id
  )
  SELECT count(*) INTO hours_gone FROM gone;
  RETURN NEXT;
END
$$;
