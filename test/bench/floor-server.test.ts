// Tests that the floor server, against which the service is measured, writes what the service writes.

import { describe, expect, it } from 'vitest';
import { type FixedAnswer, startServer } from '../../bench/servers/start-server.ts';

const NO_STORE = ['Cache-Control', 'no-store'] as const;
const JSON_TYPE = ['Content-Type', 'application/json'] as const;
const ANSWERS: readonly FixedAnswer[] = [
  { status: 200, headers: [NO_STORE, JSON_TYPE], body: '{"version":"1.0.0"}' },
  { status: 204, headers: [NO_STORE], body: '' },
  { status: 404, headers: [JSON_TYPE], body: '{"error":"Unknown app"}' },
];

describe('the floor', () => {
  it.each(ANSWERS)('writes the $status it is given', async (answer) => {
    const server = await startServer('floor-server', answer);
    try {
      const url = `http://127.0.0.1:${server.port}/u/a/stable/linux/x86_64/1.0.0`;
      const response = await fetch(url);
      expect(response.status).toBe(answer.status);
      for (const [name, value] of answer.headers) expect(response.headers.get(name)).toBe(value);
      expect(await response.text()).toBe(answer.body);
    } finally {
      await server.end();
    }
  });
});
