// Expression that counts the devices on record that run a version.

/**
 * Returns the expression in SQL of the number of devices that run a version on a channel. The arguments are
 * expressions: the app's id, the channel's name and the canonical version.
 */
export function runningDevices(appId: string, channel: string, version: string): string {
  return `(
    SELECT coalesce(sum(devices), 0)::float8 FROM fleet_counts
    WHERE fleet_counts.app_id = ${appId} AND fleet_counts.channel = ${channel}
      AND fleet_counts.version = ${version}
  )`;
}
