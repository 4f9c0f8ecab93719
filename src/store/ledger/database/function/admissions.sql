-- Admission of new devices: devices that send check-ins themselves are recorded only up to a limit of new devices
-- per minute, so that a client that invents ids does not fill the record.

-- Number of new devices that a source has added to the record in a minute.
CREATE OR REPLACE FUNCTION admitted_from(minute timestamptz, source text) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT coalesce((
    SELECT devices FROM admissions WHERE admissions.minute = $1 AND admissions.source = $2
  ), 0)
$$;

-- Serializes the counting of new devices, because the limits cover all parts. Call it after the locks of the parts;
-- it locks only if there is a new device to count.
CREATE OR REPLACE FUNCTION lock_admissions(app_ids text[], device_ids text[], networks text[]) RETURNS void
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

-- Counts the new devices among check-ins, in the minute of each check-in and in the order of the check-ins, up to the
-- limits (0 is no limit). Returns the rejected ones by their place, from 1, with the limit that rejected them. A null
-- network means that the caller knows the device to be on record; an empty text is an unknown network. Call it under
-- the lock of admissions, in a separate statement.
--
-- A device must be within all of its limits. Each limit is applied to the devices that passed the ones before, so
-- that a rejected device takes no other's place.
CREATE OR REPLACE FUNCTION admit_check_ins(
  app_ids text[], device_ids text[], times bigint[], networks text[], wide_networks text[],
  network_max integer, wide_max integer, app_max integer
) RETURNS TABLE (refused_place integer, bound text)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET jit = off
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

-- Records check-ins as `record_check_ins` does, except those of new devices beyond the limits, which it returns with
-- the limit that rejected them. Recording and counting are one transaction: in a repeated call the devices are no
-- longer new, and are not counted again.
CREATE OR REPLACE FUNCTION record_checks(
  app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
  sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean,
  networks text[], wide_networks text[], network_max integer, wide_max integer, app_max integer,
  clients text[], bundles text[], freshness_ms integer, history integer, writer text, device_networks text[]
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
