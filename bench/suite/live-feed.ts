// Cost of the live feed for its reader: processor time of the Fleet page, open in Chromium while a fleet
// checks in.

import type { Browser, CDPSession, Page } from 'playwright-core';
import { findBrowser, openTab, startBrowser, visit } from '../../test/support/browser.ts';
import { startNode } from '../../test/support/node.ts';
import { member } from '../../test/support/person.ts';
import { createTenant, publish, type Tenant } from '../../test/support/tenant.ts';
import { type Generator, startGenerator } from '../load/generator.ts';
import { NOT_SENT } from '../load/run-load.ts';
import type { Report, Row } from '../measure/report.ts';
import type { Benchmark } from './benchmark.ts';

type Pace = { readonly seconds: number; readonly warmupSeconds: number; readonly devices: number };
type Node = { readonly url: string };

const FULL: Pace = { seconds: 10, warmupSeconds: 4, devices: 20_000 };
const SMOKE: Pace = { seconds: 1, warmupSeconds: 0.5, devices: 5000 };
const RATES = [0, 2000];
const CONNECTIONS = 32;
/** Share of one core above which the page slows the rest of a reader's machine down. */
const ACCEPTABLE_SHARE = 0.6;

export const liveFeed: Benchmark = {
  name: 'live-feed',
  title: 'processor time of the Fleet page while devices check in (embedded service, Chromium)',
  explanation: [
    `${FULL.devices} devices ask in the open loop for ${FULL.seconds} s; shown/s: the rate on the page.`,
    'page: CPU seconds of the renderer, all threads, by wall time; main: its main thread within tasks;',
    `browser: all of Chromium, which draws in software here. A page above ${ACCEPTABLE_SHARE} is too busy.`,
  ],
  async run({ isSmoke }) {
    if (findBrowser() === undefined)
      return { tables: [], remarks: ['Left out: no Chromium here.'] };
    const node = await startNode();
    const generator = startGenerator();
    const browser = await startBrowser();
    try {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      await publish(node, tenant, '1.1.0', { rollout: 30 });
      return await measureAll({ node, tenant, generator, browser }, isSmoke ? SMOKE : FULL);
    } finally {
      await browser.close();
      await generator.end();
      await node.dispose();
    }
  },
};

type Setting = {
  readonly node: Node;
  readonly tenant: Tenant;
  readonly generator: Generator;
  readonly browser: Browser;
};

async function measureAll(setting: Setting, pace: Pace): Promise<Report> {
  const { node, tenant, browser } = setting;
  const viewer = await member(node, tenant.org, 'viewer');
  const { page, context } = await openTab(browser, node, { token: viewer.token });
  await visit(page, `/console/apps/${tenant.app}/fleet`);
  await page.getByText('a second').waitFor();
  const clock = await startClock(browser, await context.newCDPSession(page));
  const rows: Row[] = [];
  const failures: string[] = [];
  for (const rate of RATES) {
    const row = await measure(setting, page, clock, rate, pace);
    rows.push(row.row);
    if (row.row.page > ACCEPTABLE_SHARE) failures.push(`page ${row.row.page} at ${rate}/s`);
    if (row.errors !== '{}') failures.push(row.errors);
  }
  return {
    tables: [{ rows }],
    ...(failures.length === 0 ? {} : { failure: failures.join('; ') }),
  };
}

/** Measures one rate: reads the page's clock after the load has gone on for a while, and before it ends. */
async function measure(setting: Setting, page: Page, clock: Clock, rate: number, pace: Pace) {
  const { node, tenant, generator } = setting;
  const { hostname: host, port } = new URL(node.url);
  const path = `/u/${tenant.app}/stable/linux/x86_64`;
  const load =
    rate === 0
      ? undefined
      : generator.run({
          ...{ host, port: Number(port), connections: CONNECTIONS, pipelining: 1, rate },
          question: { paths: [`${path}/1.0.0`, `${path}/1.1.0`], devices: pace.devices },
          ...{ warmupSeconds: pace.warmupSeconds, seconds: pace.seconds },
        });
  await forSeconds(pace.warmupSeconds);
  const begin = await clock();
  await forSeconds(pace.seconds);
  const end = await clock();
  const shown = (await page.getByText(/^[\d,]+ a second$/).textContent()) ?? '';
  const { responses = 0, errors: all = {} } = (await load) ?? {};
  // Requests that could not be sent in time are no errors: they lower answered/s.
  const { [NOT_SENT]: _, ...errors } = all;
  const share = (part: keyof Reading) =>
    Math.round(((end[part] - begin[part]) / (end.wall - begin.wall)) * 1000) / 1000;
  return {
    row: {
      'wanted/s': rate,
      'answered/s': Math.round(responses / pace.seconds),
      'shown/s': Number(shown.replace(/\D/g, '')),
      page: share('renderer'),
      main: share('main'),
      browser: share('browser'),
    },
    errors: JSON.stringify(errors),
  };
}

/** Seconds of the wall clock and of processor time, each counted from a beginning of its own. */
type Reading = Record<'wall' | 'renderer' | 'main' | 'browser', number>;
type Clock = () => Promise<Reading>;

async function startClock(browser: Browser, page: CDPSession): Promise<Clock> {
  const system = await browser.newBrowserCDPSession();
  await page.send('Performance.enable');
  return async () => {
    const { processInfo } = await system.send('SystemInfo.getProcessInfo');
    const { metrics } = await page.send('Performance.getMetrics');
    const sum = (isCounted: (type: string) => boolean) =>
      processInfo
        .filter(({ type }) => isCounted(type))
        .reduce((total, { cpuTime }) => total + cpuTime, 0);
    return {
      wall: performance.now() / 1000,
      renderer: sum((type) => type === 'renderer'),
      main: metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN,
      browser: sum(() => true),
    };
  };
}

function forSeconds(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
