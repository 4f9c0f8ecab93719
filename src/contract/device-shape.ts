// Shapes of devices in the answers of the management API, and of what concerns those that speak DDI.

import { z } from 'zod';
import {
  ACTION_RESULTS,
  ACTION_STATES,
  DDI_KEYS,
  DEVICE_CLIENTS,
  UNKNOWN_VERSION_EFFECTS,
} from './choice.ts';

const time = z.iso.datetime();
const count = z.int().min(0);

/** Settings of a channel that answers DDI. */
export const ddi = z.object({
  pollSeconds: count.describe('Seconds between two polls of a device.'),
  ...{ platform: z.string(), arch: z.string().nullable() },
  keys: z.record(z.enum(DDI_KEYS), z.string()).describe('Attributes that tell each of these.'),
  unknownVersion: z.enum(UNKNOWN_VERSION_EFFECTS),
  retries: count.describe('Retries of a release that failed on a device.'),
  retryAfterMinutes: count.describe('Minutes before the first retry; doubled each time.'),
  askDays: count.describe('Days after which attributes are asked for again; 0 for never.'),
});

export const client = z.enum(DEVICE_CLIENTS);
export const labels = z.record(z.string(), z.string());

export const device = z.object({
  deviceId: z.string(),
  version: z.string().nullable(),
  platform: z.string(),
  arch: z.string().nullable(),
  channel: z.string(),
  labels,
  source: z.enum(['pull', 'push']),
  /** Client of its last check; null if unknown. So is `bundle`, the kind of installation reported with it. */
  client: client.nullable(),
  bundle: z.string().nullable(),
  firstSeen: time,
  lastSeen: time,
  /** Version of the release last offered to it, and the time of the offer; null before the first offer. */
  lastOffered: z.object({ version: z.string(), at: time }).nullable(),
});

/** What a device that speaks DDI is to install, or was last, and what it does not get again. */
export const actions = z.object({
  /** The open action, else the last one; null if there was none. */
  action: z
    .object({
      id: z.string(),
      version: z.string(),
      state: z.enum(ACTION_STATES),
      since: time,
      reason: z.string().nullable().describe('Why it failed; null if that is not known.'),
    })
    .nullable(),
  barred: z.array(
    z.object({
      version: z.string(),
      result: z.enum(ACTION_RESULTS),
      until: time.nullable().describe('Null where no time ends it.'),
    }),
  ),
});

export const deviceTokens = z.object({
  tokens: z.array(
    z.object({ deviceId: z.string(), token: z.string().describe('32 characters of base64url.') }),
  ),
});
