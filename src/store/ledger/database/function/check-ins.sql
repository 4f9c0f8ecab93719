-- Recording of check-ins, the most frequent write of the service.
--
-- `record_check_ins` takes the locks and calls the others, each of which does one thing for the whole batch:
--
--   compare_check_ins   looks up each device as it is on record
--   judge_check_ins     decides what each check-in changes in its device
--   write_devices       writes the devices, and collects what changed
--   remember_versions   keeps the newest version changes
--   count_cells         moves the devices from their old cells of the counts to the new ones
--   note_signals        counts the firsts of devices with releases (check-in-signals.sql)
--
-- The first two only select, so PostgreSQL inlines them into the statement of `write_devices`. The others are
-- PL/pgSQL, whose plans stay in the connection. They get arrays of the affected devices, which are mostly empty,
-- because most check-ins only show that a device is still there.

-- Check-ins beside the devices as they are on record, with the times that count. Merges labels once for all functions
-- that follow: OFFSET 0 keeps PostgreSQL from repeating the merge wherever the result is used.
CREATE OR REPLACE FUNCTION compare_check_ins(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[], clients text[], bundles text[],
  device_networks text[], are_awaited boolean, freshness interval, present timestamptz, present_ms bigint
) RETURNS TABLE (
  place bigint, part smallint, app_id text, device_id text, channel text, version text, platform text, arch text,
  source text, client text, bundle text, offer text, network bigint, label_write jsonb, at timestamptz,
  old_row tid, old_first_seen timestamptz, old_stored_seen timestamptz, old_first_reported timestamptz,
  old_last_seen timestamptz, is_ahead boolean, old_hour timestamptz, old_channel text, old_version text,
  old_platform text, old_arch text, old_source text, old_client text, old_bundle text, old_network bigint,
  old_version_changes integer, old_offered_at timestamptz, old_offer text, old_labels_revision integer,
  old_labels_position bigint, old_labels jsonb, old_label_times jsonb,
  is_newer boolean, is_offered boolean, label_merge written_labels
) LANGUAGE sql STABLE AS $$
  SELECT place, part, app_id, device_id, channel, version, platform, arch, source, client, bundle, offer, network,
    label_write, at, old_row, old_first_seen, old_stored_seen, old_first_reported, old_last_seen, is_ahead, old_hour,
    old_channel, old_version, old_platform, old_arch, old_source, old_client, old_bundle, old_network,
    old_version_changes, old_offered_at, old_offer, old_labels_revision, old_labels_position, old_labels,
    old_label_times,
    at > old_last_seen IS NOT FALSE,
    offer <> '' AND at > old_offered_at IS NOT FALSE,
    -- Null when there is nothing to merge, or nothing worth it: labels that it has, sent again. Those that somebody
    -- waits for get the new time all the same: a check-in with others may still be on its way.
    CASE WHEN label_write IS NOT NULL
      AND (NOT are_awaited AND old_labels @> label_write AND at < old_last_seen + freshness) IS NOT TRUE
    THEN merge_label_write(
      coalesce(old_labels, '{}'), coalesce(old_label_times, '{}'), label_write, ms, present_ms
    ) END
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
        least(old.first_reported, CASE WHEN old.source = 'push' THEN old.last_seen END) AS old_first_reported,
        CASE WHEN old.last_seen > present THEN present ELSE old.last_seen END AS old_last_seen,
        old.last_seen > present IS TRUE AS is_ahead,
        date_trunc('hour', old.last_seen, 'UTC') AS old_hour,
        old.channel AS old_channel, old.version AS old_version, old.platform AS old_platform,
        old.arch AS old_arch, old.source AS old_source, old.client AS old_client, old.bundle AS old_bundle,
        old.network AS old_network, old.version_changes AS old_version_changes,
        CASE WHEN old.last_offered_at > present THEN present ELSE old.last_offered_at END AS old_offered_at,
        old.last_offered_release_id AS old_offer, old.labels_revision AS old_labels_revision,
        old.labels_position AS old_labels_position, old.labels AS old_labels, old.label_times AS old_label_times
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
  OFFSET 0
$$;

