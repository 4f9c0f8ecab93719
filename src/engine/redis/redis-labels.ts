// The label cache in Redis: one key per device. `LabelCache` states the obligations.

import type { LabelCache } from '../../ports/label-cache.ts';
import type { RedisConnection } from './connection.ts';
import { keys } from './keys.ts';
import { packLabelPayload, parseLabelPayload } from './label-payload.ts';
import { SCRIPTS } from './script.ts';

// Labels are kept for an hour, so that memory goes to the devices that asked lately.
const TTL_MS = 3_600_000;
// Lifetimes are spread, so that labels cached at the same time do not expire, and hit the ledger, at the same
// time.
const TTL_SPREAD_MS = 600_000;

export function createRedisLabels(
  connection: RedisConnection,
  onFault: (error: unknown) => void,
): Pick<LabelCache, 'getLabels' | 'putLabels'> {
  return {
    async getLabels(devices) {
      const payloads = await connection.readAll(devices.map(keys.labels));
      return devices.map(({ appId, deviceId }, index) => {
        const payload = payloads[index] ?? null;
        if (payload === null) return undefined;
        const found = parseLabelPayload(payload);
        if (found === undefined) onFault(new Error('ignored malformed labels'));
        return found && { appId, deviceId, ...found };
      });
    },

    async putLabels(entries) {
      const calls = entries.map((entry) => ({
        key: keys.labels(entry),
        args: [packLabelPayload(entry), String(ttlMs())],
      }));
      await connection.runAll(SCRIPTS.putLabels, calls);
    },
  };
}

function ttlMs(): number {
  return Math.round(TTL_MS - Math.random() * TTL_SPREAD_MS);
}
