-- Devices in sixteen parts that are written side by side. Each part has a lock of its own, and its own share of
-- every count, so that no two writers meet in a row; a count is the sum of its shares.

-- A device's part: the number of its partition, which PostgreSQL chooses by this hash of the two texts. Four bits
-- of it are enough for sixteen, so the arithmetic may drop all that is above 32. Whoever records devices can
-- compute it too, and hand the devices of a part to one writer.
CREATE FUNCTION device_part(app_id text, device_id text) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  -- One expression, so that it is compiled into the statements that call it.
  SELECT ((
    (hashtextextended($1, 8816678312871386365) & 4294967295) + 367372515
    # (hashtextextended($2, 8816678312871386365) & 4294967295) + 367372515
      + ((hashtextextended($1, 8816678312871386365) & 4294967295) + 367372515 >> 7)
  ) & 15)::smallint
$$;

-- No check-in may come between the copy and the functions below; readers go on with the table as it was. A call
-- that waits for this lock meanwhile still has the function of before: it asks for `merge_labels`, which is gone,
-- so that it fails as one that came at the wrong moment, writes nothing, and is made again.
SELECT lock_fleet();
ALTER FUNCTION merge_labels(jsonb, jsonb, jsonb, bigint, bigint) RENAME TO merge_label_write;

CREATE TABLE parted_devices (LIKE devices INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
  PARTITION BY HASH (app_id, device_id);

DO $$
BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format(
      'CREATE TABLE devices_%s PARTITION OF parted_devices FOR VALUES WITH (MODULUS 16, REMAINDER %s) WITH (
        fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0
      )', part, part
    );
  END LOOP;
END
$$;

INSERT INTO parted_devices SELECT * FROM devices;
DROP TABLE devices;
ALTER TABLE parted_devices RENAME TO devices;
ALTER TABLE devices ADD CONSTRAINT devices_pkey PRIMARY KEY (app_id, device_id);
CREATE INDEX devices_of_version ON devices (version, app_id, device_id);
CREATE INDEX devices_by_labels_position ON devices (labels_position) WHERE labels_position IS NOT NULL;
CREATE INDEX devices_in_random_order ON devices (device_place(app_id, channel), hashtext(device_id));

-- Pages of all parts of the table of devices.
CREATE FUNCTION device_pages() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT (sum(pg_relation_size(inhrelid)) / current_setting('block_size')::bigint)::bigint
  FROM pg_inherits WHERE inhparent = 'devices'::regclass
$$;

-- The shares of the counts. A part's share may be below zero where a device is counted in another's. Readers
-- see the sums, under the names that the counts always had.
ALTER TABLE fleet_counts RENAME TO fleet_count_parts;
ALTER TABLE fleet_count_parts DROP CONSTRAINT fleet_counts_pkey, ADD COLUMN part smallint NOT NULL DEFAULT -1;
DELETE FROM fleet_count_parts;
INSERT INTO fleet_count_parts (app_id, channel, version, platform, part, devices)
SELECT app_id, channel, version, platform, device_part(app_id, device_id), count(*)
FROM devices GROUP BY 1, 2, 3, 4, 5;
ALTER TABLE fleet_count_parts ALTER COLUMN part DROP DEFAULT,
  ADD PRIMARY KEY (app_id, channel, version, platform, part);

-- What was counted before there were parts, and hours that are over, are no part's: -1.
ALTER TABLE fleet_hours RENAME TO fleet_hour_parts;
ALTER TABLE fleet_hour_parts DROP CONSTRAINT fleet_hours_pkey, ADD COLUMN part smallint NOT NULL DEFAULT -1;
ALTER TABLE fleet_hour_parts ALTER COLUMN part DROP DEFAULT,
  ADD PRIMARY KEY (app_id, hour, channel, version, platform, part);
CREATE INDEX fleet_hour_parts_to_fold ON fleet_hour_parts (hour) WHERE part >= 0;

ALTER TABLE fleet_steps RENAME TO fleet_step_parts;
ALTER TABLE fleet_step_parts DROP CONSTRAINT fleet_steps_pkey, ADD COLUMN part smallint NOT NULL DEFAULT -1;
ALTER TABLE fleet_step_parts ALTER COLUMN part DROP DEFAULT,
  ADD PRIMARY KEY (app_id, step, at, channel, version, platform, part);
CREATE INDEX fleet_step_parts_to_fold ON fleet_step_parts (at) WHERE part >= 0;

CREATE VIEW fleet_counts AS
SELECT app_id, channel, version, platform, sum(devices)::bigint AS devices
FROM fleet_count_parts GROUP BY app_id, channel, version, platform HAVING sum(devices) > 0;

CREATE VIEW fleet_hours AS
SELECT app_id, hour, channel, version, platform, sum(devices)::bigint AS devices
FROM fleet_hour_parts GROUP BY app_id, hour, channel, version, platform HAVING sum(devices) > 0;

CREATE VIEW fleet_steps AS
SELECT app_id, step, at, channel, version, platform, sum(devices)::bigint AS devices,
  bool_or(is_minimum) AS is_minimum
