CREATE TYPE public.cell_change AS (
	app_id text COLLATE pg_catalog."C",
	part smallint,
	is_new boolean,
	is_elsewhere boolean,
	is_in_new_hour boolean,
	is_ahead boolean,
	new_hour timestamp with time zone,
	new_channel text COLLATE pg_catalog."C",
	new_version text COLLATE pg_catalog."C",
	new_platform text COLLATE pg_catalog."C",
	old_hour timestamp with time zone,
	old_channel text COLLATE pg_catalog."C",
	old_version text COLLATE pg_catalog."C",
	old_platform text COLLATE pg_catalog."C",
	devices bigint
);

CREATE TYPE public.device_news AS (
	app_id text COLLATE pg_catalog."C",
	device_id text COLLATE pg_catalog."C",
	part smallint,
	at timestamp with time zone,
	is_new boolean,
	is_elsewhere boolean,
	is_told boolean,
	may_revert boolean,
	channel text COLLATE pg_catalog."C",
	version text COLLATE pg_catalog."C",
	offer text COLLATE pg_catalog."C",
	first_seen timestamp with time zone,
	first_reported timestamp with time zone,
	old_version text COLLATE pg_catalog."C",
	old_version_changes integer,
	old_seen timestamp with time zone
);

CREATE TYPE public.release_first AS (
	release_id text COLLATE pg_catalog."C",
	device_id text COLLATE pg_catalog."C",
	part smallint,
	known integer,
	pushed integer,
	at timestamp with time zone,
	is_reached boolean,
	is_offered boolean,
	is_installed boolean,
	is_reverted boolean
);

CREATE TYPE public.written_labels AS (
	labels jsonb,
	times jsonb
);

CREATE FUNCTION public.add_to_channel() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  UPDATE channels SET release_count = release_count + sums.count,
    content_bytes = channels.content_bytes + sums.bytes
  FROM (
    SELECT channel_id, count(*) AS count, sum(content_bytes) AS bytes FROM added GROUP BY channel_id
  ) AS sums
  WHERE sums.channel_id = channels.id;
  RETURN NULL;
END
$$;

CREATE FUNCTION public.admit_check_ins(app_ids text[], device_ids text[], times bigint[], networks text[], wide_networks text[], network_max integer, wide_max integer, app_max integer) RETURNS TABLE(refused_place integer, bound text)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
  newest CONSTANT timestamptz := date_trunc('minute', fleet_time());
  oldest CONSTANT timestamptz := newest - interval '1 hour';
BEGIN
  RETURN QUERY
  WITH asked AS MATERIALIZED (
    SELECT item.place::integer AS place, item.app_id AS app,
      -- All networks that are not known count as one.
      coalesce(nullif(item.network, ''), 'unknown') AS network, nullif(item.wide, '') AS wide,
      least(greatest(date_trunc('minute', to_timestamp(item.ms / 1000.0)), oldest), newest) AS minute
    FROM unnest(app_ids, device_ids, times, networks, wide_networks)
      WITH ORDINALITY AS item (app_id, device_id, ms, network, wide, place)
    WHERE item.network IS NOT NULL AND NOT EXISTS (
      SELECT FROM devices WHERE devices.app_id = item.app_id AND devices.device_id = item.device_id
    ) AND (SELECT TRUE FROM apps WHERE apps.id = item.app_id)
  ), by_network AS MATERIALIZED (
    SELECT asked.*, network_max = 0 OR
      count(*) OVER (PARTITION BY minute, network ORDER BY place)
        <= network_max - admitted_from(minute, network) AS fits_network
    FROM asked
  ), by_wide AS MATERIALIZED (
    SELECT by_network.*, fits_network AND (wide_max = 0 OR wide IS NULL OR
      count(*) FILTER (WHERE fits_network) OVER (PARTITION BY minute, wide ORDER BY place)
        <= wide_max - admitted_from(minute, wide)) AS fits_wide
    FROM by_network
  ), by_app AS MATERIALIZED (
    SELECT by_wide.*, fits_wide AND (app_max = 0 OR
      count(*) FILTER (WHERE fits_wide) OVER (PARTITION BY minute, app ORDER BY place)
        <= app_max - admitted_from(minute, app)) AS fits
    FROM by_wide
  ), counted AS (
    INSERT INTO admissions (minute, source, devices)
    SELECT minute, source, count(*)
    FROM (
      SELECT minute, app AS source FROM by_app WHERE fits AND app_max > 0
      UNION ALL
      SELECT minute, network FROM by_app WHERE fits AND network_max > 0
      UNION ALL
      SELECT minute, wide FROM by_app WHERE fits AND wide_max > 0 AND wide IS NOT NULL
    ) AS part GROUP BY minute, source
    ON CONFLICT (minute, source) DO UPDATE SET devices = admissions.devices + excluded.devices
  )
  SELECT place,
    CASE WHEN NOT fits_network THEN 'network' WHEN NOT fits_wide THEN 'wide network' ELSE 'app' END
  FROM by_app WHERE NOT fits;
END
$$;

CREATE FUNCTION public.admitted_from(minute timestamp with time zone, source text) RETURNS integer
    LANGUAGE sql STABLE
    AS $_$
  SELECT coalesce((
    SELECT devices FROM admissions WHERE admissions.minute = $1 AND admissions.source = $2
  ), 0)
$_$;

CREATE FUNCTION public.announce_label_positions() RETURNS void
    LANGUAGE sql
    AS $$
  SELECT pg_advisory_xact_lock_shared((x'5ABE'::bigint << 48) | last_value) FROM label_positions
$$;

CREATE TABLE public.artifacts (
    release_id text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    platform text NOT NULL,
    arch text,
    url text,
    sha512 text,
    size bigint,
    signature text,
    sha256 text COLLATE pg_catalog."C",
    format text,
    given_sha256 text,
    sha1 text,
    minimum_system_version text,
    build_version text,
    CONSTRAINT artifacts_given_sha256_check CHECK ((given_sha256 ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT artifacts_sha1_check CHECK ((sha1 ~ '^[0-9a-f]{40}$'::text)),
    CONSTRAINT artifacts_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text))
);

CREATE FUNCTION public.artifact_bytes(public.artifacts) RETURNS integer
    LANGUAGE sql STABLE
    AS $_$
  SELECT 64 + octet_length(concat($1.platform, $1.arch, $1.url, $1.sha512, $1.sha256, $1.signature,
    $1.format, $1.given_sha256, $1.sha1, $1.minimum_system_version, $1.build_version))
$_$;

CREATE FUNCTION public.change_in_channel() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  UPDATE channels SET content_bytes = channels.content_bytes + sums.bytes
  FROM (
    SELECT channel_id, sum(change) AS bytes
    FROM (
      SELECT channel_id, content_bytes AS change FROM added
      UNION ALL SELECT channel_id, -content_bytes FROM taken
    ) AS changes
    GROUP BY channel_id HAVING sum(change) <> 0
  ) AS sums
  WHERE sums.channel_id = channels.id;
  RETURN NULL;
END
$$;

CREATE FUNCTION public.changes_after(slot smallint, version_changes integer) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
  SELECT (version_changes - 1 - slot) % 100
$$;

