-- The fleet's time is this database's: nodes have clocks of their own, and some are wrong. And every change
-- of a device's labels gets a position, so that nodes find the changes that nobody told them.

-- When the device's labels changed last, in the order in which changes were committed; null when they never
-- changed since there are positions.
ALTER TABLE devices ADD COLUMN labels_position bigint;

-- Taken under the lock of the fleet, which is held until the commit: a position that is committed is above
-- all that were committed before it. Never taken twice, also when devices are forgotten.
CREATE SEQUENCE label_positions AS bigint;

-- Only the devices whose labels changed are in it, and only such a change moves one.
CREATE INDEX devices_by_labels_position ON devices (labels_position) WHERE labels_position IS NOT NULL;

-- The present as far as the fleet's record goes: the clock of this database, in whole milliseconds. It is a
-- function, so that tests can set it.
CREATE FUNCTION fleet_time() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
  SELECT date_trunc('milliseconds', clock_timestamp())
$$;

-- The times of labels, where those above a maximum become the maximum. In milliseconds since 1970.
CREATE FUNCTION limit_label_times(label_times jsonb, ms_max bigint) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(jsonb_object_agg(key, least(value::bigint, ms_max)), '{}')
  FROM jsonb_each(label_times)
$$;

DROP FUNCTION record_check_ins(
  text[], text[], text[], text[], text[], text[], text[], bigint[], text[], text[]
);
DROP FUNCTION merge_labels(jsonb, jsonb, jsonb, bigint);

-- Labels with a write of labels merged into them. Of each key the newest write counts, the stored one on a
-- tie; a stored time above `ms_max` counts as that. There are at most 16: those of the newest write first,
-- then by key in the order of their code units.
CREATE FUNCTION merge_labels(
  stored jsonb, stored_times jsonb, written jsonb, written_at bigint, ms_max bigint
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
        SELECT key, value, least((stored_times -> key)::bigint, ms_max) AS at, FALSE AS is_new
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

-- As in 000002, with two kinds of check-ins. One that somebody waits for (`are_awaited`) is the newest that
-- there is, whatever its time says: it is recorded as of the present, and if the device has that time
-- already, as of a millisecond later. One that waited in a queue has its own time, and the present when that
-- is in the future. A stored time in the future counts as the present, and becomes it when the device is
-- seen: the hour that is yet to come then loses the device. The last argument has a default because nodes of
-- an older version do not give it.
CREATE FUNCTION record_check_ins(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean DEFAULT FALSE
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
          item.arch, item.source, item.offer, item.label_write::jsonb AS label_write,
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
          old.version_changes AS old_version_changes,
          CASE WHEN old.last_offered_at > present THEN present ELSE old.last_offered_at END
            AS old_offered_at,
          old.last_offered_release_id AS old_offer,
          old.labels_revision AS old_labels_revision,
          old.labels_position AS old_labels_position,
          old.labels AS old_labels,
          old.label_times AS old_label_times
        FROM unnest(
          app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers, label_writes
        ) WITH ORDINALITY AS item (
          app_id, device_id, channel, version, platform, arch, source, ms, offer, label_write, place
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
      OR at >= old_last_seen + interval '5 minutes' OR at < old_first_seen
      OR is_offered AND offer IS DISTINCT FROM old_offer
  ), inserted AS (
    INSERT INTO devices (
      app_id, device_id, first_seen, last_seen, last_offered_at, labels_revision, labels_position,
      channel, version, platform, arch, source, last_offered_release_id, labels, label_times
    )
    SELECT app_id, device_id, at, at, CASE WHEN is_offered THEN at END,
      CASE WHEN is_relabelled THEN 1 ELSE 0 END, new_position, channel, version, platform, arch, source,
      nullif(offer, ''), coalesce((label_merge).labels, '{}'), coalesce((label_merge).times, '{}')
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
  )
  SELECT place::integer, coalesce((label_merge).labels, old_labels)::text,
    coalesce(old_labels_revision, 0) + CASE WHEN is_relabelled THEN 1 ELSE 0 END
  FROM moved WHERE label_write IS NOT NULL;
END
$$;
