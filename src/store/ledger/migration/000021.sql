-- The devices seen in each day and month: hours cannot be added up, as a device counts in each of its hours.

-- Each device of a day or month (in UTC) once: in the cell where it last was in it. Rows of their own, rather
-- than sums over hours, keep a chart of a year within a few thousand rows.
CREATE TABLE fleet_steps (
  app_id text COLLATE "C" NOT NULL,
  step text COLLATE "C" NOT NULL CHECK (step IN ('day', 'month')),
  at timestamptz(0) NOT NULL,
  channel text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  platform text COLLATE "C" NOT NULL,
  devices bigint NOT NULL,
  -- Whether it is from before days and months were counted: then the step has at least so many devices.
  is_minimum boolean NOT NULL DEFAULT FALSE,
  PRIMARY KEY (app_id, step, at, channel, version, platform)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX fleet_steps_oldest_first ON fleet_steps (at);

-- Of a day or month that is over, only its hours are known. The largest of them stands for it: there were at
-- least so many devices. The largest count of each version would not do, as a device that changed its version
-- may be in two of them.
INSERT INTO fleet_steps (app_id, step, at, channel, version, platform, devices, is_minimum)
SELECT app_id, largest.step, largest.at, channel, version, platform, devices, TRUE
FROM (
  SELECT DISTINCT ON (app_id, step, date_trunc(step, hour, 'UTC'))
    app_id, step, date_trunc(step, hour, 'UTC') AS at, hour
  FROM (
    SELECT app_id, hour, sum(devices) AS devices FROM fleet_hours WHERE devices > 0 GROUP BY app_id, hour
  ) AS total, unnest(ARRAY ['day', 'month']) AS step
  WHERE date_trunc(step, hour, 'UTC') < date_trunc(step, now(), 'UTC')
  ORDER BY app_id, step, date_trunc(step, hour, 'UTC'), devices DESC, hour
) AS largest
JOIN fleet_hours USING (app_id, hour)
WHERE devices > 0;

-- The present day and month are known from the devices: who was seen in them was last seen in them. The lock
-- lets no check-in come between this and the functions below. A call that waits for it meanwhile ends as it
-- began, and what it records is missing from the day and the month.
SELECT lock_fleet();
INSERT INTO fleet_steps (app_id, step, at, channel, version, platform, devices)
SELECT app_id, step, date_trunc(step, last_seen, 'UTC'), channel, version, platform, count(*)
FROM devices, unnest(ARRAY ['day', 'month']) AS step
WHERE last_seen >= date_trunc(step, now(), 'UTC')
GROUP BY 1, 2, 3, 4, 5, 6;

-- As in 000015, with the days and months. They follow from the rows as the hours do: a check-in that comes
-- after a later one of its device counts in no day or month of its own.
CREATE OR REPLACE FUNCTION record_check_ins(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean DEFAULT FALSE,
  clients text[] DEFAULT NULL, bundles text[] DEFAULT NULL
) RETURNS TABLE (check_in_place integer, current_labels text, current_revision integer)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  present timestamptz(3);
  present_ms bigint;
BEGIN
  PERFORM lock_fleet();
  -- Under the lock, so that no writer has an earlier present than the one before it.
  present := fleet_time();
  present_ms := (extract(epoch FROM present) * 1000)::bigint;
  -- A statement of its own, so that it sees what the lock's last holder has committed.
  RETURN QUERY
  WITH compared AS MATERIALIZED (
    SELECT checked.*,
      checked.at > checked.old_last_seen IS NOT FALSE AS is_newer,
      checked.offer <> '' AND checked.at > checked.old_offered_at IS NOT FALSE AS is_offered,
      -- Null when there is nothing to merge, or nothing worth it: labels that it has, written again.
      CASE WHEN checked.label_write IS NOT NULL AND (
        checked.old_labels @> checked.label_write
          AND checked.at < checked.old_last_seen + interval '5 minutes'
      ) IS NOT TRUE THEN merge_labels(
        coalesce(checked.old_labels, '{}'), coalesce(checked.old_label_times, '{}'), checked.label_write,
        checked.ms, present_ms
      ) END AS label_merge
    FROM (
      SELECT dated.*, to_timestamp(dated.ms / 1000.0)::timestamptz(3) AS at
      FROM (
        SELECT item.place, item.app_id, item.device_id, item.channel, item.version, item.platform,
          item.arch, item.source, item.client, item.bundle, item.offer,
          item.label_write::jsonb AS label_write,
          CASE WHEN NOT are_awaited THEN least(item.ms, present_ms)
            WHEN old.last_seen >= present THEN present_ms + 1 ELSE present_ms END AS ms,
          old.ctid AS old_row,
          old.first_seen AS old_first_seen,
          CASE WHEN old.last_seen > present THEN present ELSE old.last_seen END AS old_last_seen,
          old.last_seen > present IS TRUE AS is_ahead,
          date_trunc('hour', old.last_seen, 'UTC') AS old_hour,
          old.channel AS old_channel,
          old.version AS old_version,
          old.platform AS old_platform,
          old.arch AS old_arch,
          old.source AS old_source,
          old.client AS old_client,
          old.bundle AS old_bundle,
          old.version_changes AS old_version_changes,
          CASE WHEN old.last_offered_at > present THEN present ELSE old.last_offered_at END
            AS old_offered_at,
          old.last_offered_release_id AS old_offer,
          old.labels_revision AS old_labels_revision,
          old.labels_position AS old_labels_position,
          old.labels AS old_labels,
          old.label_times AS old_label_times
        FROM unnest(
          app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers, label_writes,
          clients, bundles
        ) WITH ORDINALITY AS item (
          app_id, device_id, channel, version, platform, arch, source, ms, offer, label_write, client,
          bundle, place
        )
        LEFT JOIN devices AS old ON old.app_id = item.app_id AND old.device_id = item.device_id
        WHERE (SELECT TRUE FROM apps WHERE apps.id = item.app_id)
      ) AS dated
    ) AS checked
  ), merged AS NOT MATERIALIZED (
    SELECT compared.*,
      old_row IS NULL AS is_new,
      CASE WHEN is_newer THEN channel ELSE old_channel END AS new_channel,
      CASE WHEN version <> '' AND (is_newer OR old_version = '') THEN version
        ELSE coalesce(old_version, '') END AS new_version,
      CASE WHEN is_newer THEN platform ELSE old_platform END AS new_platform,
      CASE WHEN is_newer THEN arch ELSE old_arch END AS new_arch,
      CASE WHEN is_newer THEN source ELSE old_source END AS new_source,
      CASE WHEN is_newer AND client <> '' THEN client ELSE coalesce(old_client, '') END AS new_client,
      CASE WHEN is_newer AND client <> '' THEN bundle ELSE coalesce(old_bundle, '') END AS new_bundle,
      CASE WHEN is_newer THEN at ELSE old_last_seen END AS new_last_seen,
      date_trunc('hour', CASE WHEN is_newer THEN at ELSE old_last_seen END, 'UTC') AS new_hour,
      coalesce((label_merge).labels <> coalesce(old_labels, '{}'), FALSE) AS is_relabelled
    FROM compared
  ), moved AS NOT MATERIALIZED (
    SELECT merged.*,
      (new_channel, new_version, new_platform) IS DISTINCT FROM
        (old_channel, old_version, old_platform) AS is_elsewhere,
      new_hour IS DISTINCT FROM old_hour AS is_in_new_hour
    FROM merged
  ), written AS MATERIALIZED (
    SELECT moved.*, CASE WHEN is_relabelled THEN nextval('label_positions') END AS new_position
    FROM moved
    WHERE is_new OR is_elsewhere OR is_in_new_hour OR is_relabelled OR is_ahead
      OR new_arch <> old_arch OR new_source <> old_source
      OR new_client <> old_client OR new_bundle <> old_bundle
      OR at >= old_last_seen + interval '5 minutes' OR at < old_first_seen
      OR is_offered AND offer IS DISTINCT FROM old_offer
  ), inserted AS (
    INSERT INTO devices (
      app_id, device_id, first_seen, last_seen, last_offered_at, labels_revision, labels_position,
      channel, version, platform, arch, source, client, bundle, last_offered_release_id, labels,
      label_times
    )
    SELECT app_id, device_id, at, at, CASE WHEN is_offered THEN at END,
      CASE WHEN is_relabelled THEN 1 ELSE 0 END, new_position, channel, version, platform, arch, source,
      new_client, new_bundle, nullif(offer, ''), coalesce((label_merge).labels, '{}'),
      coalesce((label_merge).times, '{}')
    FROM written WHERE is_new
  ), updated AS (
    UPDATE devices SET
      first_seen = least(written.old_first_seen, written.at),
      last_seen = written.new_last_seen,
      last_offered_at = CASE WHEN is_offered THEN written.at ELSE written.old_offered_at END,
      labels_revision = written.old_labels_revision + CASE WHEN is_relabelled THEN 1 ELSE 0 END,
      labels_position = coalesce(written.new_position, written.old_labels_position),
      channel = written.new_channel,
      version = written.new_version,
      version_changes = written.old_version_changes
        + CASE WHEN written.new_version <> written.old_version THEN 1 ELSE 0 END,
      platform = written.new_platform,
      arch = written.new_arch,
      source = written.new_source,
      client = written.new_client,
      bundle = written.new_bundle,
      last_offered_release_id = CASE WHEN is_offered THEN written.offer ELSE written.old_offer END,
      labels = coalesce((label_merge).labels, written.old_labels),
      label_times = coalesce((label_merge).times, CASE WHEN is_ahead
        THEN limit_label_times(written.old_label_times, present_ms) ELSE written.old_label_times END)
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
      SELECT app_id, new_hour AS hour, new_channel AS channel, new_version AS version,
        new_platform AS platform, 1 AS change
      FROM written WHERE is_elsewhere OR is_in_new_hour
      UNION ALL
      SELECT app_id, old_hour, old_channel, old_version, old_platform, -1
      FROM written WHERE is_elsewhere AND NOT is_in_new_hour OR is_ahead AND is_in_new_hour
    ) AS change GROUP BY app_id, hour, channel, version, platform HAVING sum(change) <> 0
    ON CONFLICT (app_id, hour, channel, version, platform)
      DO UPDATE SET devices = fleet_hours.devices + excluded.devices
  ), stepped AS MATERIALIZED (
    SELECT app_id, step, new_channel, new_version, new_platform, old_channel, old_version, old_platform,
      is_elsewhere, is_ahead,
      date_trunc(step, new_hour, 'UTC') AS new_at, date_trunc(step, old_hour, 'UTC') AS old_at
    FROM written, unnest(ARRAY ['day', 'month']) AS step
    WHERE is_elsewhere OR is_in_new_hour
  ), counted_in_steps AS (
    INSERT INTO fleet_steps (app_id, step, at, channel, version, platform, devices)
    SELECT app_id, step, at, channel, version, platform, sum(change)
    FROM (
      SELECT app_id, step, new_at AS at, new_channel AS channel, new_version AS version,
        new_platform AS platform, 1 AS change
      FROM stepped WHERE is_elsewhere OR new_at IS DISTINCT FROM old_at
      UNION ALL
      SELECT app_id, step, old_at, old_channel, old_version, old_platform, -1
      FROM stepped WHERE is_elsewhere AND new_at = old_at OR is_ahead AND new_at <> old_at
    ) AS change GROUP BY app_id, step, at, channel, version, platform HAVING sum(change) <> 0
    ON CONFLICT (app_id, step, at, channel, version, platform)
      DO UPDATE SET devices = fleet_steps.devices + excluded.devices
  )
  SELECT place::integer, coalesce((label_merge).labels, old_labels)::text,
    coalesce(old_labels_revision, 0) + CASE WHEN is_relabelled THEN 1 ELSE 0 END
  FROM moved WHERE label_write IS NOT NULL;