-- Effect of check-ins on their devices. The newest facts win. An unknown version replaces none, and an older
-- check-in's version counts only if none is known. A check-in without a client keeps the known client and bundle; any
-- other one brings its own bundle, or none. A row is not written (`is_written`) if the device was only seen again, in
-- the same hour and within `freshness`.
CREATE OR REPLACE FUNCTION judge_check_ins(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[], clients text[], bundles text[],
  device_networks text[], are_awaited boolean, freshness interval, present timestamptz, present_ms bigint
) RETURNS TABLE (
  place bigint, part smallint, app_id text, device_id text, at timestamptz, offer text, label_write jsonb,
  is_newer boolean, is_offered boolean, is_ahead boolean, label_merge written_labels, old_row tid,
  old_stored_seen timestamptz, old_last_seen timestamptz, old_hour timestamptz, old_channel text, old_version text,
  old_platform text, old_version_changes integer, old_offered_at timestamptz, old_offer text,
  old_labels_revision integer, old_labels_position bigint, old_labels jsonb, old_label_times jsonb,
  new_channel text, new_version text, new_platform text, new_arch text, new_source text, new_network bigint,
  new_client text, new_bundle text, new_last_seen timestamptz, new_hour timestamptz, new_first_seen timestamptz,
  new_first_reported timestamptz, is_new boolean, is_told boolean, is_relabelled boolean, is_elsewhere boolean,
  is_in_new_hour boolean, is_written boolean
) LANGUAGE sql STABLE AS $$
  SELECT place, part, app_id, device_id, at, offer, label_write, is_newer, is_offered, is_ahead, label_merge, old_row,
    old_stored_seen, old_last_seen, old_hour, old_channel, old_version, old_platform, old_version_changes,
    old_offered_at, old_offer, old_labels_revision, old_labels_position, old_labels, old_label_times, new_channel,
    new_version, new_platform, new_arch, new_source, new_network, new_client, new_bundle, new_last_seen, new_hour,
    new_first_seen, new_first_reported, is_new, is_told, is_relabelled, is_elsewhere, is_in_new_hour,
    (
      is_new OR is_elsewhere OR is_in_new_hour OR is_relabelled OR is_ahead
      OR new_arch <> old_arch OR new_source <> old_source
      OR new_client <> old_client OR new_bundle <> old_bundle
      OR at >= old_last_seen + freshness OR at < old_first_seen
      OR are_awaited AND label_merge IS NOT NULL
      OR is_offered AND offer IS DISTINCT FROM old_offer
    ) IS TRUE
  FROM (
    SELECT merged.*,
      (new_channel, new_version, new_platform) IS DISTINCT FROM
        (old_channel, old_version, old_platform) AS is_elsewhere,
      new_hour IS DISTINCT FROM old_hour AS is_in_new_hour
    FROM (
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
        version <> '' AND (is_newer OR old_version = '') AS is_told,
        coalesce((label_merge).labels <> coalesce(old_labels, '{}'), FALSE) AS is_relabelled
      FROM compare_check_ins(
        app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers, label_writes, clients,
        bundles, device_networks, are_awaited, freshness, present, present_ms
      ) AS compared
    ) AS merged
  ) AS moved
$$;

-- Writes the devices, and collects the input of the other functions: changes of cells, news, and the answer of
-- `record_check_ins`.
CREATE OR REPLACE FUNCTION write_devices(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[], clients text[], bundles text[],
  device_networks text[], are_awaited boolean, freshness interval, present timestamptz, writer text,
  OUT cells cell_change[], OUT news device_news[], OUT answer_places integer[], OUT answer_labels text[],
  OUT answer_revisions integer[], OUT answer_seen_ms bigint[]
) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  present_ms CONSTANT bigint := (extract(epoch FROM present) * 1000)::bigint;
  -- Only the past of a release matters that was published after the device came on record, and a version that is
  -- told again is a first only where its release was published since the device was seen.
  newest_release CONSTANT timestamptz := (SELECT max(published_at) FROM releases WHERE is_watched);