CREATE FUNCTION public.code_unit_order(key text) RETURNS integer[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
  -- U+E000 to U+FFFF come after the surrogates, in which everything above them is written.
  SELECT coalesce(array_agg(
    CASE WHEN code BETWEEN 57344 AND 65535 THEN code + 1114112 ELSE code END ORDER BY place
  ), '{}')
  FROM (
    SELECT ascii(symbol) AS code, place
    FROM unnest(string_to_array(key, NULL)) WITH ORDINALITY AS split (symbol, place)
  ) AS coded
$$;

CREATE FUNCTION public.compare_check_ins(app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[], sources text[], times bigint[], offers text[], label_writes text[], clients text[], bundles text[], device_networks text[], are_awaited boolean, freshness interval, present timestamp with time zone, present_ms bigint) RETURNS TABLE(place bigint, part smallint, app_id text, device_id text, channel text, version text, platform text, arch text, source text, client text, bundle text, offer text, network bigint, label_write jsonb, at timestamp with time zone, old_row tid, old_first_seen timestamp with time zone, old_stored_seen timestamp with time zone, old_first_reported timestamp with time zone, old_last_seen timestamp with time zone, is_ahead boolean, old_hour timestamp with time zone, old_channel text, old_version text, old_platform text, old_arch text, old_source text, old_client text, old_bundle text, old_network bigint, old_version_changes integer, old_offered_at timestamp with time zone, old_offer text, old_labels_revision integer, old_labels_position bigint, old_labels jsonb, old_label_times jsonb, is_newer boolean, is_offered boolean, label_merge public.written_labels)
    LANGUAGE sql STABLE
    AS $$
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

CREATE FUNCTION public.content_bytes_of(release_id text, notes text) RETURNS integer
    LANGUAGE sql STABLE
    AS $_$
  SELECT (octet_length($2) + coalesce(sum(artifact_bytes(artifacts)), 0))::integer
  FROM artifacts WHERE artifacts.release_id = $1
$_$;

CREATE FUNCTION public.count_artifacts() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  UPDATE releases SET edition = new_edition(), content_bytes = content_bytes_of(id, notes)
  WHERE id IN (SELECT release_id FROM changed);
  RETURN NULL;
END
$$;

CREATE FUNCTION public.count_cells(cells public.cell_change[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.count_firsts(firsts public.release_first[], offered jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
  WITH ways AS MATERIALIZED (
    SELECT release_id, part, known, pushed, date_bin('1 hour', at, 'epoch') AS hour,
      is_reached, is_offered, is_installed, is_reverted, count(*) AS devices
    FROM unnest(firsts) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
  )
  INSERT INTO release_signals (release_id, kind, part, known, pushed, at, devices)
  SELECT release_id, kind, part, known, pushed, signal.at, sum(devices)
  FROM ways CROSS JOIN LATERAL (
    SELECT 'reached' AS kind, 'epoch'::timestamptz AS at WHERE is_reached
    UNION ALL SELECT 'offered', hour WHERE is_offered
    UNION ALL SELECT 'installed', hour WHERE is_installed
    UNION ALL SELECT 'reverted', hour WHERE is_reverted
  ) AS signal GROUP BY release_id, kind, part, known, pushed, signal.at
  ON CONFLICT (release_id, kind, part, known, pushed, at)
    DO UPDATE SET devices = release_signals.devices + excluded.devices;

  -- A failure that was told before the offer counts from now on.
  UPDATE release_failures SET is_offered = TRUE, known = first.known, pushed = first.pushed
  FROM unnest(firsts) AS first
  CROSS JOIN LATERAL (
    SELECT ctid AS failed_row FROM release_failures AS failure
    WHERE failure.release_id = first.release_id AND failure.device_id = first.device_id
      AND NOT failure.is_offered OFFSET 0
  ) AS told_before
  WHERE first.is_offered AND (offered -> first.release_id -> 'hasFailed')::boolean
    AND release_failures.ctid = failed_row;
END
$$;

CREATE FUNCTION public.count_notes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  NEW.content_bytes := octet_length(NEW.notes);
  RETURN NEW;
END
$$;

CREATE FUNCTION public.count_plan_time() RETURNS TABLE(now_ms bigint, counted_ms bigint)
    LANGUAGE plpgsql
    SET jit TO 'off'
    AS $$
DECLARE
  present record;
BEGIN
  -- While no plan runs or watches, nobody needs the time.
  IF NOT EXISTS (SELECT FROM rollout_plans WHERE status IN ('running', 'held')) THEN
    RETURN QUERY SELECT * FROM plan_time();
    RETURN;
  END IF;
  -- The lock first, so that the clock is read after the node before has read it.
  PERFORM FROM plan_clock FOR UPDATE;
  SELECT * INTO present FROM plan_time();
  UPDATE plan_clock SET counted_ms = present.counted_ms,
    read_at = 'epoch'::timestamptz + present.now_ms * interval '1 millisecond';
  RETURN QUERY SELECT present.now_ms, present.counted_ms;
END
$$;

CREATE FUNCTION public.delete_devices(app_ids text[], device_ids text[]) RETURNS TABLE(app_id text, device_id text, part smallint, channel text, version text, platform text, last_seen timestamp with time zone)
    LANGUAGE plpgsql
    AS $$
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
  )
  SELECT gone.* FROM gone;
END
$$;

CREATE FUNCTION public.device_pages() RETURNS bigint
    LANGUAGE sql STABLE
    AS $$
  SELECT (sum(pg_relation_size(inhrelid)) / current_setting('block_size')::bigint)::bigint
  FROM pg_inherits WHERE inhparent = 'devices'::regclass
$$;

CREATE FUNCTION public.device_part(app_id text, device_id text) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
  -- One expression, so that it is compiled into the statements that call it.
  SELECT ((
    (hashtextextended($1, 8816678312871386365) & 4294967295) + 367372515
    # (hashtextextended($2, 8816678312871386365) & 4294967295) + 367372515
      + ((hashtextextended($1, 8816678312871386365) & 4294967295) + 367372515 >> 7)
  ) & 15)::smallint
$_$;

CREATE FUNCTION public.device_place(app_id text, channel text) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $_$
  SELECT hashtext($1 || ' ' || $2)
$_$;

CREATE FUNCTION public.erase_device(app text, device text, slack interval, draft text) RETURNS text
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
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

CREATE FUNCTION public.erased_hash(app_id text, device_id text) RETURNS text
    LANGUAGE sql STABLE
    AS $$
  SELECT encode(sha256(convert_to(secret || ' ' || app_id || ' ' || device_id, 'UTF8')), 'hex')
  FROM signing_keys WHERE name = 'erased-devices'
$$;

CREATE FUNCTION public.find_erased(app_ids text[], device_ids text[], times bigint[]) RETURNS TABLE(place integer, erased_ms bigint)
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.find_offered_releases(news public.device_news[]) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
  RETURN (
    SELECT jsonb_object_agg(id, jsonb_build_object(
      'id', id, 'ms', (extract(epoch FROM published_at) * 1000)::bigint, 'hasFailed', has_failed
    ))
    FROM (SELECT DISTINCT offer FROM unnest(news) WHERE offer IS NOT NULL) AS given
    CROSS JOIN LATERAL (
      SELECT id, published_at, EXISTS (
        SELECT FROM release_failures WHERE release_id = releases.id AND NOT is_offered
      ) AS has_failed
      FROM releases WHERE id = given.offer AND is_watched AND published_at IS NOT NULL OFFSET 0
    ) AS release
  );
END
$$;

CREATE FUNCTION public.find_told_releases(news public.device_news[]) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
  RETURN (
    SELECT jsonb_object_agg(told.app_id || ' ' || told.version || ' ' || told.channel, jsonb_build_object(
      'id', release.id, 'ms', (extract(epoch FROM release.published_at) * 1000)::bigint
    ))
    FROM (SELECT DISTINCT app_id, channel, version FROM unnest(news) WHERE is_told) AS told
    CROSS JOIN LATERAL (
      SELECT id, follows FROM channels WHERE app_id = told.app_id AND name = told.channel OFFSET 0
    ) AS place
    CROSS JOIN LATERAL (
      SELECT id, published_at, is_watched FROM releases
      WHERE channel_id IN (place.id, place.follows) AND canonical_version = told.version
      ORDER BY channel_id = place.id DESC LIMIT 1
    ) AS release
    WHERE release.is_watched AND release.published_at IS NOT NULL
  );
END
$$;

CREATE FUNCTION public.fleet_time() RETURNS timestamp with time zone
    LANGUAGE sql
    AS $$
  SELECT date_trunc('milliseconds', clock_timestamp())
$$;

CREATE FUNCTION public.fold_fleet_parts(rows_max integer) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION public.forget_erased_labels(app_ids text[], device_ids text[], label_writes text[]) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.forget_release_devices() RETURNS trigger
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
  DELETE FROM release_devices USING gone
  CROSS JOIN LATERAL (
    SELECT ctid AS left_row FROM release_devices AS reached
    WHERE reached.app_id = gone.app_id AND reached.device_id = gone.device_id OFFSET 0
  ) AS found
  WHERE release_devices.ctid = left_row;
  RETURN NULL;
END
$$;

CREATE FUNCTION public.judge_check_ins(app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[], sources text[], times bigint[], offers text[], label_writes text[], clients text[], bundles text[], device_networks text[], are_awaited boolean, freshness interval, present timestamp with time zone, present_ms bigint) RETURNS TABLE(place bigint, part smallint, app_id text, device_id text, at timestamp with time zone, offer text, label_write jsonb, is_newer boolean, is_offered boolean, is_ahead boolean, label_merge public.written_labels, old_row tid, old_stored_seen timestamp with time zone, old_last_seen timestamp with time zone, old_hour timestamp with time zone, old_channel text, old_version text, old_platform text, old_version_changes integer, old_offered_at timestamp with time zone, old_offer text, old_labels_revision integer, old_labels_position bigint, old_labels jsonb, old_label_times jsonb, new_channel text, new_version text, new_platform text, new_arch text, new_source text, new_network bigint, new_client text, new_bundle text, new_last_seen timestamp with time zone, new_hour timestamp with time zone, new_first_seen timestamp with time zone, new_first_reported timestamp with time zone, is_new boolean, is_told boolean, is_relabelled boolean, is_elsewhere boolean, is_in_new_hour boolean, is_written boolean)
    LANGUAGE sql STABLE
    AS $$
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

CREATE FUNCTION public.limit_label_times(label_times jsonb, ms_max bigint) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT coalesce(jsonb_object_agg(key, least(value::bigint, ms_max)), '{}')
  FROM jsonb_each(label_times)
$$;

CREATE FUNCTION public.lock_admissions(app_ids text[], device_ids text[], networks text[]) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
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

CREATE FUNCTION public.lock_channel(of_app text, named text, beside text) RETURNS TABLE(id text, name text)
    LANGUAGE plpgsql
    AS $$
DECLARE
  target text;
BEGIN
  PERFORM FROM apps WHERE apps.id = of_app FOR KEY SHARE;
  SELECT channels.id INTO target FROM channels
    WHERE channels.app_id = of_app AND channels.name = named;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  PERFORM FROM channels
    WHERE channels.id = target OR channels.id = beside OR channels.follows = target
    ORDER BY channels.id FOR NO KEY UPDATE;
  RETURN QUERY SELECT channels.id, channels.name FROM channels
    WHERE channels.id = target OR channels.follows = target;
END
$$;

CREATE FUNCTION public.lock_device_parts(app_ids text[], device_ids text[]) RETURNS smallint[]
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.lock_fleet() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  FOR part IN 0..15 LOOP
    PERFORM pg_advisory_xact_lock(7583494, part);
  END LOOP;
END
$$;

CREATE FUNCTION public.merge_label_write(stored jsonb, stored_times jsonb, written jsonb, written_at bigint, ms_max bigint) RETURNS public.written_labels
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
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
        SELECT key, CASE jsonb_typeof(value) WHEN 'array' THEN value -> 0 ELSE value END,
          CASE jsonb_typeof(value) WHEN 'array' THEN least((value -> 1)::bigint, written_at)
            ELSE written_at END,
          TRUE
        FROM jsonb_each(written)
      ) AS each_write
      ORDER BY each_write.key COLLATE "C", each_write.at DESC, each_write.is_new
    ) AS newest
    ORDER BY newest.at = max(newest.at) OVER () DESC,
      CASE WHEN count(*) OVER () > 16 THEN code_unit_order(newest.key) END
    LIMIT 16
  ) AS kept
