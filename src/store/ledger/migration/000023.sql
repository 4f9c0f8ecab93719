-- How far behind a device's last sighting may be, and how many of its version changes are kept, are for the
-- operator to say.

DROP FUNCTION record_checks(
  text[], text[], text[], text[], text[], text[], text[], bigint[], text[], text[], boolean, text[], text[],
  integer, integer, integer, text[], text[]
);
DROP FUNCTION record_check_ins(
  text[], text[], text[], text[], text[], text[], text[], bigint[], text[], text[], boolean, text[], text[]
);

-- As in 000021, with both numbers. A version change still goes into the slot of its number modulo 100, from 0
-- on, whatever the history is: so another history moves no row. It deletes the change that is `history` older
-- than itself. The last two arguments have defaults because nodes of an older version do not give them.
CREATE FUNCTION record_check_ins(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean DEFAULT FALSE,
  clients text[] DEFAULT NULL, bundles text[] DEFAULT NULL, freshness_ms integer DEFAULT 300000,
  history integer DEFAULT 100
) RETURNS TABLE (check_in_place integer, current_labels text, current_revision integer)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  freshness CONSTANT interval := freshness_ms * interval '1 millisecond';
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
          AND checked.at < checked.old_last_seen + freshness
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
      OR at >= old_last_seen + freshness OR at < old_first_seen
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
  ), outlived AS (
    -- With a history of 100, the new row takes the place of this one.
    DELETE FROM device_versions USING written
    WHERE history < 100 AND written.new_version <> written.old_version
      AND written.old_version_changes >= history
      AND device_versions.app_id = written.app_id AND device_versions.device_id = written.device_id
      AND device_versions.slot = ((written.old_version_changes - history) % 100)::smallint
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

-- As in 000015, with both numbers.
CREATE FUNCTION record_checks(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean,
  networks text[], wide_networks text[], network_max integer, wide_max integer, app_max integer,
  clients text[] DEFAULT NULL, bundles text[] DEFAULT NULL, freshness_ms integer DEFAULT 300000,
  history integer DEFAULT 100
) RETURNS TABLE (
  check_in_place integer, current_labels text, current_revision integer, refused_by text
)
LANGUAGE plpgsql VOLATILE SET jit = off AS $$
#variable_conflict use_variable
DECLARE
  refusals text[] := array_fill(NULL::text, ARRAY [cardinality(app_ids)]);
  refusal record;
  is_any_refused boolean := FALSE;
  places integer[];
BEGIN
  PERFORM lock_fleet();
  FOR refusal IN SELECT * FROM admit_check_ins(
    app_ids, device_ids, times, networks, wide_networks, network_max, wide_max, app_max
  ) LOOP
    refusals[refusal.refused_place] := refusal.bound;
    is_any_refused := TRUE;
  END LOOP;
  IF is_any_refused THEN
    RETURN QUERY
    SELECT item.place::integer, NULL::text, NULL::integer, item.bound
    FROM unnest(refusals) WITH ORDINALITY AS item (bound, place) WHERE item.bound IS NOT NULL;
    SELECT array_agg(place::integer), array_agg(app_id), array_agg(device_id), array_agg(channel),
      array_agg(version), array_agg(platform), array_agg(arch), array_agg(source), array_agg(ms),
      array_agg(offer), array_agg(label_write), array_agg(client), array_agg(bundle)
    INTO places, app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers,
      label_writes, clients, bundles
    FROM (
      SELECT * FROM unnest(
        app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers,
        label_writes, clients, bundles, refusals
      ) WITH ORDINALITY AS item (
        app_id, device_id, channel, version, platform, arch, source, ms, offer, label_write, client,
        bundle, bound, place
      )
      WHERE item.bound IS NULL ORDER BY item.place
    ) AS kept;
    IF places IS NULL THEN RETURN; END IF;
  END IF;
  RETURN QUERY
  SELECT coalesce(places[recorded.check_in_place], recorded.check_in_place),
    recorded.current_labels, recorded.current_revision, NULL::text
  FROM record_check_ins(
    app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers, label_writes,
    are_awaited, clients, bundles, freshness_ms, history
  ) AS recorded;
END
$$;

-- Where the last search of `trim_device_versions` ended; each begins where the one before it did, of any node.
CREATE TABLE device_versions_trim (
  is_only boolean PRIMARY KEY DEFAULT TRUE CHECK (is_only),
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  slot smallint NOT NULL
);

INSERT INTO device_versions_trim (app_id, device_id, slot) VALUES ('', '', -1);

-- Number of changes that a device had after the one in a slot.
CREATE FUNCTION changes_after(slot smallint, version_changes integer) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (version_changes - 1 - slot) % 100
$$;

-- Deletes version changes that are not among the newest `history` of their device: those from before the
-- history was so short, and those that nodes with a longer one left. Each call looks at the next few rows in
-- the order of the key, and begins again after the last one. Returns how many it deleted.
CREATE FUNCTION trim_device_versions(history integer, rows_max integer) RETURNS integer
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
    PERFORM lock_fleet();
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