BEGIN
  WITH judged AS MATERIALIZED (
    SELECT each_check_in.*,
      CASE WHEN is_written AND is_relabelled THEN nextval('label_positions') END AS new_position
    FROM judge_check_ins(
      app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers, label_writes, clients,
      bundles, device_networks, are_awaited, freshness, present, present_ms
    ) AS each_check_in
  ), inserted AS (
    INSERT INTO devices (
      app_id, device_id, first_seen, first_reported, last_seen, last_offered_at, labels_revision,
      labels_position, channel, version, platform, arch, source, client, bundle,
      network, last_offered_release_id, labels, label_times
    )
    SELECT app_id, device_id, at, new_first_reported, at, CASE WHEN is_offered THEN at END,
      CASE WHEN is_relabelled THEN 1 ELSE 0 END, new_position, new_channel, new_version, new_platform, new_arch,
      new_source, new_client, new_bundle, new_network, nullif(offer, ''),
      coalesce((label_merge).labels, '{}'), coalesce((label_merge).times, '{}')
    FROM judged WHERE is_new
  ), updated AS (
    UPDATE devices SET
      first_seen = judged.new_first_seen,
      first_reported = judged.new_first_reported,
      last_seen = judged.new_last_seen,
      last_offered_at = CASE WHEN is_offered THEN judged.at ELSE judged.old_offered_at END,
      labels_revision = judged.old_labels_revision + CASE WHEN is_relabelled THEN 1 ELSE 0 END,
      labels_position = coalesce(judged.new_position, judged.old_labels_position),
      channel = judged.new_channel,
      version = judged.new_version,
      version_changes = judged.old_version_changes
        + CASE WHEN judged.new_version <> judged.old_version THEN 1 ELSE 0 END,
      platform = judged.new_platform,
      arch = judged.new_arch,
      source = judged.new_source,
      client = judged.new_client,
      bundle = judged.new_bundle,
      network = judged.new_network,
      last_offered_release_id = CASE WHEN is_offered THEN judged.offer ELSE judged.old_offer END,
      labels = coalesce((label_merge).labels, judged.old_labels),
      label_times = coalesce((label_merge).times, CASE WHEN is_ahead
        THEN limit_label_times(judged.old_label_times, present_ms) ELSE judged.old_label_times END)
    FROM judged
    WHERE judged.is_written AND devices.app_id = judged.app_id AND devices.device_id = judged.device_id
      AND devices.ctid = judged.old_row
  ), moved AS (
    -- Devices of a batch go from few cells to few others: what is counted follows from these.
    SELECT ROW (
      app_id, part, is_new, is_elsewhere, is_in_new_hour, is_ahead, new_hour, new_channel, new_version,
      new_platform, old_hour, old_channel, old_version, old_platform, count(*)
    )::cell_change AS cell
    FROM judged WHERE is_elsewhere OR is_in_new_hour
    GROUP BY app_id, part, is_new, is_elsewhere, is_in_new_hour, is_ahead, new_hour, new_channel, new_version,
      new_platform, old_hour, old_channel, old_version, old_platform
  ), answered AS (
    SELECT place::integer,
      CASE WHEN label_write IS NOT NULL THEN jsonb_build_array(
        coalesce((label_merge).labels, old_labels), coalesce((label_merge).times, old_label_times)
      )::text END AS labels,
      coalesce(old_labels_revision, 0) + CASE WHEN is_relabelled THEN 1 ELSE 0 END AS revision,
      CASE WHEN NOT is_written OR NOT is_newer THEN (extract(epoch FROM old_last_seen) * 1000)::bigint END
        AS seen_ms
    FROM judged
    WHERE label_write IS NOT NULL OR writer <> '' AND (NOT is_written OR NOT is_newer)
  ), told AS (
    SELECT judged.*, CASE WHEN is_offered AND offer IS DISTINCT FROM old_offer THEN offer END AS new_offer
    FROM judged WHERE is_written
  )
  SELECT (SELECT array_agg(cell) FROM moved), (
    SELECT array_agg(ROW (
      app_id, device_id, part, at, is_new, is_elsewhere, is_told, is_told AND is_newer AND is_elsewhere, new_channel,
      new_version, new_offer, new_first_seen, new_first_reported, old_version, old_version_changes, old_stored_seen
    )::device_news)
    FROM told
    WHERE (new_offer IS NOT NULL OR is_told AND (is_elsewhere OR old_stored_seen < newest_release))
      AND (NOT is_new OR at <= newest_release)
  ), array_agg(place), array_agg(labels), array_agg(revision), array_agg(seen_ms)
  INTO cells, news, answer_places, answer_labels, answer_revisions, answer_seen_ms
  FROM answered;
END
$$;

-- Keeps the versions that devices ran before. A change goes into the slot of its number modulo 100, for any
-- `history`, so that another history moves no row. It deletes the change that is `history` older; with a history of
-- 100 it replaces that one.
CREATE OR REPLACE FUNCTION remember_versions(news device_news[], history integer) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  WITH changed AS MATERIALIZED (
    SELECT * FROM unnest(news) WHERE version <> old_version
  ), remembered AS (
    INSERT INTO device_versions (app_id, device_id, slot, at, from_version, to_version)
    SELECT app_id, device_id, old_version_changes % 100, at, nullif(old_version, ''), version FROM changed
    ON CONFLICT (app_id, device_id, slot) DO UPDATE SET
      at = excluded.at, from_version = excluded.from_version, to_version = excluded.to_version
  )
  DELETE FROM device_versions USING changed
  CROSS JOIN LATERAL (
    SELECT ctid AS outlived_row FROM device_versions AS version
    WHERE version.app_id = changed.app_id AND version.device_id = changed.device_id
      AND version.slot = ((changed.old_version_changes - history) % 100)::smallint OFFSET 0
  ) AS found
  WHERE history < 100 AND changed.old_version_changes >= history AND device_versions.ctid = outlived_row;
END
$$;

