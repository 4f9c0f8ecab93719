// Tests that release notes, which strangers write and which take long to render, never keep the serving
// thread from answering: it stands still for 20 ms at most while feeds and console pages are written.
// Rendered there, the longest text that is rendered took up to 0.4 s, and writing the longest one into a feed
// 0.6 s.

import { beforeAll, describe, expect, it } from 'vitest';
import { suiteNode } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { longestTurn, WATCHED_ARGUMENTS } from '../support/longest-turn.ts';
import { ADMIN_TOKEN, startNode } from '../support/node.ts';
import { suiteTenant } from '../support/service-suite.ts';
import { createTenant, randomId, send, type Tenant } from '../support/tenant.ts';

const KIB = 1024;
/** Longest time that the serving thread may stand still. */
const STILL_MS_MAX = 20;
/** Attempts, of which the best counts: a collection of garbage may fall into any of them. */
const ATTEMPTS_MAX = 5;
/** A list with as many items as notes that are rendered can have, but for the end that makes it unique. */
const LIST = '- a\n'.repeat(8180);
const QUOTES = '"'.repeat(256 * KIB);

describe('rendering notes beside the serving thread', () => {
  const node = suiteNode(() => startNode({}, WATCHED_ARGUMENTS));
  // The first text loads what renders: the figures are those of a node that has rendered before.
  const tenant = suiteTenant(node, ['0.1.0', { notes: '# First' }]);
  beforeAll(async () => {
    await send(node, 'GET', `/feed/${tenant.app}/stable/rss.xml`);
    await eventually('the release is offered', async () => {
      return (await tenant.check('0.0.1')).status === 200;
    });
  });

  function withNotes(texts: readonly string[]): Promise<Tenant> {
    return createTenant(node, ...texts.map((notes, index) => [`1.0.${index}`, { notes }] as const));
  }

  /** Expects that the serving thread never stands still while the work is done, and tells for how long. */
  async function expectNoDelay(
    what: string,
    notes: () => readonly string[],
    work: (app: string) => Promise<void>,
  ): Promise<void> {
    const delays: number[] = [];
    while (delays.length < ATTEMPTS_MAX && !delays.some((delay) => delay < STILL_MS_MAX)) {
      const { app } = await withNotes(notes());
      await longestTurn(node);
      await work(app);
      delays.push(await longestTurn(node));
    }
    const delay = Math.min(...delays);
    console.log(`${what}: the serving thread stood still for ${delay.toFixed(1)} ms`);
    expect(delay).toBeLessThan(STILL_MS_MAX);
  }

  it.each([
    ['a hostile list', '<ul>', LIST],
    ['the longest notes', '&quot;', QUOTES.slice(20)],
  ])('%s on the page of a release', (name, shown, notes) =>
    expectNoDelay(
      `${name} on a release's page`,
      () => [notes + randomId()],
      async (app) => {
        const path = `/console/api/release?app=${app}&channel=stable&version=1.0.0`;
        const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
        const { status, text } = await send(node, 'GET', path, { headers });
        expect([status, text.includes(shown)]).toEqual([200, true]);
      },
    ),
  );

  it.each(['/rss.xml', ''])('twelve texts, three of them long, in one feed (%s)', (file) =>
    expectNoDelay(
      `a feed of twelve${file}`,
      () => [
        ...Array.from({ length: 9 }, () => LIST + randomId()),
        ...Array.from({ length: 3 }, () => randomId() + QUOTES.slice(20)),
      ],
      async (app) => {
        const checks = Array.from({ length: 50 }, () => tenant.check('0.0.1'));
        const [feed, ...answers] = await Promise.all([
          send(node, 'GET', `/feed/${app}/stable${file}`),
          ...checks,
        ]);
        expect(feed.status).toBe(200);
        expect(feed.text.length).toBeGreaterThan(9 * LIST.length);
        expect(feed.text.includes('&lt;ul&gt;')).toBe(file !== '');
        expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
      },
    ),
  );
});
