// Tests the settings of an edge (docs/operating/settings.md).

import { expect, it } from 'vitest';
import { readEdgeConfig, readUpstreamConfig } from '../../src/settings/edge-settings.ts';

const GOOD = { EDGE_UPSTREAM: 'https://updates.example.com/', EDGE_TOKEN: 'sluice-edge_a.b' };

it('names the upstream without the slash at its end, by the option before the setting', () => {
  expect(readEdgeConfig(undefined, GOOD).edge).toEqual({
    upstream: 'https://updates.example.com',
    token: 'sluice-edge_a.b',
    journalMb: 1024,
  });
  expect(readEdgeConfig('http://other/', GOOD).edge.upstream).toBe('http://other');
});

it('an edge takes the HTTP engine that is set, as a node does', () => {
  expect(readEdgeConfig(undefined, GOOD).httpEngine).toBe('auto');
  expect(readEdgeConfig(undefined, { ...GOOD, HTTP_ENGINE: 'node' }).httpEngine).toBe('node');
});

it.each([
  [{ EDGE_UPSTREAM: undefined }, 'EDGE_UPSTREAM: name the service'],
  [{ EDGE_UPSTREAM: 'ftp://x' }, 'EDGE_UPSTREAM: must be an http'],
  [{ EDGE_TOKEN: '' }, 'EDGE_TOKEN: an edge needs one'],
  [{ EDGE_JOURNAL_MB: '1' }, 'EDGE_JOURNAL_MB: must be a whole number from 16 to 999999'],
  [{ DATABASE_URL: 'postgres://db/x' }, 'DATABASE_URL: an edge has no stores'],
  [{ REDIS_URL: 'redis://cache' }, 'REDIS_URL: an edge has no stores'],
  [{ WORKERS: '2' }, 'WORKERS: an edge is one process'],
  [{ WORKERS: '2', DATABASE_URL: 'postgres://db/x' }, 'WORKERS: an edge is one process'],
  [{ WORKERS: 'many' }, 'WORKERS: must be a whole number'],
  [{ HTTP_ENGINE: 'fast' }, 'HTTP_ENGINE: must be one of auto, uws, node'],
])('%o is refused, with the variable at fault', (change, reason) => {
  expect(() => readEdgeConfig(undefined, { ...GOOD, ...change })).toThrow(reason);
});

it('an upstream that is no address is refused, also as the option', () => {
  expect(() => readEdgeConfig('updates.example.com', GOOD)).toThrow('--upstream: must be an http');
});

it('settings without an upstream are no edge, and those with one may lack the token (The doctor)', () => {
  expect(readUpstreamConfig(undefined, { WORKERS: '2' })).toBeUndefined();
  const { edge } = readUpstreamConfig('http://other/', {}) ?? {};
  expect(edge).toMatchObject({ upstream: 'http://other', token: undefined });
  expect(() => readUpstreamConfig('http://other', { WORKERS: '2' })).toThrow('one process');
});
