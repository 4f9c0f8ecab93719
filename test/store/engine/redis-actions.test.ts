// Tests which actions of devices in Redis a process takes for confirmed (docs/contract.md 34.36). The rules
// of every engine: action-contract.

import { afterEach, expect, it, vi } from 'vitest';
import { Unavailable } from '../../../src/contract/store-fault.ts';
import { NO_ACTIONS } from '../../../src/domain/fleet/device-actions.ts';
import { packActions } from '../../../src/domain/fleet/packed-actions.ts';
import { createRedisActions } from '../../../src/store/redis/redis-actions.ts';
import { keys } from '../../support/redis-keys.ts';

const DEVICE = { appId: 'app', deviceId: 'device' };

afterEach(() => vi.restoreAllMocks());

it('a command that failed leaves nothing from before it confirmed, on the same connection too', async () => {
  const clock = vi.spyOn(performance, 'now');
  let reply: unknown[] | Error = [];
  const connection = {
    session: {},
    runEach: async () => {
      if (reply instanceof Error) throw reply;
      return reply;
    },
    runAll: async () => undefined,
    run: async () => undefined,
  };
  const actions = createRedisActions(connection, keys, () => undefined);
  const readAt = async (now: number, putAt: number) => {
    clock.mockReturnValue(now);
    reply = [[now - putAt, `0 0 ${packActions(NO_ACTIONS)}`]];
    const [held] = await actions.getActions([DEVICE]);
    return held?.isConfirmed;
  };
  await readAt(1000, 1000);
  expect(await readAt(3000, 2000)).toBe(true);
  reply = new Unavailable('engine', 'it stood still');
  await expect(actions.getActions([DEVICE])).rejects.toThrow(Unavailable);
  expect(await readAt(4000, 2000)).toBe(false);
  expect(await readAt(6000, 5000)).toBe(true);
});
