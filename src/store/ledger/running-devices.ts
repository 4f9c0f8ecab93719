// Expression that counts the devices on record that run a release.

/**
 * Returns the expression in SQL of the number of devices that run a release on its channel, or on one that
 * follows it and has no release of this version itself. The arguments are expressions: the channel's id and
 * the canonical version.
 */
export function runningDevices(channelId: string, version: string): string {
  return `(
    SELECT coalesce(sum(fleet_counts.devices), 0)::float8
    FROM channels AS place JOIN fleet_counts
      ON fleet_counts.app_id = place.app_id AND fleet_counts.channel = place.name
    WHERE fleet_counts.version = ${version} AND (
      place.id = ${channelId} OR place.follows = ${channelId} AND NOT EXISTS (
        SELECT FROM releases AS own
        WHERE own.channel_id = place.id AND own.canonical_version = ${version}
      )
    )
  )`;
}
