-- Deletion of devices that should never have come to the record, such as those that a client has invented.

-- Deletes devices of an app that were first seen after a time and, unless `only_version` is null, run that
-- version: those among the next `rows_max` devices after the id `after_device`. Answers their ids, and the id
-- up to which devices were looked at, null when that was the last one. The counts of the present lose them,
-- and so does the hour in which each was last seen. Earlier hours keep them: a device was counted there in
-- the cell where it then was, which nobody knows any more.
--
-- The look takes no lock, and what it found is asked again under the lock: a device that was deleted
-- meanwhile and has come back is judged by its new record.
CREATE FUNCTION purge_devices(
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
      date_trunc('hour', devices.last_seen, 'UTC') AS hour
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
  ), forgotten AS (
    DELETE FROM device_versions USING gone
    WHERE device_versions.app_id = app AND device_versions.device_id = gone.device_id
  )
  SELECT coalesce(array_agg(device_id), '{}') INTO purged FROM gone;
  RETURN NEXT;
END
$$;
