// Tests the playing of a fleet against a real server: every device asks, learns what it is offered, and tries
// again when it is refused.

import type { RequestListener } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type FleetProgress, playFleet } from '../../bench/suite/fleet/play-fleet.ts';
import { loopbackServer } from './loopback-server.ts';

let close: (() => void) | undefined;
afterEach(() => close?.());

/** Plays 100 devices for a second, which is five minutes to them, and a half before. */
async function played(listener: RequestListener) {
  const server = await loopbackServer(listener);
  close = server.close;
  const told: FleetProgress[] = [];
  const options = {
    port: server.port,
    paths: ['/u/a/stable/linux/x86_64', '/u/a/stable/windows/x86_64'],
    ...{ devices: 100, speed: 300, warmupSeconds: 0.5, seconds: 1, steps: 2 },
    ...{ versions: ['1.0.0'], watched: '1.1.0' },
  };
  await playFleet(options, (progress) => told.push(progress));
  return { told, last: told.at(-1) as FleetProgress, connections: server.opened() };
}

describe('a played fleet', () => {
  it('asks for each device on a connection of its own, and tells how it goes on', async () => {
    const devices = new Set<unknown>();
    const { told, last, connections } = await played(({ headers }, response) => {
      devices.add(headers['x-service-device']);
      response.statusCode = 204;
      response.end();
    });
    expect(told.map(({ answers }) => answers)[0]).toBe(0);
    expect(told).toHaveLength(3);
    // Three of five devices sleep in most of the second half of the run.
    expect(devices.size).toBeGreaterThan(60);
    expect(devices.size).toBeLessThanOrEqual(100);
    expect(connections).toBeGreaterThanOrEqual(last.asked);
    expect([last.errors, last.offers, last.retries]).toEqual([{}, 0, 0]);
  });

  it('goes on with the version that was offered', async () => {
    const asked = new Set<string>();
    const { last } = await played(({ url = '' }, response) => {
      asked.add(url.slice(url.lastIndexOf('/') + 1));
      if (url.endsWith('/1.1.0')) response.writeHead(204).end();
      else response.end('{"version":"1.1.0","notes":""}');
    });
    expect(last.errors).toEqual({});
    expect(last.watchedShare).toBeGreaterThan(0);
    expect(last.watchedShare).toBeLessThan(1);
    expect([...asked].sort()).toEqual(['1.0.0', '1.1.0']);
  });

  it('tries again when it is told to come later, and counts that', async () => {
    const refused = new Set<unknown>();
    const { last } = await played(({ headers }, response) => {
      const device = headers['x-service-device'];
      response.statusCode = refused.has(device) ? 204 : 429;
      refused.add(device);
      response.end();
    });
    expect(last.errors['status 429']).toBeGreaterThan(0);
    expect(last.retries).toBeGreaterThan(0);
    expect(last.retries).toBeLessThanOrEqual(100);
  });

  it('counts what goes wrong on the way', async () => {
    const { last } = await played(({ socket }) => socket.destroy());
    expect(Object.keys(last.errors)).not.toEqual([]);
    expect(last.answers).toBe(0);
  });
});
