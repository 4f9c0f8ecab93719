-- Check-ins of devices are recorded here: statement by statement the hottest write of the service.

-- Records check-ins, one per place of the arrays; no two of them may be about the same device. Empty versions and
-- offers are unknown ones. Answers, by the check-in's place from 1, the labels as they are then of the devices
-- whose check-in carried some. A `writer` with a name is also told of the devices that were left as they are, or
-- were seen later by somebody else, with the millisecond in which the record says they were seen last.
--
-- There are two kinds. A check-in that somebody waits for (`are_awaited`) is the newest that there is, whatever its
-- time says: it is recorded as of the present, and if the device has that time already, as of a millisecond later.
-- One that waited in a queue has its own time, and the present when that is in the future. A stored time in the
-- future counts as the present, and becomes it when the device is seen: the hour that is yet to come then loses
-- the device.
--
-- The newest facts win. An unknown version replaces none, and an older check-in's version counts only where none is
-- known. A check-in without a client keeps what is known of both client and bundle; any other has the bundle of the
-- same request, or none. A row is left alone when its only news is that it was seen again, in the same hour and
-- within `freshness_ms`. The changes of the counts, of the hours, days and months, and of the signals follow from
-- the rows as they were and as they are afterwards: so a check-in that comes after a later one of its device counts
-- in no hour of its own and tells of no version, and a version that the device had between two recorded check-ins
-- is not seen.
--
-- A version change goes into the slot of its number modulo 100, from 0 on, whatever the `history` is: so another
-- history moves no row. It deletes the change that is `history` older than itself.
--
-- The plan is made once per connection, possibly while `devices` is still empty: it looks up each device by its key
-- all the same. A plan that uses what is switched off here counts as dear enough to be compiled, which takes longer
-- than to run it: hence no jit.
CREATE OR REPLACE FUNCTION record_check_ins(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean,
  clients text[], bundles text[], freshness_ms integer, history integer, writer text DEFAULT '',
  device_networks text[] DEFAULT NULL
) RETURNS TABLE (
  check_in_place integer, current_labels text, current_revision integer, seen_ms bigint
)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  freshness CONSTANT interval := freshness_ms * interval '1 millisecond';
  present timestamptz(3);
  present_ms bigint;
  parts smallint[];
