// Reads what lies in Redis. Another version of the service, or another program, may have written it, so
// what is not understood is told apart here, and no further.

import type { ServingSnapshot } from '../../domain/serving-snapshot.ts';
import type { Activity } from '../../ports/activity-feed.ts';
import type { Announcement } from '../../ports/engine.ts';

/** The snapshot in a stored body, or undefined when it is none. */
export function parseSnapshotPayload(body: string): ServingSnapshot | undefined {
  const value = parseObject<ServingSnapshot>(body);
  const isSnapshot = hasNames(value) && typeof value.appId === 'string';
  return isSnapshot && Array.isArray(value.releases) ? (value as ServingSnapshot) : undefined;
}

/** The announcement in a message, or undefined when it is none. */
export function parseAnnouncementPayload(message: string): Announcement | undefined {
  const value = parseObject<Announcement>(message);
  return hasNames(value) ? (value as Announcement) : undefined;
}

function hasNames(value: Partial<Announcement>): boolean {
  return (
    typeof value.appRef === 'string' &&
    typeof value.channel === 'string' &&
    typeof value.channelId === 'string' &&
    Number.isSafeInteger(value.revision)
  );
}

/** The JSON object in a text, its fields still to be checked; empty when there is none. */
function parseObject<Shape>(text: string): Partial<Shape> {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? value : {};
}

/** The JSON value in a text, or undefined when there is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The activity in a message; what is not understood is left out. */
export function parseActivityPayload(message: string): readonly Activity[] {
  const value = parseJson(message);
  if (!Array.isArray(value)) return [];
  return (value as Partial<Activity>[]).filter(
    (each): each is Activity =>
      typeof each?.appId === 'string' && Number.isFinite(each.count) && Array.isArray(each.samples),
  );
}