END
$$;

-- As in 000002, with the days and months: those that were over before the oldest hour that stays.
CREATE OR REPLACE FUNCTION sweep_fleet(
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

  DELETE FROM fleet_steps WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM fleet_steps
    WHERE at < date_trunc('day', hours_before, 'UTC') AND at < date_trunc(step, hours_before, 'UTC')
    ORDER BY at LIMIT rows_max
  ));
  RETURN NEXT;
END
$$;

-- As in 000011, with the day and the month in which each device was last seen, which lose it, too.
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

  PERFORM lock_fleet();
  WITH gone AS (
    DELETE FROM devices USING unnest(candidates) AS candidate (device_id)
    WHERE devices.app_id = app AND devices.device_id = candidate.device_id
      AND devices.first_seen > seen_after
      AND (only_version IS NULL OR devices.version = only_version)
    RETURNING devices.device_id, devices.channel, devices.version, devices.platform,
      devices.last_seen, date_trunc('hour', devices.last_seen, 'UTC') AS hour
  ), uncounted AS (
    UPDATE fleet_counts SET devices = fleet_counts.devices - cell.devices
    FROM (
      SELECT channel, version, platform, count(*) AS devices
      FROM gone GROUP BY channel, version, platform
    ) AS cell
    WHERE fleet_counts.app_id = app AND fleet_counts.channel = cell.channel
      AND fleet_counts.version = cell.version AND fleet_counts.platform = cell.platform
  ), uncounted_in_hours AS (
    UPDATE fleet_hours SET devices = fleet_hours.devices - cell.devices
    FROM (
      SELECT hour, channel, version, platform, count(*) AS devices
      FROM gone GROUP BY hour, channel, version, platform
    ) AS cell
    WHERE fleet_hours.app_id = app AND fleet_hours.hour = cell.hour
      AND fleet_hours.channel = cell.channel AND fleet_hours.version = cell.version
      AND fleet_hours.platform = cell.platform
  ), uncounted_in_steps AS (
    UPDATE fleet_steps SET devices = fleet_steps.devices - cell.devices
    FROM (
      SELECT step, date_trunc(step, last_seen, 'UTC') AS at, channel, version, platform, count(*) AS devices
      FROM gone, unnest(ARRAY ['day', 'month']) AS step GROUP BY 1, 2, 3, 4, 5
    ) AS cell
    WHERE fleet_steps.app_id = app AND fleet_steps.step = cell.step AND fleet_steps.at = cell.at
      AND fleet_steps.channel = cell.channel AND fleet_steps.version = cell.version
      AND fleet_steps.platform = cell.platform
  ), forgotten AS (
    DELETE FROM device_versions USING gone
    WHERE device_versions.app_id = app AND device_versions.device_id = gone.device_id
  )
  SELECT coalesce(array_agg(device_id), '{}') INTO purged FROM gone;
  RETURN NEXT;
END
$$;