BEGIN
  parts := lock_device_parts(app_ids, device_ids);
  PERFORM note_writer(parts, CASE WHEN are_awaited THEN NULL ELSE writer END);
  IF cardinality(array_remove(label_writes, NULL)) > 0 THEN PERFORM announce_label_positions(); END IF;
  -- Under the locks, so that no writer of a part has an earlier present than the one before it.
  present := fleet_time();
  present_ms := (extract(epoch FROM present) * 1000)::bigint;
  -- A statement of its own, so that it sees what the locks' last holders have committed.
  RETURN QUERY
  WITH compared AS MATERIALIZED (
    SELECT checked.*,
      checked.at > checked.old_last_seen IS NOT FALSE AS is_newer,
      checked.offer <> '' AND checked.at > checked.old_offered_at IS NOT FALSE AS is_offered,
      -- Null when there is nothing to merge, or nothing worth it: labels that it has, written again.
      CASE WHEN checked.label_write IS NOT NULL AND (
        checked.old_labels @> checked.label_write
          AND checked.at < checked.old_last_seen + freshness
      ) IS NOT TRUE THEN merge_label_write(
        coalesce(checked.old_labels, '{}'), coalesce(checked.old_label_times, '{}'), checked.label_write,
        checked.ms, present_ms
      ) END AS label_merge
    FROM (
      SELECT dated.*, to_timestamp(dated.ms / 1000.0)::timestamptz(3) AS at
      FROM (
        SELECT item.place, device_part(item.app_id, item.device_id) AS part, item.app_id,
          item.device_id, item.channel, item.version, item.platform,
          item.arch, item.source, item.client, item.bundle, item.offer,
          hashtextextended(item.network, 0) AS network,
          item.label_write::jsonb AS label_write,
          CASE WHEN NOT are_awaited THEN least(item.ms, present_ms)
            WHEN old.last_seen >= present THEN present_ms + 1 ELSE present_ms END AS ms,
          old.ctid AS old_row,
          old.first_seen AS old_first_seen,
          old.last_seen AS old_stored_seen,
          least(old.first_reported, CASE WHEN old.source = 'push' THEN old.last_seen END)
            AS old_first_reported,
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
          old.network AS old_network,
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
          clients, bundles, device_networks
        ) WITH ORDINALITY AS item (
          app_id, device_id, channel, version, platform, arch, source, ms, offer, label_write, client,
          bundle, network, place
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
      CASE WHEN is_newer THEN network ELSE old_network END AS new_network,
      CASE WHEN is_newer AND client <> '' THEN client ELSE coalesce(old_client, '') END AS new_client,
      CASE WHEN is_newer AND client <> '' THEN bundle ELSE coalesce(old_bundle, '') END AS new_bundle,
      CASE WHEN is_newer THEN at ELSE old_last_seen END AS new_last_seen,
      date_trunc('hour', CASE WHEN is_newer THEN at ELSE old_last_seen END, 'UTC') AS new_hour,
      least(old_first_seen, at) AS new_first_seen,
      least(old_first_reported, CASE WHEN source = 'push' THEN at END) AS new_first_reported,
      -- Whether the check-in tells the version that the device is on record with after it.
      version <> '' AND (is_newer OR old_version = '') AS is_told,
      coalesce((label_merge).labels <> coalesce(old_labels, '{}'), FALSE) AS is_relabelled
    FROM compared
  ), moved AS NOT MATERIALIZED (
    SELECT merged.*,
      (new_channel, new_version, new_platform) IS DISTINCT FROM
        (old_channel, old_version, old_platform) AS is_elsewhere,
      new_hour IS DISTINCT FROM old_hour AS is_in_new_hour
    FROM merged
  ), judged AS NOT MATERIALIZED (
    SELECT moved.*, (
      is_new OR is_elsewhere OR is_in_new_hour OR is_relabelled OR is_ahead
      OR new_arch <> old_arch OR new_source <> old_source
      OR new_client <> old_client OR new_bundle <> old_bundle
      OR at >= old_last_seen + freshness OR at < old_first_seen
      OR is_offered AND offer IS DISTINCT FROM old_offer
    ) IS TRUE AS is_written
    FROM moved
  ), written AS MATERIALIZED (
    SELECT judged.*, CASE WHEN is_relabelled THEN nextval('label_positions') END AS new_position
    FROM judged WHERE is_written
  ), inserted AS (
    INSERT INTO devices (
      app_id, device_id, first_seen, first_reported, last_seen, last_offered_at, labels_revision,
      labels_position, channel, version, platform, arch, source, client, bundle,
      network, last_offered_release_id, labels, label_times
    )
    SELECT app_id, device_id, at, new_first_reported, at, CASE WHEN is_offered THEN at END,
      CASE WHEN is_relabelled THEN 1 ELSE 0 END, new_position, channel, version, platform, arch, source,
      new_client, new_bundle, new_network, nullif(offer, ''), coalesce((label_merge).labels, '{}'),
      coalesce((label_merge).times, '{}')
    FROM written WHERE is_new
  ), updated AS (
    UPDATE devices SET
      first_seen = written.new_first_seen,
      first_reported = written.new_first_reported,
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
      network = written.new_network,
      last_offered_release_id = CASE WHEN is_offered THEN written.offer ELSE written.old_offer END,
      labels = coalesce((label_merge).labels, written.old_labels),
      label_times = coalesce((label_merge).times, CASE WHEN is_ahead
        THEN limit_label_times(written.old_label_times, present_ms) ELSE written.old_label_times END)
    FROM written
    WHERE devices.app_id = written.app_id AND devices.device_id = written.device_id
      AND devices.ctid = written.old_row
  ), remembered AS (
    INSERT INTO device_versions (app_id, device_id, slot, at, from_version, to_version)
    SELECT app_id, device_id, old_version_changes % 100, at, nullif(old_version, ''), new_version
    FROM written WHERE new_version <> old_version
    ON CONFLICT (app_id, device_id, slot) DO UPDATE SET
      at = excluded.at, from_version = excluded.from_version, to_version = excluded.to_version
  ), outlived AS (
    -- With a history of 100, the new row takes the place of this one.
    DELETE FROM device_versions USING written
    CROSS JOIN LATERAL (
      SELECT ctid AS outlived_row FROM device_versions AS version
      WHERE version.app_id = written.app_id AND version.device_id = written.device_id
        AND version.slot = ((written.old_version_changes - history) % 100)::smallint OFFSET 0
    ) AS found
    WHERE history < 100 AND written.new_version <> written.old_version
      AND written.old_version_changes >= history AND device_versions.ctid = outlived_row
  ), transition AS MATERIALIZED (
    -- Devices of a batch go from few cells to few others: what is counted follows from these.
    SELECT app_id, part, is_new, is_elsewhere, is_in_new_hour, is_ahead, new_hour, new_channel, new_version,
      new_platform, old_hour, old_channel, old_version, old_platform, count(*) AS devices
    FROM written WHERE is_elsewhere OR is_in_new_hour
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
  ), counted AS (
    INSERT INTO fleet_count_parts (app_id, channel, version, platform, part, devices)
    SELECT app_id, channel, version, platform, part, sum(change)
    FROM (
      SELECT app_id, part, new_channel AS channel, new_version AS version, new_platform AS platform,
        devices AS change
      FROM transition WHERE is_elsewhere
      UNION ALL
      SELECT app_id, part, old_channel, old_version, old_platform, -devices
      FROM transition WHERE is_elsewhere AND NOT is_new
    ) AS change GROUP BY app_id, channel, version, platform, part HAVING sum(change) <> 0
    ON CONFLICT (app_id, channel, version, platform, part)
      DO UPDATE SET devices = fleet_count_parts.devices + excluded.devices
  ), counted_in_hours AS (
    INSERT INTO fleet_hour_parts (app_id, hour, channel, version, platform, part, devices)
    SELECT app_id, hour, channel, version, platform, part, sum(change)
    FROM (
      SELECT app_id, part, new_hour AS hour, new_channel AS channel, new_version AS version,
        new_platform AS platform, devices AS change
      FROM transition
      UNION ALL
      SELECT app_id, part, old_hour, old_channel, old_version, old_platform, -devices
      FROM transition WHERE is_elsewhere AND NOT is_in_new_hour OR is_ahead AND is_in_new_hour
    ) AS change GROUP BY app_id, hour, channel, version, platform, part HAVING sum(change) <> 0
    ON CONFLICT (app_id, hour, channel, version, platform, part)
      DO UPDATE SET devices = fleet_hour_parts.devices + excluded.devices
  ), stepped AS MATERIALIZED (
    SELECT transition.*, step,
      date_trunc(step, new_hour, 'UTC') AS new_at, date_trunc(step, old_hour, 'UTC') AS old_at
    FROM transition, unnest(ARRAY ['day', 'month']) AS step
  ), counted_in_steps AS (
    INSERT INTO fleet_step_parts (app_id, step, at, channel, version, platform, part, devices)
    SELECT app_id, step, at, channel, version, platform, part, sum(change)
    FROM (
      SELECT app_id, part, step, new_at AS at, new_channel AS channel, new_version AS version,
        new_platform AS platform, devices AS change
      FROM stepped WHERE is_elsewhere OR new_at IS DISTINCT FROM old_at
      UNION ALL
      SELECT app_id, part, step, old_at, old_channel, old_version, old_platform, -devices
      FROM stepped WHERE is_elsewhere AND new_at = old_at OR is_ahead AND new_at <> old_at
    ) AS change GROUP BY app_id, step, at, channel, version, platform, part HAVING sum(change) <> 0
    ON CONFLICT (app_id, step, at, channel, version, platform, part)
      DO UPDATE SET devices = fleet_step_parts.devices + excluded.devices
  ), told AS MATERIALIZED (
    SELECT DISTINCT app_id, new_channel, new_version FROM written WHERE is_told
  ), running AS MATERIALIZED (
    -- The watched release of each version that was told, the channel's own before that of the one it follows.
    -- Here and below, OFFSET 0 keeps tables of which nothing is known yet from being looked through for each row.
    SELECT max(release.published_at) AS newest,
      jsonb_object_agg(told.app_id || ' ' || told.new_version || ' ' || told.new_channel, jsonb_build_object(
        'id', release.id, 'ms', (extract(epoch FROM release.published_at) * 1000)::bigint
      )) AS by_name
    FROM told
    CROSS JOIN LATERAL (
      SELECT id, follows FROM channels WHERE app_id = told.app_id AND name = told.new_channel OFFSET 0
    ) AS place
    CROSS JOIN LATERAL (
      SELECT id, published_at, is_watched FROM releases
      WHERE channel_id IN (place.id, place.follows) AND canonical_version = told.new_version
      ORDER BY channel_id = place.id DESC LIMIT 1
    ) AS release
    WHERE release.is_watched AND release.published_at IS NOT NULL
  ), offering AS MATERIALIZED (
    SELECT jsonb_object_agg(id, jsonb_build_object(
      'id', id, 'ms', (extract(epoch FROM published_at) * 1000)::bigint, 'hasFailed', has_failed
    )) AS by_id
    FROM (SELECT DISTINCT offer FROM written WHERE is_offered AND offer IS DISTINCT FROM old_offer) AS given
    CROSS JOIN LATERAL (
      SELECT id, published_at, EXISTS (
        SELECT FROM release_failures WHERE release_id = releases.id AND NOT is_offered
      ) AS has_failed
      FROM releases WHERE id = given.offer AND is_watched AND published_at IS NOT NULL OFFSET 0
    ) AS release
  ), noted AS MATERIALIZED (
    -- Check-ins that may be a first: an offer of another release than the last one, or a version that is told
    -- from elsewhere than before, or for the first time since its release was published. A device that stays
    -- where it is, as almost all do, costs no look at what it has done.
    SELECT app_id, device_id, part, at, new_channel, new_version, new_first_seen, new_first_reported, offered,
      CASE WHEN extract(epoch FROM at) * 1000 >= (run ->> 'ms')::bigint AND (
        is_elsewhere OR extract(epoch FROM old_stored_seen) * 1000 < (run ->> 'ms')::bigint
      ) THEN run END AS run,
      is_told AND is_newer AND is_elsewhere AS may_revert,
      CASE WHEN is_new THEN '{}' ELSE ARRAY (
        SELECT release_id FROM release_devices AS before
        WHERE before.app_id = written.app_id AND before.device_id = written.device_id
      ) END AS reached_ids
    FROM written
    CROSS JOIN LATERAL (
      SELECT CASE WHEN is_offered AND offer IS DISTINCT FROM old_offer
        THEN (SELECT by_id FROM offering) -> offer END AS offered,
        CASE WHEN is_told THEN (SELECT by_name FROM running)
          -> (app_id || ' ' || new_version || ' ' || new_channel) END AS run
      OFFSET 0
    ) AS told_of
    WHERE (
        is_offered AND offer IS DISTINCT FROM old_offer
        OR is_told AND (is_elsewhere OR old_stored_seen < (SELECT newest FROM running))
      )
      AND (offered IS NOT NULL OR run IS NOT NULL OR NOT is_new)
  ), reached AS (
    INSERT INTO release_devices (
      app_id, device_id, release_id, known, pushed, offered_at, installed_at, installed_on
    )
    SELECT app_id, device_id, first.id, signal_edge(published_at - new_first_seen),
      coalesce(signal_edge(published_at - new_first_reported), -1),
      CASE WHEN first.id = offered ->> 'id' THEN at END,
      CASE WHEN first.id = run ->> 'id' THEN at END,
      CASE WHEN first.id = run ->> 'id' THEN new_channel END
    FROM noted
    CROSS JOIN LATERAL (
      SELECT one ->> 'id' AS id, to_timestamp((one ->> 'ms')::bigint / 1000.0)::timestamptz(3) AS published_at
      FROM (SELECT offered AS one UNION ALL SELECT run WHERE run ->> 'id' IS DISTINCT FROM offered ->> 'id')
        AS given
      WHERE one IS NOT NULL OFFSET 0
    ) AS first
    WHERE new_first_seen <= published_at AND first.id <> ALL (reached_ids)
    RETURNING release_id, app_id, device_id, known, pushed, offered_at, installed_at
  ), lower AS MATERIALIZED (
    SELECT jsonb_object_agg(new_version, version_key(new_version)) AS keys
    FROM (SELECT DISTINCT new_version FROM noted WHERE may_revert AND cardinality(reached_ids) > 0) AS told
  ), higher AS MATERIALIZED (
    SELECT jsonb_object_agg(id, version_key(canonical_version)) AS keys
    FROM (SELECT DISTINCT unnest(reached_ids) AS release_id FROM noted WHERE may_revert) AS left_behind
    CROSS JOIN LATERAL (
      SELECT id, canonical_version FROM releases
      WHERE id = left_behind.release_id AND status <> 'rolled_back' OFFSET 0
    ) AS release
  ), going AS MATERIALIZED (
    SELECT before.release_id, before.device_id, before.known, before.pushed, before.ctid AS reached_row,
      noted.part, noted.at, noted.new_channel,
      (before.offered_at IS NULL AND offered ->> 'id' = before.release_id) IS TRUE AS is_offered,
      (before.installed_at IS NULL AND run ->> 'id' = before.release_id) IS TRUE AS is_installed,
      (before.reverted_at IS NULL AND may_revert AND before.installed_on = new_channel
        AND ((SELECT keys FROM higher) ->> before.release_id) COLLATE "C"
          > ((SELECT keys FROM lower) ->> new_version) COLLATE "C") IS TRUE AS is_reverted
    FROM noted
    CROSS JOIN LATERAL (
      SELECT ctid, * FROM release_devices
      WHERE release_devices.app_id = noted.app_id AND release_devices.device_id = noted.device_id OFFSET 0
    ) AS before
    WHERE cardinality(reached_ids) > 0
  ), gone_on AS (
    UPDATE release_devices SET
      offered_at = CASE WHEN is_offered THEN at ELSE offered_at END,
      installed_at = CASE WHEN is_installed THEN at ELSE installed_at END,
      installed_on = CASE WHEN is_installed THEN new_channel ELSE installed_on END,
      reverted_at = CASE WHEN is_reverted THEN at ELSE reverted_at END
    FROM going
    WHERE release_devices.ctid = reached_row AND (is_offered OR is_installed OR is_reverted)
  ), firsts AS MATERIALIZED (
    SELECT release_id, device_id, device_part(app_id, device_id) AS part, known, pushed,
      coalesce(offered_at, installed_at) AS at, TRUE AS is_reached, offered_at IS NOT NULL AS is_offered,
      installed_at IS NOT NULL AS is_installed, FALSE AS is_reverted
    FROM reached
    UNION ALL
    SELECT release_id, device_id, part, known, pushed, at, FALSE, is_offered, is_installed, is_reverted
    FROM going WHERE is_offered OR is_installed OR is_reverted
  ), failed AS (
    -- A failure that was told before the offer counts from now on.
    UPDATE release_failures SET is_offered = TRUE, known = firsts.known, pushed = firsts.pushed
    FROM firsts
    CROSS JOIN LATERAL (
      SELECT ctid AS failed_row FROM release_failures AS failure
      WHERE failure.release_id = firsts.release_id AND failure.device_id = firsts.device_id
        AND NOT failure.is_offered OFFSET 0
    ) AS told_before
    WHERE firsts.is_offered AND ((SELECT by_id FROM offering) -> firsts.release_id -> 'hasFailed')::boolean
      AND release_failures.ctid = failed_row
  ), ways AS MATERIALIZED (
    SELECT release_id, part, known, pushed, date_bin('1 hour', at, 'epoch') AS hour,
      is_reached, is_offered, is_installed, is_reverted, count(*) AS devices
    FROM firsts GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
  ), signalled AS (
    INSERT INTO release_signals (release_id, kind, part, known, pushed, at, devices)
    SELECT release_id, kind, part, known, pushed, signal.at, sum(devices)
    FROM ways CROSS JOIN LATERAL (
      SELECT 'reached' AS kind, 'epoch'::timestamptz AS at WHERE is_reached
      UNION ALL SELECT 'offered', hour WHERE is_offered
      UNION ALL SELECT 'installed', hour WHERE is_installed
      UNION ALL SELECT 'reverted', hour WHERE is_reverted
    ) AS signal GROUP BY release_id, kind, part, known, pushed, signal.at
    ON CONFLICT (release_id, kind, part, known, pushed, at)
      DO UPDATE SET devices = release_signals.devices + excluded.devices
  )
  SELECT place::integer,
    CASE WHEN label_write IS NOT NULL THEN coalesce((label_merge).labels, old_labels)::text END,
    coalesce(old_labels_revision, 0) + CASE WHEN is_relabelled THEN 1 ELSE 0 END,
    CASE WHEN NOT is_written OR NOT is_newer THEN (extract(epoch FROM old_last_seen) * 1000)::bigint END
  FROM judged
  WHERE label_write IS NOT NULL OR writer <> '' AND (NOT is_written OR NOT is_newer);
  IF are_awaited THEN PERFORM note_awaited(app_ids, device_ids); END IF;
END
$$;
