// Shared rate windows in Redis: one key per busy device. `DeviceRates` states the obligations.

import { LIMIT } from '../../contract/limit.ts';
import type { DeviceDebt } from '../../domain/fleet/shared-window.ts';
import type { DeviceRates } from '../device-rates.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { SCRIPTS } from './script.ts';

export function createRedisDeviceRates(connection: RedisConnection, keys: Keys): DeviceRates {
  return {
    async settleDevices(debts) {
      const calls = debts.map((debt) => ({
        key: keys.deviceRate(debt.device),
        args: argsOf(debt),
      }));
      const waits = await connection.runEach(SCRIPTS.settleDevices, calls);
      return (waits as readonly number[]).map((waitMs) => ({ isAllowed: waitMs === 0, waitMs }));
    },
  };
}

function argsOf({ process, requestId, owed }: DeviceDebt): string[] {
  return [
    String(LIMIT.deviceRequestsPerMinute),
    String(LIMIT.rateWindowMs),
    `${process}:${requestId}`,
    owed.map(({ id, ageMs }) => `${process}:${id} ${ageMs}`).join(' '),
  ];
}
