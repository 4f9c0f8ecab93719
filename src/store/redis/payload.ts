// Parsers of the JSON that Redis holds or delivers. Another version of the service, or another program, may
// have written it, so malformed data is recognised here and does not get any further.

import { parseJson } from '../../domain/fleet/check-in-payload.ts';
import type { Activity } from '../activity-stream.ts';
import type { Announcement } from '../engine.ts';

/**
 * Parses an announcement; returns undefined when it is malformed. Nodes of versions that know no epochs leave
 * it out, and announce for the first one.
 */
export function parseAnnouncementPayload(message: string): Announcement | undefined {
  const value: Partial<Announcement> = { epoch: 0, ...parseObject<Announcement>(message) };
  const isAnnouncement =
    typeof value.appRef === 'string' &&
    typeof value.channel === 'string' &&
    typeof value.channelId === 'string' &&
    Number.isSafeInteger(value.epoch) &&
    Number.isSafeInteger(value.revision) &&
    ['string', 'undefined'].includes(typeof value.offeredReleaseId);
  return isAnnouncement ? (value as Announcement) : undefined;
}

/** Parses a JSON object whose fields the caller still checks; returns an empty object for anything else. */
function parseObject<Shape>(text: string): Partial<Shape> {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? value : {};
}

/** Parses shared activity; malformed entries are left out. */
export function parseActivityPayload(message: string): readonly Activity[] {
  const value = parseJson(message);
  if (!Array.isArray(value)) return [];
  return (value as Partial<Activity>[]).filter(
    (each): each is Activity =>
      typeof each?.appId === 'string' && Number.isFinite(each.count) && Array.isArray(each.samples),
  );
}