FROM fleet_step_parts GROUP BY app_id, step, at, channel, version, platform HAVING sum(devices) > 0;

-- Who recorded each part last, how often that changed, and how many devices were recorded for callers that
-- waited. A process that alone records a part knows from this whether what it remembers of the part's devices is
-- still what is on record.
CREATE TABLE device_writers (
  part smallint PRIMARY KEY,
  writer text COLLATE "C" NOT NULL DEFAULT '',
  turns bigint NOT NULL DEFAULT 0,
  awaited bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);

INSERT INTO device_writers (part) SELECT generate_series(0, 15);

-- Devices that were recorded for callers that waited, numbered in each part in the order of the commits. Rows
-- of the last two hours are kept: nobody remembers a device for longer than an hour.
CREATE TABLE awaited_devices (
  part smallint NOT NULL,
  number bigint NOT NULL,
  at timestamptz(0) NOT NULL,
  app_id text COLLATE "C" NOT NULL,
  device_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (part, number)
);

-- The locks under which `devices` and everything that follows from it is written: one for each part, always
-- taken in the order of the parts, so that no two writers wait for each other. Held until the transaction ends.
-- Answers the parts of the devices.
CREATE FUNCTION lock_device_parts(app_ids text[], device_ids text[]) RETURNS smallint[]
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

-- As before for whoever writes in all parts.
CREATE OR REPLACE FUNCTION lock_fleet() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  FOR part IN 0..15 LOOP
    PERFORM pg_advisory_xact_lock(7583494, part);
  END LOOP;
END
$$;