$$;

CREATE FUNCTION public.network_hash(address text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
  SELECT hashtextextended(
    regexp_replace($1, '^([^:]*:[^:]*:[^:]*):[^:]*::/64$', '\1::/48'), 0
  )
$_$;

CREATE FUNCTION public.new_edition() RETURNS text
    LANGUAGE sql
    AS $$
  -- Random, so that a ledger which lost its last commits never gives the same one to something else.
  SELECT left(replace(gen_random_uuid()::text, '-', ''), 24)
$$;

CREATE FUNCTION public.news_of_releases(news public.device_news[], told jsonb, offered jsonb) RETURNS TABLE(app_id text, device_id text, part smallint, at timestamp with time zone, is_new boolean, may_revert boolean, channel text, version text, first_seen timestamp with time zone, first_reported timestamp with time zone, offer jsonb, run jsonb)
    LANGUAGE sql STABLE
    AS $$
  SELECT app_id, device_id, part, at, is_new, may_revert, channel, version, first_seen, first_reported, of_offer,
    CASE WHEN extract(epoch FROM at) * 1000 >= (of_version ->> 'ms')::bigint AND (
      is_elsewhere OR extract(epoch FROM old_seen) * 1000 < (of_version ->> 'ms')::bigint
    ) THEN of_version END
  FROM unnest(news)
  CROSS JOIN LATERAL (
    SELECT offered -> offer AS of_offer,
      CASE WHEN is_told THEN told -> (app_id || ' ' || version || ' ' || channel) END AS of_version
    OFFSET 0
  ) AS releases
$$;

CREATE FUNCTION public.note_awaited(app_ids text[], device_ids text[]) RETURNS void
    LANGUAGE sql
    AS $$
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

CREATE FUNCTION public.note_next_firsts(news public.device_news[], told jsonb, offered jsonb) RETURNS public.release_first[]
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
  firsts release_first[];
BEGIN
  WITH before AS MATERIALIZED (
    SELECT reached.*, item.part, item.at, item.channel, item.version, item.may_revert,
      item.offer ->> 'id' AS offer_id, item.run ->> 'id' AS run_id
    FROM news_of_releases(news, told, offered) AS item
    CROSS JOIN LATERAL (
      SELECT ctid AS reached_row, release_id, device_id, known, pushed, offered_at, installed_at, installed_on,
        reverted_at
      FROM release_devices
      WHERE release_devices.app_id = item.app_id AND release_devices.device_id = item.device_id OFFSET 0
    ) AS reached
    WHERE NOT item.is_new AND (item.offer IS NOT NULL OR item.run IS NOT NULL OR item.may_revert)
  ), lower AS MATERIALIZED (
    SELECT jsonb_object_agg(version, version_key(version)) AS keys
    FROM (SELECT DISTINCT version FROM before WHERE may_revert) AS present
  ), higher AS MATERIALIZED (
    SELECT jsonb_object_agg(id, version_key(canonical_version)) AS keys
    FROM (SELECT DISTINCT release_id FROM before WHERE may_revert) AS left_behind
    CROSS JOIN LATERAL (
      SELECT id, canonical_version FROM releases
      WHERE id = left_behind.release_id AND status <> 'rolled_back' OFFSET 0
    ) AS release
  ), going AS MATERIALIZED (
    SELECT before.*,
      (offered_at IS NULL AND offer_id = release_id) IS TRUE AS is_offered,
      (installed_at IS NULL AND run_id = release_id) IS TRUE AS is_installed,
      (reverted_at IS NULL AND may_revert AND installed_on = channel
        AND ((SELECT keys FROM higher) ->> release_id) COLLATE "C"
          > ((SELECT keys FROM lower) ->> version) COLLATE "C") IS TRUE AS is_reverted
    FROM before
  ), gone_on AS (
    UPDATE release_devices SET
      offered_at = CASE WHEN is_offered THEN at ELSE release_devices.offered_at END,
      installed_at = CASE WHEN is_installed THEN at ELSE release_devices.installed_at END,
      installed_on = CASE WHEN is_installed THEN channel ELSE release_devices.installed_on END,
      reverted_at = CASE WHEN is_reverted THEN at ELSE release_devices.reverted_at END
    FROM going
    WHERE release_devices.ctid = reached_row AND (is_offered OR is_installed OR is_reverted)
  )
  SELECT array_agg(ROW (
    release_id, device_id, part, known, pushed, at, FALSE, is_offered, is_installed, is_reverted
  )::release_first)
  INTO firsts FROM going WHERE is_offered OR is_installed OR is_reverted;
  RETURN firsts;
END
$$;

CREATE FUNCTION public.note_publishing() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.status = 'published' AND NEW.published_at IS NULL THEN
    NEW.published_at := clock_timestamp();
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION public.note_reached(news public.device_news[], told jsonb, offered jsonb) RETURNS public.release_first[]
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
  firsts release_first[];
BEGIN
  WITH reached AS (
    INSERT INTO release_devices (
      app_id, device_id, release_id, known, pushed, offered_at, installed_at, installed_on
    )
    SELECT app_id, device_id, first.id, signal_edge(published_at - first_seen),
      coalesce(signal_edge(published_at - first_reported), -1),
      CASE WHEN first.id = offer ->> 'id' THEN at END,
      CASE WHEN first.id = run ->> 'id' THEN at END,
      CASE WHEN first.id = run ->> 'id' THEN channel END
    FROM news_of_releases(news, told, offered)
    CROSS JOIN LATERAL (
      SELECT one ->> 'id' AS id, to_timestamp((one ->> 'ms')::bigint / 1000.0)::timestamptz(3) AS published_at
      FROM (SELECT offer AS one UNION ALL SELECT run WHERE run ->> 'id' IS DISTINCT FROM offer ->> 'id') AS given
      WHERE one IS NOT NULL OFFSET 0
    ) AS first
    WHERE first_seen <= published_at
    ON CONFLICT (app_id, device_id, release_id) DO NOTHING
    RETURNING release_id, app_id, device_id, known, pushed, offered_at, installed_at
  )
  SELECT array_agg(ROW (
    release_id, device_id, device_part(app_id, device_id), known, pushed, coalesce(offered_at, installed_at), TRUE,
    offered_at IS NOT NULL, installed_at IS NOT NULL, FALSE
  )::release_first)
  INTO firsts FROM reached;
  RETURN firsts;
END
$$;

CREATE FUNCTION public.note_signals(news public.device_news[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
  told CONSTANT jsonb := find_told_releases(news);
  offered CONSTANT jsonb := find_offered_releases(news);
  firsts release_first[];
BEGIN
  -- What is noted first is not noted as the next one.
  firsts := note_next_firsts(news, told, offered);
  firsts := firsts || note_reached(news, told, offered);
  IF firsts IS NOT NULL THEN PERFORM count_firsts(firsts, offered); END IF;
END
$$;

CREATE FUNCTION public.note_writer(parts smallint[], present text) RETURNS void
    LANGUAGE sql
    AS $$
  UPDATE device_writers SET writer = present, turns = turns + 1
  WHERE part = ANY (parts) AND writer <> present
$$;

CREATE FUNCTION public.plan_time() RETURNS TABLE(now_ms bigint, counted_ms bigint)
    LANGUAGE plpgsql
    SET jit TO 'off'
    AS $$
DECLARE
  present CONSTANT timestamptz(3) := clock_timestamp();
BEGIN
  RETURN QUERY SELECT (extract(epoch FROM present) * 1000)::bigint, plan_clock.counted_ms + least(
    greatest((extract(epoch FROM present - plan_clock.read_at) * 1000)::bigint, 0), 5000
  ) FROM plan_clock;
END
$$;

CREATE FUNCTION public.plans_to_drive(check_ms bigint, taken_for_ms bigint, count_max integer) RETURNS TABLE(plan_id text, app text, channel text, canonical_version text)
    LANGUAGE plpgsql
    SET jit TO 'off'
    AS $$
DECLARE
  present record;
BEGIN
  SELECT * INTO present FROM plan_time();
  RETURN QUERY
  WITH found AS MATERIALIZED (
    SELECT plan.id, plan.release_id, plan.channel_id FROM rollout_plans AS plan
    JOIN releases ON releases.id = plan.release_id
    CROSS JOIN LATERAL (
      SELECT plan.status = 'running' AND plan.due_ms <= present.counted_ms
          OR plan.status IN ('scheduled', 'running') AND plan.start_at_ms <= present.now_ms AS is_due,
        plan.is_guarded AND coalesce(plan.checked_ms, 0) <= present.counted_ms - check_ms AS is_unchecked
    ) AS wants
    WHERE plan.status IN ('scheduled', 'running', 'held')
      AND coalesce(plan.taken_ms <= present.counted_ms - taken_for_ms, TRUE)
      AND CASE plan.status
        WHEN 'scheduled' THEN releases.status IN ('rolled_back', 'deprecated')
          OR releases.status = 'published' AND (wants.is_due OR plan.start_at_ms IS NULL)
        WHEN 'running' THEN wants.is_due OR wants.is_unchecked OR releases.status <> 'published'
        ELSE wants.is_unchecked AND releases.status = 'published'
      END
    ORDER BY wants.is_due IS NOT TRUE, coalesce(plan.checked_ms, 0), plan.id
    LIMIT count_max FOR UPDATE OF plan SKIP LOCKED
  ), taken AS (
    UPDATE rollout_plans SET taken_ms = present.counted_ms FROM found WHERE rollout_plans.id = found.id
  )
  SELECT found.id, apps.ref, channels.name, releases.canonical_version FROM found
  JOIN releases ON releases.id = found.release_id
  JOIN channels ON channels.id = found.channel_id
  JOIN apps ON apps.id = channels.app_id;
END
$$;

CREATE FUNCTION public.present_epoch() RETURNS integer
    LANGUAGE sql STABLE
    AS $$
  SELECT epoch FROM ledger_epoch
$$;

CREATE FUNCTION public.purge_devices(app text, after_device text, seen_after timestamp with time zone, only_version text, rows_max integer, is_dry_run boolean) RETURNS TABLE(purged text[], looked_up_to text)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
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

CREATE TABLE public.device_writers (
    part smallint NOT NULL,
    writer text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    turns bigint DEFAULT 0 NOT NULL,
    awaited bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='10');

CREATE FUNCTION public.read_device_writers(parts smallint[]) RETURNS SETOF public.device_writers
    LANGUAGE plpgsql
    AS $$
DECLARE
  each_part smallint;
BEGIN
  FOREACH each_part IN ARRAY parts LOOP
    PERFORM pg_advisory_xact_lock_shared(7583494, each_part);
  END LOOP;
  RETURN QUERY SELECT * FROM device_writers WHERE part = ANY (parts);
END
$$;

CREATE FUNCTION public.record_check_ins(app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[], sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean, clients text[], bundles text[], freshness_ms integer, history integer, writer text DEFAULT ''::text, device_networks text[] DEFAULT NULL::text[]) RETURNS TABLE(check_in_place integer, current_labels text, current_revision integer, seen_ms bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
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

CREATE FUNCTION public.record_checks(app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[], sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean, networks text[], wide_networks text[], network_max integer, wide_max integer, app_max integer, clients text[], bundles text[], freshness_ms integer, history integer, writer text, device_networks text[]) RETURNS TABLE(check_in_place integer, current_labels text, current_revision integer, refused_by text, seen_ms bigint)
    LANGUAGE plpgsql
    SET jit TO 'off'
    AS $$
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
      are_awaited, clients, bundles, freshness_ms, history, writer, device_networks
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
      array_agg(offer), array_agg(label_write), array_agg(client), array_agg(bundle), array_agg(network)
    INTO places, app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers,
      label_writes, clients, bundles, device_networks
    FROM (
      SELECT * FROM unnest(
        app_ids, device_ids, channels, versions, platforms, archs, sources, times, offers,
        label_writes, clients, bundles, device_networks, refusals
      ) WITH ORDINALITY AS item (
        app_id, device_id, channel, version, platform, arch, source, ms, offer, label_write, client,
        bundle, network, bound, place
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
    are_awaited, clients, bundles, freshness_ms, history, writer, device_networks
  ) AS recorded;
END
$$;

CREATE FUNCTION public.record_first_offer(of_channel text, of_release text, at_epoch integer, at_revision integer) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '1s'
    AS $$
DECLARE
  followed text;
  is_offered boolean;
BEGIN
  SELECT follows INTO followed FROM channels
    WHERE id = of_channel AND revision = at_revision FOR SHARE;
  IF NOT FOUND OR present_epoch() <> at_epoch THEN
    RETURN false;
  END IF;
  SELECT offered_at IS NOT NULL INTO is_offered FROM releases
    WHERE id = of_release AND channel_id IN (of_channel, followed) AND status = 'published';
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF NOT is_offered THEN
    UPDATE releases SET offered_at = clock_timestamp() WHERE id = of_release AND offered_at IS NULL;
  END IF;
  RETURN true;
END
$$;

CREATE FUNCTION public.refuse_epoch_going_back() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.epoch < OLD.epoch THEN
    RAISE EXCEPTION 'the epoch of the ledger never goes back'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_epoch_rises';
  END IF;
  -- An operator may take the name away, so that a copy becomes a record of its own.
  IF NEW.record <> OLD.record THEN
    RAISE EXCEPTION 'the record of a ledger keeps its name'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_record_stays';
  END IF;
  -- Here, so that nobody who raises the epoch forgets it.
  IF NEW.epoch > OLD.epoch THEN
    NEW.line := gen_random_uuid()::text;
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION public.refuse_release_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF (NEW.id, NEW.channel_id, NEW.version, NEW.canonical_version, NEW.notes, NEW.created_at, NEW.source)
    IS DISTINCT FROM
    (OLD.id, OLD.channel_id, OLD.version, OLD.canonical_version, OLD.notes, OLD.created_at, OLD.source)
  THEN
    RAISE EXCEPTION 'release % is immutable', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_immutable';
  END IF;
  IF OLD.offered_at IS NOT NULL AND NEW.offered_at IS DISTINCT FROM OLD.offered_at THEN
    RAISE EXCEPTION 'release % was offered, and that stays', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_stay_offered';
  END IF;
  IF OLD.offered_at IS NOT NULL AND NEW.rollout_pct < OLD.rollout_pct THEN
    RAISE EXCEPTION 'release % was offered: its rollout can only increase', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_rollout_rises';
  END IF;
  IF OLD.status = 'rolled_back' AND NEW.status <> 'rolled_back' THEN
    RAISE EXCEPTION 'release % was rolled back, and that stays', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'releases_stay_rolled_back';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION public.refuse_revision_going_back() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.revision < OLD.revision THEN
    RAISE EXCEPTION 'the revision of channel % never goes back', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'channels_revision_rises';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION public.remember_versions(news public.device_news[], history integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.renew_edition() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF (NEW.status, NEW.rollout_pct, NEW.targets::text) IS DISTINCT FROM
    (OLD.status, OLD.rollout_pct, OLD.targets::text)
  THEN
    NEW.edition := new_edition();
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION public.settled_label_position() RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.signal_edge(waited interval) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
  SELECT CASE WHEN $1 IS NOT NULL THEN coalesce(
    (signal_edges())[width_bucket(extract(epoch FROM $1) / 60, signal_edges()::numeric[])], -1
  ) END
$_$;

CREATE FUNCTION public.signal_edges() RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  SELECT ARRAY [
    0, 1, 2, 3, 4, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720, 1080, 1440, 2160, 2880, 4320,
    5760, 7200, 10080, 14400, 20160, 30240, 43200
  ]
$$;

CREATE FUNCTION public.sweep_fleet(devices_before timestamp with time zone, hours_before timestamp with time zone, rows_max integer) RETURNS TABLE(devices_gone integer, hours_gone integer)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $_$
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
$_$;

CREATE FUNCTION public.sweep_signals(rows_max integer) RETURNS void
    LANGUAGE plpgsql
    AS $_$
DECLARE
  search_size CONSTANT bigint := 512;
  table_name text;
  page_count bigint;
  first_page bigint;
BEGIN
  UPDATE releases SET is_watched = FALSE
  WHERE is_watched AND published_at < fleet_time() - interval '90 days' AND NOT EXISTS (
    SELECT FROM rollout_plans
    WHERE release_id = releases.id AND status IN ('scheduled', 'running', 'held')
  );
  FOREACH table_name IN ARRAY ARRAY ['release_signals', 'release_devices', 'release_failures'] LOOP
    page_count := pg_relation_size(table_name) / current_setting('block_size')::bigint;
    first_page := CASE WHEN page_count > search_size
      THEN floor(random() * (page_count + search_size)) - search_size ELSE 0 END;
    EXECUTE format(
      'DELETE FROM %1$I WHERE ctid = ANY (ARRAY (
         SELECT ctid FROM %1$I WHERE ctid >= $1 AND ctid < $2 AND NOT EXISTS (
           SELECT FROM releases WHERE releases.id = release_id AND is_watched
         ) LIMIT $3 FOR UPDATE SKIP LOCKED
       ))', table_name
    ) USING format('(%s,0)', greatest(first_page, 0))::tid, format('(%s,0)', first_page + search_size)::tid,
      10 * rows_max;
  END LOOP;
END
$_$;

CREATE FUNCTION public.take_from_channel() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  UPDATE channels SET release_count = release_count - sums.count,
    content_bytes = channels.content_bytes - sums.bytes
  FROM (
    SELECT channel_id, count(*) AS count, sum(content_bytes) AS bytes FROM taken GROUP BY channel_id
  ) AS sums
  WHERE sums.channel_id = channels.id;
  RETURN NULL;
END
$$;

CREATE FUNCTION public.trim_device_versions(history integer, rows_max integer) RETURNS integer
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
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

CREATE FUNCTION public.uncount_firsts(app text, device text) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.version_key(version text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $_$
DECLARE
  piece CONSTANT text[] := regexp_match(
    version, '^(\d+)\.(\d+)\.(\d+)(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$'
  );
  digits text;
  identifier text;
  key text := '';
BEGIN
  IF piece IS NULL THEN RETURN NULL; END IF;
  FOREACH digits IN ARRAY ARRAY [piece[1], piece[2], piece[3], coalesce(piece[4], '0')] LOOP
    key := key || lpad(length(digits)::text, 2, '0') || digits;
  END LOOP;
  IF piece[5] IS NULL THEN key := key || '~'; END IF;
  FOREACH identifier IN ARRAY coalesce(string_to_array(piece[5], '.'), '{}') LOOP
    key := key || CASE WHEN identifier ~ '^\d+$' THEN '0' || lpad(length(identifier)::text, 2, '0') || identifier
      ELSE '1' || identifier || '!' END;
  END LOOP;
  key := key || ' ';
  -- Numbers of the build keep their leading zeros: fewer digits come first where the values are equal.
  FOREACH identifier IN ARRAY coalesce(string_to_array(piece[6], '.'), '{}') LOOP
    digits := CASE WHEN identifier ~ '^0+$' THEN '0' ELSE ltrim(identifier, '0') END;
    key := key || CASE WHEN identifier ~ '^\d+$'
      THEN '0' || lpad(length(digits)::text, 2, '0') || digits || lpad(length(identifier)::text, 2, '0')
      ELSE '1' || identifier || '!' END;
  END LOOP;
  RETURN key || ' ';
END
$_$;

CREATE FUNCTION public.write_devices(app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[], sources text[], times bigint[], offers text[], label_writes text[], clients text[], bundles text[], device_networks text[], are_awaited boolean, freshness interval, present timestamp with time zone, writer text, OUT cells public.cell_change[], OUT news public.device_news[], OUT answer_places integer[], OUT answer_labels text[], OUT answer_revisions integer[], OUT answer_seen_ms bigint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
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

CREATE TABLE public.accounts (
    id text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    password_hash text,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    password_number integer DEFAULT 1 NOT NULL
);

CREATE UNLOGGED TABLE public.admissions (
    minute timestamp(0) with time zone NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    devices integer NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

CREATE TABLE public.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    prefix text NOT NULL COLLATE pg_catalog."C",
    secret_hash text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    revoked_at timestamp(3) with time zone,
    created_by text,
    last_used_at timestamp(3) with time zone,
    app_ids text[],
    may text[],
    expires_at timestamp with time zone,
    last_used_from text,
    CONSTRAINT api_keys_app_ids_check CHECK (((cardinality(app_ids) >= 1) AND (cardinality(app_ids) <= 50))),
    CONSTRAINT api_keys_may_check CHECK (((cardinality(may) > 0) AND (may <@ '{read,publish,control,fleet}'::text[])))
);

CREATE TABLE public.approvals (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text COLLATE pg_catalog."C",
    version text,
    operation text NOT NULL,
    body json NOT NULL,
    asked_on json NOT NULL,
    requested_by text NOT NULL,
    key_id text COLLATE pg_catalog."C",
    account_id text COLLATE pg_catalog."C",
    needed_role text COLLATE pg_catalog."C",
    reason text,
    effect json,
    status text DEFAULT 'pending'::text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    decided_by text,
    decided_at timestamp(3) with time zone,
    result json,
    CONSTRAINT approvals_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'declined'::text, 'expired'::text, 'failed'::text])))
);

CREATE TABLE public.apps (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    ref text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    archived_at timestamp(3) with time zone
);

CREATE TABLE public.audit_entries (
    id bigint NOT NULL,
    organization_id text NOT NULL COLLATE pg_catalog."C",
    at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    before json,
    after json,
    request_id text,
    reason text
);

ALTER TABLE public.audit_entries ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_entries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.awaited_devices (
    part smallint NOT NULL,
    number bigint NOT NULL,
    at timestamp(0) with time zone NOT NULL,
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.channels (
    id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    revision integer DEFAULT 1 NOT NULL,
    minimum_supported_version text,
    default_rollout integer DEFAULT 100 NOT NULL,
    update_mode text DEFAULT 'optional'::text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    release_count integer DEFAULT 0 NOT NULL,
    content_bytes bigint DEFAULT 0 NOT NULL,
    require_signature boolean DEFAULT false NOT NULL,
    follows text COLLATE pg_catalog."C",
    approvals text DEFAULT 'none'::text NOT NULL,
    approval_days integer DEFAULT 7 NOT NULL,
    CONSTRAINT channels_approval_days_check CHECK (((approval_days >= 1) AND (approval_days <= 30))),
    CONSTRAINT channels_approvals_check CHECK ((approvals = ANY (ARRAY['none'::text, 'one'::text]))),
    CONSTRAINT channels_default_rollout_check CHECK (((default_rollout >= 0) AND (default_rollout <= 100))),
    CONSTRAINT channels_update_mode_check CHECK ((update_mode = ANY (ARRAY['optional'::text, 'recommended'::text])))
);

CREATE TABLE public.device_versions (
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    slot smallint NOT NULL,
    at timestamp(3) with time zone NOT NULL,
    from_version text COLLATE pg_catalog."C",
    to_version text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.device_versions_trim (
    is_only boolean DEFAULT true NOT NULL,
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    slot smallint NOT NULL,
    CONSTRAINT device_versions_trim_is_only_check CHECK (is_only)
);

CREATE TABLE public.devices (
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    first_seen timestamp(3) with time zone NOT NULL,
    last_seen timestamp(3) with time zone NOT NULL,
    last_offered_at timestamp(3) with time zone,
    labels_revision integer DEFAULT 0 NOT NULL,
    version_changes integer DEFAULT 0 NOT NULL,
    channel text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    platform text NOT NULL COLLATE pg_catalog."C",
    arch text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    last_offered_release_id text COLLATE pg_catalog."C",
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    label_times jsonb DEFAULT '{}'::jsonb NOT NULL,
    labels_position bigint,
    client text DEFAULT ''::text NOT NULL,
    bundle text DEFAULT ''::text NOT NULL,
    first_reported timestamp(3) with time zone,
    network bigint,
    CONSTRAINT devices_source_check CHECK ((source = ANY (ARRAY['pull'::text, 'push'::text])))
)
PARTITION BY HASH (app_id, device_id);

CREATE TABLE public.devices_0 (
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    first_seen timestamp(3) with time zone NOT NULL,
    last_seen timestamp(3) with time zone NOT NULL,
    last_offered_at timestamp(3) with time zone,
    labels_revision integer DEFAULT 0 NOT NULL,
    version_changes integer DEFAULT 0 NOT NULL,
    channel text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    platform text NOT NULL COLLATE pg_catalog."C",
    arch text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    last_offered_release_id text COLLATE pg_catalog."C",
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    label_times jsonb DEFAULT '{}'::jsonb NOT NULL,
    labels_position bigint,
    client text DEFAULT ''::text NOT NULL,
    bundle text DEFAULT ''::text NOT NULL,
    first_reported timestamp(3) with time zone,
    network bigint,
    CONSTRAINT devices_source_check CHECK ((source = ANY (ARRAY['pull'::text, 'push'::text])))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

CREATE TABLE public.edge_tokens (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text COLLATE pg_catalog."C",
    name text NOT NULL,
    prefix text NOT NULL COLLATE pg_catalog."C",
    secret_hash text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    created_by text NOT NULL,
    revoked_at timestamp(3) with time zone,
    refusal_told_at timestamp(3) with time zone
);

CREATE TABLE public.erased_devices (
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_hash text NOT NULL COLLATE pg_catalog."C",
    erased_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.failed_sign_ins (
    account_id text NOT NULL COLLATE pg_catalog."C",
    failures bigint NOT NULL,
    told_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.fleet_count_parts (
    app_id text NOT NULL COLLATE pg_catalog."C",
    channel text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    platform text NOT NULL COLLATE pg_catalog."C",
    devices bigint NOT NULL,
    part smallint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

CREATE VIEW public.fleet_counts AS
 SELECT fleet_count_parts.app_id,
    fleet_count_parts.channel,
    fleet_count_parts.version,
    fleet_count_parts.platform,
    (sum(fleet_count_parts.devices))::bigint AS devices
   FROM public.fleet_count_parts
  GROUP BY fleet_count_parts.app_id, fleet_count_parts.channel, fleet_count_parts.version, fleet_count_parts.platform
 HAVING (sum(fleet_count_parts.devices) > (0)::numeric);

CREATE TABLE public.fleet_hour_parts (
    app_id text NOT NULL COLLATE pg_catalog."C",
    hour timestamp(0) with time zone NOT NULL,
    channel text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    platform text NOT NULL COLLATE pg_catalog."C",
    devices bigint NOT NULL,
    part smallint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

CREATE VIEW public.fleet_hours AS
 SELECT fleet_hour_parts.app_id,
    fleet_hour_parts.hour,
    fleet_hour_parts.channel,
    fleet_hour_parts.version,
    fleet_hour_parts.platform,
    (sum(fleet_hour_parts.devices))::bigint AS devices
   FROM public.fleet_hour_parts
  GROUP BY fleet_hour_parts.app_id, fleet_hour_parts.hour, fleet_hour_parts.channel, fleet_hour_parts.version, fleet_hour_parts.platform
 HAVING (sum(fleet_hour_parts.devices) > (0)::numeric);

CREATE TABLE public.fleet_step_parts (
    app_id text NOT NULL COLLATE pg_catalog."C",
    step text NOT NULL COLLATE pg_catalog."C",
    at timestamp(0) with time zone NOT NULL,
    channel text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    platform text NOT NULL COLLATE pg_catalog."C",
    devices bigint NOT NULL,
    is_minimum boolean DEFAULT false NOT NULL,
    part smallint NOT NULL,
    CONSTRAINT fleet_steps_step_check CHECK ((step = ANY (ARRAY['day'::text, 'month'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

CREATE VIEW public.fleet_steps AS
 SELECT fleet_step_parts.app_id,
    fleet_step_parts.step,
    fleet_step_parts.at,
    fleet_step_parts.channel,
    fleet_step_parts.version,
    fleet_step_parts.platform,
    (sum(fleet_step_parts.devices))::bigint AS devices,
    bool_or(fleet_step_parts.is_minimum) AS is_minimum
   FROM public.fleet_step_parts
  GROUP BY fleet_step_parts.app_id, fleet_step_parts.step, fleet_step_parts.at, fleet_step_parts.channel, fleet_step_parts.version, fleet_step_parts.platform
 HAVING (sum(fleet_step_parts.devices) > (0)::numeric);

CREATE TABLE public.host_memories (
    channel_id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    host_id bigint NOT NULL,
    canonical_version text NOT NULL COLLATE pg_catalog."C",
    noted_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    deleted_at timestamp(3) with time zone,
    host_published_at timestamp(3) with time zone,
    called_back_at timestamp(3) with time zone,
    files json
);

CREATE TABLE public.idempotency_keys (
    api_key_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    request text NOT NULL,
    release_id text COLLATE pg_catalog."C",
    status text,
    rollout_pct integer,
    used_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    approval_id text COLLATE pg_catalog."C"
);

CREATE TABLE public.invitations (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    token_hash text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    created_by text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    used_at timestamp(3) with time zone,
    revoked_at timestamp(3) with time zone,
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'publisher'::text, 'viewer'::text])))
);

CREATE SEQUENCE public.label_positions
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.ledger_epoch (
    is_present boolean DEFAULT true NOT NULL,
    epoch integer DEFAULT 0 NOT NULL,
    identity text,
    raised_at timestamp(3) with time zone,
    record text,
    line text,
    move text,
    CONSTRAINT ledger_epoch_epoch_check CHECK ((epoch >= 0)),
    CONSTRAINT ledger_epoch_is_present_check CHECK (is_present)
);

CREATE TABLE public.memberships (
    organization_id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    role_from_groups text COLLATE pg_catalog."C",
    role_by_hand text COLLATE pg_catalog."C",
    CONSTRAINT memberships_role_by_hand_check CHECK ((role_by_hand = ANY (ARRAY['owner'::text, 'publisher'::text, 'viewer'::text]))),
    CONSTRAINT memberships_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'publisher'::text, 'viewer'::text]))),
    CONSTRAINT memberships_role_from_groups_check CHECK ((role_from_groups = ANY (ARRAY['owner'::text, 'publisher'::text, 'viewer'::text])))
);

CREATE TABLE public.notification_deliveries (
    id text NOT NULL COLLATE pg_catalog."C",
    destination_id text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    is_apart boolean DEFAULT false NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    next_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    first_failed_at timestamp(3) with time zone,
    try_count integer DEFAULT 0 NOT NULL,
    tries jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT notification_deliveries_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text, 'dropped'::text])))
);

ALTER TABLE public.notification_deliveries ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.notification_deliveries_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.notification_destinations (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    url text,
    mail_to text,
    events text[],
    apps text[],
    is_enabled boolean DEFAULT true NOT NULL,
    disabled_why text,
    secret_sealed text,
    former_secret_sealed text,
    former_secret_until timestamp(3) with time zone,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    created_by text NOT NULL,
    failing_since timestamp(3) with time zone,
    leased_until timestamp(3) with time zone,
    lease_holder text,
    CONSTRAINT notification_destinations_check CHECK (((kind = 'mail'::text) = (mail_to IS NOT NULL))),
    CONSTRAINT notification_destinations_check1 CHECK (((kind = 'mail'::text) = (url IS NULL))),
    CONSTRAINT notification_destinations_check2 CHECK (((kind = 'webhook'::text) = (secret_sealed IS NOT NULL))),
    CONSTRAINT notification_destinations_kind_check CHECK ((kind = ANY (ARRAY['webhook'::text, 'slack'::text, 'mail'::text])))
);

CREATE TABLE public.notification_events (
    id text NOT NULL COLLATE pg_catalog."C",
    organization_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    app_id text COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    data json NOT NULL
);

CREATE TABLE public.notification_positions (
    organization_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL
);

CREATE TABLE public.oidc_arrivals (
    issuer text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    token_hash text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    roles json NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.oidc_identities (
    issuer text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.organizations (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    require_second_factor boolean DEFAULT false NOT NULL
);

CREATE TABLE public.outgoing_mails (
    id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    sealed text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    next_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    try_count integer DEFAULT 0 NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    leased_until timestamp(3) with time zone,
    CONSTRAINT outgoing_mails_kind_check CHECK ((kind = ANY (ARRAY['invitation'::text, 'password-reset'::text, 'sign-in'::text, 'confirmation'::text])))
);

CREATE TABLE public.passkey_recoveries (
    account_id text NOT NULL COLLATE pg_catalog."C",
    token_hash text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.passkeys (
    id text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    credential_id text NOT NULL COLLATE pg_catalog."C",
    public_key text NOT NULL COLLATE pg_catalog."C",
    counter bigint NOT NULL,
    transports text[] NOT NULL,
    name text NOT NULL,
    created_at timestamp(3) with time zone NOT NULL,
    last_used_at timestamp(3) with time zone
);

CREATE TABLE public.password_resets (
    account_id text NOT NULL COLLATE pg_catalog."C",
    token_hash text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.plan_clock (
    is_only boolean DEFAULT true NOT NULL,
    counted_ms bigint DEFAULT 0 NOT NULL,
    read_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT plan_clock_is_only_check CHECK (is_only)
)
WITH (fillfactor='50');

CREATE TABLE public.release_devices (
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    release_id text NOT NULL COLLATE pg_catalog."C",
    known integer NOT NULL,
    pushed integer NOT NULL,
    offered_at timestamp(3) with time zone,
    installed_at timestamp(3) with time zone,
    installed_on text COLLATE pg_catalog."C",
    reverted_at timestamp(3) with time zone
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

CREATE TABLE public.release_failures (
    release_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    network text COLLATE pg_catalog."C",
    known integer NOT NULL,
    pushed integer NOT NULL,
    is_offered boolean NOT NULL,
    version text,
    reason text,
    at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.release_signals (
    release_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    part smallint NOT NULL,
    known integer NOT NULL,
    pushed integer NOT NULL,
    at timestamp(0) with time zone NOT NULL,
    devices bigint NOT NULL,
    CONSTRAINT release_signals_kind_check CHECK ((kind = ANY (ARRAY['offered'::text, 'installed'::text, 'reverted'::text, 'reached'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

CREATE TABLE public.releases (
    id text NOT NULL COLLATE pg_catalog."C",
    channel_id text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    canonical_version text NOT NULL COLLATE pg_catalog."C",
    notes text NOT NULL,
    status text NOT NULL,
    rollout_pct integer NOT NULL,
    targets json,
    offered_at timestamp(3) with time zone,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    source text DEFAULT 'api'::text NOT NULL COLLATE pg_catalog."C",
    edition text DEFAULT public.new_edition() NOT NULL COLLATE pg_catalog."C",
    content_bytes integer DEFAULT 0 NOT NULL,
    hold text,
    announced_at timestamp(3) with time zone,
    published_at timestamp(3) with time zone,
    is_watched boolean DEFAULT true NOT NULL,
    announced_by text COLLATE pg_catalog."C",
    host_id bigint,
    host_tag text,
    host_published_at timestamp(3) with time zone,
    host_files_at timestamp(3) with time zone,
    called_back boolean DEFAULT false NOT NULL,
    CONSTRAINT releases_hold_check CHECK ((hold = ANY (ARRAY['expecting'::text, 'by-hand'::text]))),
    CONSTRAINT releases_rollout_pct_check CHECK (((rollout_pct >= 0) AND (rollout_pct <= 100))),
    CONSTRAINT releases_source_check CHECK ((source = ANY (ARRAY['api'::text, 'webhook'::text]))),
    CONSTRAINT releases_status_check CHECK ((status = ANY (ARRAY['published'::text, 'paused'::text, 'rolled_back'::text, 'deprecated'::text])))
);

CREATE TABLE public.rollout_plans (
    id text NOT NULL COLLATE pg_catalog."C",
    release_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL,
    state json NOT NULL,
    start_at_ms bigint,
    due_ms bigint,
    is_guarded boolean NOT NULL,
    checked_ms bigint,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    created_by text NOT NULL,
    taken_ms bigint,
    CONSTRAINT rollout_plans_status_check CHECK ((status = ANY (ARRAY['scheduled'::text, 'running'::text, 'held'::text, 'completed'::text, 'cancelled'::text])))
)
WITH (fillfactor='70');

CREATE TABLE public.sessions (
    token_hash text NOT NULL COLLATE pg_catalog."C",
    account_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(3) with time zone NOT NULL,
    last_seen_at timestamp(3) with time zone NOT NULL,
    expires_at timestamp(3) with time zone NOT NULL,
    id text DEFAULT ('ses_'::text || translate((gen_random_uuid())::text, '-'::text, ''::text)) NOT NULL COLLATE pg_catalog."C",
    browser text,
    address text,
    opened_by text DEFAULT 'password'::text NOT NULL COLLATE pg_catalog."C",
    second_factor boolean DEFAULT false NOT NULL,
    CONSTRAINT sessions_opened_by_check CHECK ((opened_by = ANY (ARRAY['password'::text, 'oidc'::text, 'passkey'::text])))
);

CREATE TABLE public.signing_keys (
    name text NOT NULL COLLATE pg_catalog."C",
    secret text NOT NULL,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.sluice_migrations (
    id integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.stopped_releases (
    stop_id text NOT NULL COLLATE pg_catalog."C",
    release_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    "position" integer NOT NULL,
    set_at timestamp(3) with time zone,
    resumed_at timestamp(3) with time zone
);

CREATE TABLE public.stops (
    id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    channel_id text COLLATE pg_catalog."C",
    stopped_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.used_challenges (
    challenge text NOT NULL COLLATE pg_catalog."C",
    expires_at timestamp(3) with time zone NOT NULL
);

CREATE TABLE public.webhook_deliveries (
    id bigint NOT NULL,
    app_id text NOT NULL COLLATE pg_catalog."C",
    at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    event text NOT NULL,
    action text,
    guid text,
    outcome text NOT NULL,
    reason text,
    version text,
    provider text DEFAULT 'github'::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT webhook_deliveries_outcome_check CHECK ((outcome = ANY (ARRAY['created'::text, 'duplicate'::text, 'ignored'::text, 'refused'::text])))
);

ALTER TABLE public.webhook_deliveries ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_deliveries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.webhooks (
    app_id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    sealed_secret text,
    created_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    enabled_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL,
    disabled_at timestamp(3) with time zone,
    tag_prefix text,
    hold boolean DEFAULT false NOT NULL,
    expect json,
    CONSTRAINT webhooks_check CHECK (((disabled_at IS NULL) = (sealed_secret IS NOT NULL))),
    CONSTRAINT webhooks_check1 CHECK ((hold OR (expect IS NULL))),
    CONSTRAINT webhooks_provider_check CHECK ((provider = ANY (ARRAY['github'::text, 'gitea'::text, 'forgejo'::text])))
);

CREATE TABLE public.withdrawn_versions (
    channel_id text NOT NULL COLLATE pg_catalog."C",
    canonical_version text NOT NULL COLLATE pg_catalog."C",
    withdrawn_at timestamp(3) with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ONLY public.devices ATTACH PARTITION public.devices_0 FOR VALUES WITH (modulus 16, remainder 0);

INSERT INTO public.device_versions_trim VALUES (true, '', '', -1);

INSERT INTO public.device_writers VALUES (0, '', 0, 0);
INSERT INTO public.device_writers VALUES (1, '', 0, 0);
INSERT INTO public.device_writers VALUES (2, '', 0, 0);
INSERT INTO public.device_writers VALUES (3, '', 0, 0);
INSERT INTO public.device_writers VALUES (4, '', 0, 0);
INSERT INTO public.device_writers VALUES (5, '', 0, 0);
INSERT INTO public.device_writers VALUES (6, '', 0, 0);
INSERT INTO public.device_writers VALUES (7, '', 0, 0);
INSERT INTO public.device_writers VALUES (8, '', 0, 0);
INSERT INTO public.device_writers VALUES (9, '', 0, 0);
INSERT INTO public.device_writers VALUES (10, '', 0, 0);
INSERT INTO public.device_writers VALUES (11, '', 0, 0);
INSERT INTO public.device_writers VALUES (12, '', 0, 0);
INSERT INTO public.device_writers VALUES (13, '', 0, 0);
INSERT INTO public.device_writers VALUES (14, '', 0, 0);
INSERT INTO public.device_writers VALUES (15, '', 0, 0);

INSERT INTO public.ledger_epoch VALUES (true, 0, NULL, NULL, NULL, NULL, NULL);

INSERT INTO public.plan_clock VALUES (true, 0, 'TIME');

SELECT pg_catalog.setval('public.audit_entries_id_seq', 1, false);

SELECT pg_catalog.setval('public.label_positions', 1, false);

SELECT pg_catalog.setval('public.notification_deliveries_seq_seq', 1, false);

SELECT pg_catalog.setval('public.webhook_deliveries_id_seq', 1, false);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_email_key UNIQUE (email);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.admissions
    ADD CONSTRAINT admissions_pkey PRIMARY KEY (minute, source);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_prefix_key UNIQUE (prefix);

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_ref_key UNIQUE (ref);

ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_pkey PRIMARY KEY (release_id, "position");

ALTER TABLE ONLY public.audit_entries
    ADD CONSTRAINT audit_entries_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.awaited_devices
    ADD CONSTRAINT awaited_devices_pkey PRIMARY KEY (part, number);

ALTER TABLE ONLY public.channels
    ADD CONSTRAINT channels_app_id_name_key UNIQUE (app_id, name);

ALTER TABLE ONLY public.channels
    ADD CONSTRAINT channels_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.device_versions
    ADD CONSTRAINT device_versions_pkey PRIMARY KEY (app_id, device_id, slot);

ALTER TABLE ONLY public.device_versions_trim
    ADD CONSTRAINT device_versions_trim_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY public.device_writers
    ADD CONSTRAINT device_writers_pkey PRIMARY KEY (part);

ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_pkey PRIMARY KEY (app_id, device_id);

ALTER TABLE ONLY public.devices_0
    ADD CONSTRAINT devices_0_pkey PRIMARY KEY (app_id, device_id);

ALTER TABLE ONLY public.edge_tokens
    ADD CONSTRAINT edge_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.edge_tokens
    ADD CONSTRAINT edge_tokens_prefix_key UNIQUE (prefix);

ALTER TABLE ONLY public.erased_devices
    ADD CONSTRAINT erased_devices_pkey PRIMARY KEY (app_id, device_hash);

ALTER TABLE ONLY public.failed_sign_ins
    ADD CONSTRAINT failed_sign_ins_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.fleet_count_parts
    ADD CONSTRAINT fleet_count_parts_pkey PRIMARY KEY (app_id, channel, version, platform, part);

ALTER TABLE ONLY public.fleet_hour_parts
    ADD CONSTRAINT fleet_hour_parts_pkey PRIMARY KEY (app_id, hour, channel, version, platform, part);

ALTER TABLE ONLY public.fleet_step_parts
    ADD CONSTRAINT fleet_step_parts_pkey PRIMARY KEY (app_id, step, at, channel, version, platform, part);

ALTER TABLE ONLY public.host_memories
    ADD CONSTRAINT host_memories_pkey PRIMARY KEY (channel_id, provider, host_id, canonical_version);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (api_key_id, key);

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_token_hash_key UNIQUE (token_hash);

ALTER TABLE ONLY public.ledger_epoch
    ADD CONSTRAINT ledger_epoch_pkey PRIMARY KEY (is_present);

ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_pkey PRIMARY KEY (organization_id, account_id);

ALTER TABLE ONLY public.notification_deliveries
    ADD CONSTRAINT notification_deliveries_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.notification_destinations
    ADD CONSTRAINT notification_destinations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.notification_events
    ADD CONSTRAINT notification_events_organization_id_position_key UNIQUE (organization_id, "position");

ALTER TABLE ONLY public.notification_events
    ADD CONSTRAINT notification_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.notification_positions
    ADD CONSTRAINT notification_positions_pkey PRIMARY KEY (organization_id);

ALTER TABLE ONLY public.oidc_arrivals
    ADD CONSTRAINT oidc_arrivals_pkey PRIMARY KEY (issuer, subject);

ALTER TABLE ONLY public.oidc_arrivals
    ADD CONSTRAINT oidc_arrivals_token_hash_key UNIQUE (token_hash);

ALTER TABLE ONLY public.oidc_identities
    ADD CONSTRAINT oidc_identities_account_id_issuer_key UNIQUE (account_id, issuer);

ALTER TABLE ONLY public.oidc_identities
    ADD CONSTRAINT oidc_identities_pkey PRIMARY KEY (issuer, subject);

ALTER TABLE ONLY public.organizations
    ADD CONSTRAINT organizations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.outgoing_mails
    ADD CONSTRAINT outgoing_mails_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.passkey_recoveries
    ADD CONSTRAINT passkey_recoveries_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.passkey_recoveries
    ADD CONSTRAINT passkey_recoveries_token_hash_key UNIQUE (token_hash);

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id);

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.password_resets
    ADD CONSTRAINT password_resets_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.password_resets
    ADD CONSTRAINT password_resets_token_hash_key UNIQUE (token_hash);

ALTER TABLE ONLY public.plan_clock
    ADD CONSTRAINT plan_clock_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY public.release_devices
    ADD CONSTRAINT release_devices_pkey PRIMARY KEY (app_id, device_id, release_id);

ALTER TABLE ONLY public.release_failures
    ADD CONSTRAINT release_failures_pkey PRIMARY KEY (release_id, device_id);

ALTER TABLE ONLY public.release_signals
    ADD CONSTRAINT release_signals_pkey PRIMARY KEY (release_id, kind, part, known, pushed, at);

ALTER TABLE ONLY public.releases
    ADD CONSTRAINT releases_channel_id_canonical_version_key UNIQUE (channel_id, canonical_version);

ALTER TABLE ONLY public.releases
    ADD CONSTRAINT releases_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.rollout_plans
    ADD CONSTRAINT rollout_plans_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_id_key UNIQUE (id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (token_hash);

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.sluice_migrations
    ADD CONSTRAINT sluice_migrations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.stopped_releases
    ADD CONSTRAINT stopped_releases_pkey PRIMARY KEY (stop_id, release_id);

ALTER TABLE ONLY public.stops
    ADD CONSTRAINT stops_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.used_challenges
    ADD CONSTRAINT used_challenges_pkey PRIMARY KEY (challenge);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (app_id, provider);

ALTER TABLE ONLY public.withdrawn_versions
    ADD CONSTRAINT withdrawn_versions_pkey PRIMARY KEY (channel_id, canonical_version);

CREATE INDEX api_keys_of_organization ON public.api_keys USING btree (organization_id, created_at DESC);

CREATE INDEX approvals_decided_oldest_first ON public.approvals USING btree (decided_at) WHERE (status <> 'pending'::text);

CREATE INDEX approvals_of_organization ON public.approvals USING btree (organization_id, id DESC);

CREATE INDEX approvals_pending ON public.approvals USING btree (app_id, channel_id) WHERE (status = 'pending'::text);

CREATE INDEX apps_of_organization ON public.apps USING btree (organization_id, ref);

CREATE INDEX audit_entries_newest_first ON public.audit_entries USING btree (organization_id, at DESC, id DESC);

CREATE INDEX audit_entries_of_subject ON public.audit_entries USING btree (organization_id, subject, at DESC, id DESC);

CREATE INDEX channels_following ON public.channels USING btree (follows) WHERE (follows IS NOT NULL);

CREATE INDEX devices_in_random_order ON ONLY public.devices USING btree (public.device_place(app_id, channel), hashtext(device_id));

CREATE INDEX devices_0_device_place_hashtext_idx ON public.devices_0 USING btree (public.device_place(app_id, channel), hashtext(device_id));

CREATE INDEX devices_by_labels_position ON ONLY public.devices USING btree (labels_position) WHERE (labels_position IS NOT NULL);

CREATE INDEX devices_0_labels_position_idx ON public.devices_0 USING btree (labels_position) WHERE (labels_position IS NOT NULL);

CREATE INDEX devices_of_version ON ONLY public.devices USING btree (version, app_id, device_id);

CREATE INDEX devices_0_version_app_id_device_id_idx ON public.devices_0 USING btree (version, app_id, device_id);

CREATE INDEX erased_devices_newest_first ON public.erased_devices USING btree (erased_at DESC);

CREATE INDEX fleet_hour_parts_to_fold ON public.fleet_hour_parts USING btree (hour) WHERE (part >= 0);

CREATE INDEX fleet_hours_oldest_first ON public.fleet_hour_parts USING btree (hour);

CREATE INDEX fleet_step_parts_to_fold ON public.fleet_step_parts USING btree (at) WHERE (part >= 0);

CREATE INDEX fleet_steps_oldest_first ON public.fleet_step_parts USING btree (at);

CREATE INDEX idempotency_keys_of_approval ON public.idempotency_keys USING btree (approval_id) WHERE (approval_id IS NOT NULL);

CREATE INDEX idempotency_keys_of_release ON public.idempotency_keys USING btree (release_id);

CREATE INDEX idempotency_keys_oldest_first ON public.idempotency_keys USING btree (used_at);

CREATE INDEX invitations_of_organization ON public.invitations USING btree (organization_id, created_at DESC);

CREATE INDEX memberships_of_account ON public.memberships USING btree (account_id);

CREATE INDEX notification_deliveries_apart ON public.notification_deliveries USING btree (destination_id, seq) WHERE ((state = 'waiting'::text) AND (is_apart OR (first_failed_at IS NOT NULL)));

CREATE INDEX notification_deliveries_newest_first ON public.notification_deliveries USING btree (destination_id, seq DESC);

CREATE INDEX notification_deliveries_of_event ON public.notification_deliveries USING btree (event_id);

CREATE INDEX notification_deliveries_waiting ON public.notification_deliveries USING btree (destination_id, seq) WHERE (state = 'waiting'::text);

CREATE INDEX notification_destinations_of ON public.notification_destinations USING btree (organization_id, id);

CREATE INDEX notification_events_oldest_first ON public.notification_events USING btree (at);

CREATE INDEX oidc_arrivals_oldest_first ON public.oidc_arrivals USING btree (expires_at);

CREATE INDEX outgoing_mails_due ON public.outgoing_mails USING btree (next_at);

CREATE INDEX passkeys_of_account ON public.passkeys USING btree (account_id, created_at);

CREATE INDEX release_devices_in_order ON public.release_devices USING btree (release_id, known, hashtext(device_id));

CREATE INDEX release_failures_by_network ON public.release_failures USING btree (release_id, network);

CREATE INDEX release_failures_early ON public.release_failures USING btree (release_id) WHERE (NOT is_offered);

CREATE INDEX release_failures_newest_first ON public.release_failures USING btree (release_id, at DESC);

CREATE UNIQUE INDEX releases_by_edition ON public.releases USING btree (edition);

CREATE INDEX releases_in_order ON public.releases USING btree (channel_id, created_at, id) INCLUDE (edition, offered_at);

CREATE INDEX releases_never_offered ON public.releases USING btree (channel_id, id) WHERE (offered_at IS NULL);

CREATE INDEX releases_watched ON public.releases USING btree (published_at) WHERE is_watched;

CREATE INDEX rollout_plans_of_release ON public.rollout_plans USING btree (release_id, created_at DESC, id DESC);

CREATE UNIQUE INDEX rollout_plans_one_open ON public.rollout_plans USING btree (release_id) WHERE (status = ANY (ARRAY['scheduled'::text, 'running'::text, 'held'::text]));

CREATE INDEX rollout_plans_to_drive ON public.rollout_plans USING btree (id) WHERE (status = ANY (ARRAY['scheduled'::text, 'running'::text, 'held'::text]));

CREATE INDEX sessions_of_account ON public.sessions USING btree (account_id, created_at);

CREATE INDEX stopped_releases_waiting ON public.stopped_releases USING btree (release_id) WHERE ((set_at IS NULL) AND (resumed_at IS NULL));

CREATE INDEX webhook_deliveries_newest_first ON public.webhook_deliveries USING btree (app_id, id DESC);

ALTER INDEX public.devices_in_random_order ATTACH PARTITION public.devices_0_device_place_hashtext_idx;

ALTER INDEX public.devices_by_labels_position ATTACH PARTITION public.devices_0_labels_position_idx;

ALTER INDEX public.devices_pkey ATTACH PARTITION public.devices_0_pkey;

ALTER INDEX public.devices_of_version ATTACH PARTITION public.devices_0_version_app_id_device_id_idx;

CREATE TRIGGER add_to_channel AFTER INSERT ON public.releases REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.add_to_channel();

CREATE TRIGGER change_in_channel AFTER UPDATE ON public.releases REFERENCING OLD TABLE AS taken NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.change_in_channel();

CREATE TRIGGER count_deleted_artifacts AFTER DELETE ON public.artifacts REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.count_artifacts();

CREATE TRIGGER count_inserted_artifacts AFTER INSERT ON public.artifacts REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.count_artifacts();

CREATE TRIGGER count_notes BEFORE INSERT ON public.releases FOR EACH ROW EXECUTE FUNCTION public.count_notes();

CREATE TRIGGER count_updated_artifacts AFTER UPDATE ON public.artifacts REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.count_artifacts();

CREATE TRIGGER forget_release_devices AFTER DELETE ON public.devices REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.forget_release_devices();

CREATE TRIGGER note_publishing BEFORE INSERT OR UPDATE OF status ON public.releases FOR EACH ROW EXECUTE FUNCTION public.note_publishing();

CREATE TRIGGER refuse_epoch_going_back BEFORE UPDATE ON public.ledger_epoch FOR EACH ROW EXECUTE FUNCTION public.refuse_epoch_going_back();

CREATE TRIGGER refuse_release_change BEFORE UPDATE ON public.releases FOR EACH ROW EXECUTE FUNCTION public.refuse_release_change();

CREATE TRIGGER refuse_revision_going_back BEFORE UPDATE ON public.channels FOR EACH ROW EXECUTE FUNCTION public.refuse_revision_going_back();

CREATE TRIGGER renew_edition BEFORE UPDATE ON public.releases FOR EACH ROW EXECUTE FUNCTION public.renew_edition();

CREATE TRIGGER take_from_channel AFTER DELETE ON public.releases REFERENCING OLD TABLE AS taken FOR EACH STATEMENT EXECUTE FUNCTION public.take_from_channel();

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);

ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);

ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_release_id_fkey FOREIGN KEY (release_id) REFERENCES public.releases(id);

ALTER TABLE ONLY public.audit_entries
    ADD CONSTRAINT audit_entries_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);

ALTER TABLE ONLY public.channels
    ADD CONSTRAINT channels_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);

ALTER TABLE ONLY public.channels
    ADD CONSTRAINT channels_follows_fkey FOREIGN KEY (follows) REFERENCES public.channels(id);

ALTER TABLE ONLY public.edge_tokens
    ADD CONSTRAINT edge_tokens_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);

ALTER TABLE ONLY public.erased_devices
    ADD CONSTRAINT erased_devices_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);

ALTER TABLE ONLY public.failed_sign_ins
    ADD CONSTRAINT failed_sign_ins_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.host_memories
    ADD CONSTRAINT host_memories_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES public.api_keys(id);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_approval_id_fkey FOREIGN KEY (approval_id) REFERENCES public.approvals(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_release_id_fkey FOREIGN KEY (release_id) REFERENCES public.releases(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);

ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.memberships
    ADD CONSTRAINT memberships_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);

ALTER TABLE ONLY public.notification_deliveries
    ADD CONSTRAINT notification_deliveries_destination_id_fkey FOREIGN KEY (destination_id) REFERENCES public.notification_destinations(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notification_deliveries
    ADD CONSTRAINT notification_deliveries_event_id_fkey FOREIGN KEY (event_id) REFERENCES public.notification_events(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notification_destinations
    ADD CONSTRAINT notification_destinations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);

ALTER TABLE ONLY public.notification_events
    ADD CONSTRAINT notification_events_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);

ALTER TABLE ONLY public.notification_events
    ADD CONSTRAINT notification_events_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);

ALTER TABLE ONLY public.notification_positions
    ADD CONSTRAINT notification_positions_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.organizations(id);

ALTER TABLE ONLY public.oidc_identities
    ADD CONSTRAINT oidc_identities_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.passkey_recoveries
    ADD CONSTRAINT passkey_recoveries_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.password_resets
    ADD CONSTRAINT password_resets_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.releases
    ADD CONSTRAINT releases_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);

ALTER TABLE ONLY public.rollout_plans
    ADD CONSTRAINT rollout_plans_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.stopped_releases
    ADD CONSTRAINT stopped_releases_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);

ALTER TABLE ONLY public.stopped_releases
    ADD CONSTRAINT stopped_releases_stop_id_fkey FOREIGN KEY (stop_id) REFERENCES public.stops(id);

ALTER TABLE ONLY public.stops
    ADD CONSTRAINT stops_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);

ALTER TABLE ONLY public.stops
    ADD CONSTRAINT stops_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(id);

ALTER TABLE ONLY public.withdrawn_versions
    ADD CONSTRAINT withdrawn_versions_channel_id_fkey FOREIGN KEY (channel_id) REFERENCES public.channels(id);
