-- Signals of releases from check-ins: firsts of devices, which `release_signals` counts. `record_check_ins` calls
-- `note_signals` under the locks of the devices' parts, with the few devices that have news: a check-in like the one
-- before is none.
--
-- In this file, OFFSET 0 keeps PostgreSQL from scanning tables without statistics for each row.

-- Watched releases of the reported versions, by app, version and channel: the channel's own release before that of
-- the channel it follows. Null if there is none.
CREATE OR REPLACE FUNCTION find_told_releases(news device_news[]) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
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

-- Watched releases that were offered, by id, with whether devices failed to install them before an offer. Null if
-- there is none.
CREATE OR REPLACE FUNCTION find_offered_releases(news device_news[]) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
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

-- News with the releases that they may be firsts of: the offered one, and the one that the device runs, if its
-- version, channel or platform changed or if this is its first check-in since the release was published.
CREATE OR REPLACE FUNCTION news_of_releases(news device_news[], told jsonb, offered jsonb) RETURNS TABLE (
  app_id text, device_id text, part smallint, at timestamptz, is_new boolean, may_revert boolean, channel text,
  version text, first_seen timestamptz, first_reported timestamptz, offer jsonb, run jsonb
) LANGUAGE sql STABLE AS $$
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

-- Records the next firsts of devices with releases that they were already offered or seen on: the first offer, the
-- first check-in on the release, and the first return to a lower version. Returns these firsts.
CREATE OR REPLACE FUNCTION note_next_firsts(news device_news[], told jsonb, offered jsonb) RETURNS release_first[]
LANGUAGE plpgsql VOLATILE AS $$
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

-- Records devices that are offered a release or seen on it for the first time, if they were on record before it was
-- published. Returns these firsts.
CREATE OR REPLACE FUNCTION note_reached(news device_news[], told jsonb, offered jsonb) RETURNS release_first[]
LANGUAGE plpgsql VOLATILE AS $$
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

-- Adds firsts to the signals of their releases.
CREATE OR REPLACE FUNCTION count_firsts(firsts release_first[], offered jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
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

-- Records and counts the firsts of devices with releases.
CREATE OR REPLACE FUNCTION note_signals(news device_news[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
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