-- New devices are counted by one writer at a time, because the bounds are those of all parts together. Taken
-- after the locks of the parts, and only where there is a new device to be counted.
CREATE FUNCTION lock_admissions(app_ids text[], device_ids text[], networks text[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
AS $$
BEGIN
  IF EXISTS (
    SELECT FROM unnest(app_ids, device_ids, networks) AS item (app_id, device_id, network)
    WHERE item.network IS NOT NULL AND NOT EXISTS (
      SELECT FROM devices WHERE devices.app_id = item.app_id AND devices.device_id = item.device_id
    )
  ) THEN
    PERFORM pg_advisory_xact_lock(7583495);
  END IF;
END
$$;

-- Notes who records the parts; must be called under their locks. The empty text is somebody who remembers
-- nothing: a node of an earlier version, or whoever deletes devices. Null leaves it at who recorded last.
CREATE FUNCTION note_writer(parts smallint[], present text) RETURNS void LANGUAGE sql VOLATILE AS $$
  UPDATE device_writers SET writer = present, turns = turns + 1
  WHERE part = ANY (parts) AND writer <> present
$$;

-- Notes that devices were recorded for a caller that waited; must be called under the locks of their parts.
CREATE FUNCTION note_awaited(app_ids text[], device_ids text[]) RETURNS void LANGUAGE sql VOLATILE AS $$
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
CREATE FUNCTION read_device_writers(parts smallint[]) RETURNS SETOF device_writers LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  each_part smallint;
BEGIN
  FOREACH each_part IN ARRAY parts LOOP
    PERFORM pg_advisory_xact_lock_shared(7583494, each_part);
  END LOOP;
  RETURN QUERY SELECT * FROM device_writers WHERE part = ANY (parts);
END
$$;

-- Announces, until the transaction ends, that it may take positions above the one that was given last: a shared
-- lock whose number is that position. Must come before the first position is taken.
CREATE FUNCTION announce_label_positions() RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_advisory_xact_lock_shared((x'5ABE'::bigint << 48) | last_value) FROM label_positions
$$;

-- The position up to which no change of labels is still to come: writers of several parts take positions side by
-- side, and commit in another order. Read before the changes, in a statement of its own. What takes a position
-- after the first line gets a higher one; what took one before has announced it, or has committed.
CREATE FUNCTION settled_label_position() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  given bigint;
  announced bigint;
BEGIN
  SELECT last_value INTO given FROM label_positions;
  SELECT min((classid::bigint & 65535) << 32 | objid::bigint) INTO announced
  FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = x'5ABE'::bigint
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
  RETURN least(given, announced);
END
$$;

DROP FUNCTION record_checks(
  text[], text[], text[], text[], text[], text[], text[], bigint[], text[], text[], boolean, text[], text[],
  integer, integer, integer, text[], text[], integer, integer
);
DROP FUNCTION record_check_ins(
  text[], text[], text[], text[], text[], text[], text[], bigint[], text[], text[], boolean, text[], text[],
  integer, integer
);

-- As in 000023, in parts. A `writer` with a name is told of the devices that were left as they are, or were seen
-- later by somebody else, with the millisecond in which the record says they were seen last. The last argument
-- has a default because nodes of an older version do not give it.
CREATE FUNCTION record_check_ins(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean DEFAULT FALSE,
  clients text[] DEFAULT NULL, bundles text[] DEFAULT NULL, freshness_ms integer DEFAULT 300000,
  history integer DEFAULT 100, writer text DEFAULT ''
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
    WHERE history < 100 AND written.new_version <> written.old_version
      AND written.old_version_changes >= history
      AND device_versions.app_id = written.app_id AND device_versions.device_id = written.device_id
      AND device_versions.slot = ((written.old_version_changes - history) % 100)::smallint
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

-- As in 000023, in parts.
CREATE FUNCTION record_checks(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean,
  networks text[], wide_networks text[], network_max integer, wide_max integer, app_max integer,
  clients text[] DEFAULT NULL, bundles text[] DEFAULT NULL, freshness_ms integer DEFAULT 300000,
  history integer DEFAULT 100, writer text DEFAULT ''
) RETURNS TABLE (
  check_in_place integer, current_labels text, current_revision integer, refused_by text, seen_ms bigint
)
LANGUAGE plpgsql VOLATILE SET jit = off AS $$
#variable_conflict use_variable
DECLARE
  refusals text[] := array_fill(NULL::text, ARRAY [cardinality(app_ids)]);
  refusal record;
  is_any_refused boolean := FALSE;
  places integer[];
BEGIN
  -- Mostly all devices are known to the caller, and nobody has to be admitted.
  IF cardinality(array_remove(networks, NULL)) = 0 THEN
    RETURN QUERY
    SELECT recorded.check_in_place, recorded.current_labels, recorded.current_revision, NULL::text,
      recorded.seen_ms
    FROM record_check_ins(
      app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers, label_writes,
      are_awaited, clients, bundles, freshness_ms, history, writer
    ) AS recorded;
    RETURN;
  END IF;
  PERFORM lock_device_parts(app_ids, device_ids);
  PERFORM lock_admissions(app_ids, device_ids, networks);
  FOR refusal IN SELECT * FROM admit_check_ins(
    app_ids, device_ids, times, networks, wide_networks, network_max, wide_max, app_max
  ) LOOP
    refusals[refusal.refused_place] := refusal.bound;
    is_any_refused := TRUE;
  END LOOP;
  IF is_any_refused THEN
    RETURN QUERY
    SELECT item.place::integer, NULL::text, NULL::integer, item.bound, NULL::bigint
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
    recorded.current_labels, recorded.current_revision, NULL::text, recorded.seen_ms
  FROM record_check_ins(
    app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers, label_writes,
    are_awaited, clients, bundles, freshness_ms, history, writer
  ) AS recorded;
END
$$;

-- As in 000023, under the locks of the parts that lose rows.
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

-- Makes the shares of hours, days and months that are over one row each. A check-in that comes late makes a new
-- share, which is folded in its turn. Must be called under the locks of all parts.
CREATE FUNCTION fold_fleet_parts(rows_max integer) RETURNS void
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

-- As in 000021, in parts: it searches pages of each. Hours, days and months that are over become one row for all
-- parts, as their charts are read for years.
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
  WITH gone AS (
    DELETE FROM devices USING unnest(silent_apps, silent_devices) AS silent (app_id, device_id)
    WHERE devices.app_id = silent.app_id AND devices.device_id = silent.device_id
      AND devices.last_seen < devices_before
    RETURNING devices.app_id, devices.device_id, channel, version, platform
  ), uncounted AS (
    INSERT INTO fleet_count_parts (app_id, channel, version, platform, part, devices)
    SELECT app_id, channel, version, platform, device_part(app_id, device_id), -count(*)
    FROM gone GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT (app_id, channel, version, platform, part)
      DO UPDATE SET devices = fleet_count_parts.devices + excluded.devices
  ), forgotten AS (
    DELETE FROM device_versions USING gone
    WHERE device_versions.app_id = gone.app_id AND device_versions.device_id = gone.device_id
  )
  SELECT count(*) INTO devices_gone FROM gone;

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

-- As in 000021, in parts. Nobody remembers what was purged.
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
  WITH gone AS (
    DELETE FROM devices USING unnest(candidates) AS candidate (device_id)
    WHERE devices.app_id = app AND devices.device_id = candidate.device_id
      AND devices.first_seen > seen_after
      AND (only_version IS NULL OR devices.version = only_version)
    RETURNING device_part(devices.app_id, devices.device_id) AS part, devices.device_id, devices.channel,
      devices.version, devices.platform,
      devices.last_seen, date_trunc('hour', devices.last_seen, 'UTC') AS hour
  ), uncounted AS (
    INSERT INTO fleet_count_parts (app_id, channel, version, platform, part, devices)
    SELECT app, channel, version, platform, part, -count(*)
    FROM gone GROUP BY channel, version, platform, part
    ON CONFLICT (app_id, channel, version, platform, part)
      DO UPDATE SET devices = fleet_count_parts.devices + excluded.devices
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
  ), forgotten AS (
    DELETE FROM device_versions USING gone
    WHERE device_versions.app_id = app AND device_versions.device_id = gone.device_id
  )
  SELECT coalesce(array_agg(device_id), '{}') INTO purged FROM gone;
  RETURN NEXT;
END
$$;
