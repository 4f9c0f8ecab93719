// Tests the route of decisions for slices (docs/contract.md 28): what an address and its query decide, and
// the bound on the requests that wait for a store. That a cohort has its slices is tested in
// test/domain/decision/device-slice.test.ts, the way over HTTP in test/service/cached-decisions.test.ts.

import { describe, expect, it } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import type { Catalog } from '../../src/domain/decision/catalog.ts';
import { decide } from '../../src/domain/decision/decide.ts';
import { planUpdate } from '../../src/domain/decision/plan.ts';
import type { Device } from '../../src/domain/decision/rule/decision-rule.ts';
import { sliceRoute } from '../../src/http/device/slice-route.ts';
import type { CheckQuery } from '../../src/serving/catalog-slot.ts';
import { catalog, release, targeting } from '../domain/sample.ts';
import { silentTraffic } from '../support/http-engines.ts';
import { answerOf, requestOf, responseOf } from './fake-exchange.ts';

const WAITING_MAX = 1000;

it('1,000 requests may wait for a store, the next is 503, and room is made by each that is answered', async () => {
  let answerFirst = () => {};
  const check = {
    now: () => undefined,
    refused: () => undefined,
    later: () =>
      new Promise<never>((resolve) => {
        answerFirst = () => resolve(fail('unknownApp') as never);
      }),
  };
  const traffic = silentTraffic();
  const { handlers } = sliceRoute({ check, traffic });
  const statuses: string[] = [];
  const ask = () =>
    handlers.get(responseOf(statuses), requestOf('/c/acme/stable/linux/x64/1.0.0/0'));

  for (let asked = 0; asked < WAITING_MAX; asked++) ask();
  expect(statuses).toEqual([]);
  ask();
  expect(statuses).toEqual([expect.stringContaining('503')]);

  answerFirst();
  await new Promise((resolve) => setImmediate(resolve));
  expect(statuses[1]).toContain('404');
  ask();
  expect(statuses).toHaveLength(2);
});

describe('a decision for a slice', () => {
  const minimum = { key: '$version', operator: 'VersionGte', values: ['1.0.5'] } as const;
  const signed = [{ platform: 'linux', url: 'https://dl.example.com/app', signature: 'c2ln' }];
  const ring = targeting({ matchLabels: { ring: ['early'] } });
  const mustBeSigned = { requireSignature: true };
  const channels: Readonly<Record<string, Catalog>> = {
    stable: catalog([release('1.1.0')]),
    targeted: catalog([release('1.1.0'), release('1.2.0', { targets: ring })]),
    above: catalog([release('1.2.0', { targets: targeting({ matchExpressions: [minimum] }) })]),
    signed: catalog([release('1.1.0', { artifacts: signed })], mustBeSigned),
    unsigned: catalog([release('1.1.0')], mustBeSigned),
  };
  const check = {
    now({ scope, version }: CheckQuery, device: Device) {
      const served = channels[scope.channel];
      if (served === undefined) return undefined;
      const plan = planUpdate(served, { ...scope, version }, scope.candidates(served));
      return { plan, ...decide(plan, device) };
    },
    refused: () => fail('unknownChannel'),
  };
  const traffic = silentTraffic();
  const { handlers } = sliceRoute({ check, traffic } as never);
  const ask = (path: string, told?: Record<string, string>) =>
    answerOf(handlers.get, `/c/acme/${path}`, told);
  const PLACE = 'stable/linux/x86_64/1.0.0';
  const notAllowed = '400 query: May hold one `bundle` and nothing else';
  const noSlice = '400 slice: Must be 0 to 99';
  const row = (end: string, answer: string): [string, string] => [PLACE + end, answer];

  it.each<[path: string, answer: string]>([
    [`${PLACE}/0`, '1.1.0'],
    [`${PLACE}/99`, '1.1.0'],
    ['stable/linux/x86_64/1.1.0/0', '204'],
    ...['100', '-1', '00', '07', '+7', '1.0', 'a', '7%20', '%37'].map((slice) =>
      row(`/${slice}`, noSlice),
    ),
    ['nightly/linux/x86_64/1.0.0/0', '404 Unknown channel'],
    ['stable/linux/x86_64/latest/0', '400 version: Invalid version'],
    ['stable/linux/1.0.0/0', '404 Not found'],
    ['targeted/linux/x86_64/1.0.0/0', '1.1.0'],
    ['above/linux/x86_64/1.0.4/0', '204'],
    ['above/linux/x86_64/1.0.5/0', '1.2.0'],
    ['above/macos/x86_64/1.0.5/0', '204'],
    ['signed/linux/x86_64/1.0.0/0', '1.1.0'],
    ['unsigned/linux/x86_64/1.0.0/0', '204'],
    ...['a=1', 'l.ring=early', 'device=kiosk-1', 'bundle_type=app', '&'].map((query) =>
      row(`/0?${query}`, notAllowed),
    ),
    ...['bundle=app&a=1', 'bundle=deb&bundle=deb'].map((query) => row(`/0?${query}`, notAllowed)),
    [`${PLACE}/0?bundle=deb`, '204'],
    [`${PLACE}/0?bundle=`, '1.1.0'],
    [`${PLACE}/0?bundle=${'a'.repeat(33)}`, '400 bundle: Must have at most 32 characters'],
  ])('%s: %s; caches keep no refusal (§20.2, §28.1, §28.2, §28.5)', (path, answer) => {
    const { status, headers, text } = ask(path);
    const { version, error } = JSON.parse(text || '{}') as Record<string, string>;
    expect(version ?? (error === undefined ? `${status}` : `${status} ${error}`)).toBe(answer);
    const isRefused = status >= 400;
    expect(headers.get('cache-control')).toMatch(isRefused ? /^no-store$/ : /^public, max-age=0/);
    expect(headers.has('etag')).toBe(!isRefused);
  });

  it('is the same for every client: neither User-Agent nor device count (§28.5)', () => {
    const told = { 'user-agent': 'tauri-plugin-updater/2.9', 'x-service-device': 'kiosk-1' };
    expect(ask(`${PLACE}/0`, told)).toEqual(ask(`${PLACE}/0`));
  });
});