-- Counts devices in their new cells (present, hours, days and months), and subtracts them from the old ones where
-- they were counted: a device counts once in each hour, day and month, in its last cell of that time.
CREATE OR REPLACE FUNCTION count_cells(cells cell_change[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO fleet_count_parts (app_id, channel, version, platform, part, devices)
  SELECT app_id, channel, version, platform, part, sum(change)
  FROM (
    SELECT app_id, part, new_channel AS channel, new_version AS version, new_platform AS platform,
      devices AS change
    FROM unnest(cells) WHERE is_elsewhere
    UNION ALL
    SELECT app_id, part, old_channel, old_version, old_platform, -devices
    FROM unnest(cells) WHERE is_elsewhere AND NOT is_new
  ) AS change GROUP BY app_id, channel, version, platform, part HAVING sum(change) <> 0
  ON CONFLICT (app_id, channel, version, platform, part)
    DO UPDATE SET devices = fleet_count_parts.devices + excluded.devices;

  INSERT INTO fleet_hour_parts (app_id, hour, channel, version, platform, part, devices)
  SELECT app_id, hour, channel, version, platform, part, sum(change)
  FROM (
    SELECT app_id, part, new_hour AS hour, new_channel AS channel, new_version AS version,
      new_platform AS platform, devices AS change
    FROM unnest(cells)
    UNION ALL
    SELECT app_id, part, old_hour, old_channel, old_version, old_platform, -devices
    FROM unnest(cells) WHERE is_elsewhere AND NOT is_in_new_hour OR is_ahead AND is_in_new_hour
  ) AS change GROUP BY app_id, hour, channel, version, platform, part HAVING sum(change) <> 0
  ON CONFLICT (app_id, hour, channel, version, platform, part)
    DO UPDATE SET devices = fleet_hour_parts.devices + excluded.devices;

  WITH stepped AS MATERIALIZED (
    SELECT cell.*, step,
      date_trunc(step, new_hour, 'UTC') AS new_at, date_trunc(step, old_hour, 'UTC') AS old_at
    FROM unnest(cells) AS cell, unnest(ARRAY ['day', 'month']) AS step
  )
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
    DO UPDATE SET devices = fleet_step_parts.devices + excluded.devices;
END
$$;

-- Records check-ins, one per place of the arrays; no two of them may be about the same device. Empty versions and
-- offers are unknown ones. Answers, by the check-in's place from 1, the labels as they are then of the devices
-- whose check-in carried some, and their times: an array of two objects. A `writer` with a name is also told of the devices that were left as they are, or
-- were seen later by somebody else, with the millisecond in which the record says they were seen last.
--
-- There are two kinds. An awaited check-in (`are_awaited`) counts as the newest one: it is recorded at the present,
-- or a millisecond after the device's last-seen time if that is not earlier. A queued one has its own time, or the
-- present if that is in the future. A stored time in the future counts as the present, and becomes it when the device
-- is seen: the device then no longer counts in that future hour.
--
-- Counts and signals follow from the rows before and after. So a check-in that arrives after a later one of its
-- device counts in no hour of its own and reports no version, and a version between two recorded check-ins is not
-- seen.
--
-- Plans are made once per connection, possibly while `devices` is still empty. With the settings here, which also
-- apply to the called functions, they look up each device by its key anyway. A plan that needs a switched-off method
-- seems expensive enough for JIT, which would take longer than the plan itself: hence no JIT.
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
  parts smallint[];
  present timestamptz(3);
  done record;
  erased record;
BEGIN
  parts := lock_device_parts(app_ids, device_ids);
  PERFORM note_writer(parts, CASE WHEN are_awaited THEN NULL ELSE writer END);
  IF cardinality(array_remove(label_writes, NULL)) > 0 THEN PERFORM announce_label_positions(); END IF;
  IF NOT are_awaited THEN
    FOR erased IN SELECT place, erased_ms FROM find_erased(app_ids, device_ids, times) LOOP
      -- Of no app, it is dropped. The writer is told that the device was seen later, which makes it forget it.
      app_ids[erased.place] := '';
      IF writer <> '' THEN
        RETURN QUERY SELECT erased.place, NULL::text, NULL::integer, erased.erased_ms + 1;
      END IF;
    END LOOP;
    label_writes := forget_erased_labels(app_ids, device_ids, label_writes);
  END IF;
  -- Under the locks, so that no writer of a part has an earlier present than the one before it.
  present := fleet_time();
  -- A statement of its own, so that it sees what the locks' last holders have committed.
  SELECT * INTO done FROM write_devices(
    app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers, label_writes, clients,
    bundles, device_networks, are_awaited, freshness_ms * interval '1 millisecond', present, writer
  );
  IF done.news IS NOT NULL THEN
    PERFORM remember_versions(done.news, history);
    PERFORM note_signals(done.news);
  END IF;
  IF done.cells IS NOT NULL THEN PERFORM count_cells(done.cells); END IF;
  IF are_awaited THEN PERFORM note_awaited(app_ids, device_ids); END IF;
  RETURN QUERY SELECT * FROM unnest(
    done.answer_places, done.answer_labels, done.answer_revisions, done.answer_seen_ms
  );
END
$$;
