// Tests what an operator watches: the metrics of a node of several processes against Prometheus' conventions,
// and the dashboard and the rules in deploy/ against the metrics that the node has. The cases of the alerts
// are played in test/release/alerts.test.ts.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import { quotedIn, readDocument, repositoryPath, tableRows } from '../docs/document.ts';
import { ADMIN_APART, adminAddress } from '../support/admin-address.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { overProcesses } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { endWithSuite } from '../support/own.ts';
import { findPromtool, promtool } from '../support/promtool.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { createTenant, randomId, send, Tenant } from '../support/tenant.ts';
import {
  describeOnWorkers,
  freshStores,
  type Stores,
  startWorkerNode,
  type WorkerNode,
} from '../support/worker-node.ts';

type Rule = {
  readonly expr: string;
  readonly alert?: string;
  readonly record?: string;
};
type Rules = { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
type RuleTest = {
  readonly name: string;
  readonly input_series: readonly { readonly series: string; readonly values: string }[];
  readonly alert_rule_test: readonly {
    readonly alertname: string;
    readonly eval_time: string;
    readonly exp_alerts: readonly unknown[];
  }[];
};
type Dashboard = {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
};

const PROMETHEUS = 'deploy/prometheus';
const RULES = `${PROMETHEUS}/rules.yml`;
const RULE_TESTS = `${PROMETHEUS}/rules.test.yml`;
const PROCESSES = ['admin', 'background', 'supervisor', 'worker-1', 'worker-2'];
/** Alerts of which one event is enough on every fleet, and why. */
const ONE_IS_ENOUGH: Readonly<Record<string, string>> = {
  SluiceBug: 'a bug is one wherever it is met, and its line in the log is to be reported',
  SluiceLedgerWentBack: 'publishers may have to repeat what they did',
  SluiceProcessSilent: 'a process that hung for ten seconds was replaced',
};
/** Labels that Prometheus adds, and that of buckets. */
const ADDED = ['job', 'instance', 'le'];
const SKIPPED = findPromtool() === undefined ? ' (skipped: no promtool on this machine)' : '';

const rules = (load(read(RULES)) as Rules).groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('deploy/grafana/sluice.json')) as Dashboard;
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr: withoutVariables(expr) })),
);

function read(path: string): string {
  return readFileSync(join(repositoryPath, path), 'utf8');
}

/** Returns a query as Grafana sends it. */
function withoutVariables(expr: string): string {
  return expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(job|instance)/g, '.*');
}

describeOnWorkers('the metrics of a node', () => {
  let stores: Stores;
  let node: WorkerNode;
  let edge: ServingNode;
  let text: string;
  /** Figures of an edge of the node. */
  let ofEdge: string;

  const sample = (name: string) => {
    const line = overProcesses(text)
      .split('\n')
      .find((each) => each.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1) ?? Number.NaN);
  };
  const linesOf = (name: string) => text.split('\n').filter((line) => line.startsWith(`${name}{`));

  beforeAll(async () => {
    stores = await freshStores();
    node = await startWorkerNode(stores, {
      ...{ WORKERS: '2', SECRET_KEY: 'a key of the tests' },
      ...ADMIN_APART,
    });
    const admin = adminAddress(node.log());
    const tenant = await createTenant(admin);
    const hook = await enableWebhook(admin, tenant);
    // Both workers hold the channel before it changes.
    await tenant.at(node).publish('1.0.0');
    for (let turn = 0; turn < 40; turn++)
      await tenant.at(node).check('0.9.0', { device: `d${turn}` });
    await tenant.at(node).publish('1.1.0');
    await deliver(node, hook, releaseEvent('v2.0.0'));
    await new Tenant(node, { secret: 'wrong' }).manage('GET', 'apps');
    await send(node, 'GET', `/feed/${tenant.app}/stable.json`);
    await send(node, 'GET', `/${randomId()}`);
    await send(node, 'PUT', '/api/v1/apps');
    await send(node, 'PUT', '/sparkle/any/stable/appcast.xml');
    await eventually('every process tells its figures, and what was asked', async () => {
      text = (await send(admin, 'GET', '/metrics')).text;
      const isComplete = PROCESSES.every((each) => text.includes(`process="${each}"`));
      return isComplete && sample('sluice_check_ins_total{outcome="stored"}') >= 40;
    });
    edge = await startEdge(node.url, (await makeEdgeToken(admin)).secret);
    ofEdge = (await send(edge, 'GET', '/metrics')).text;
  });
  endWithSuite(() => [edge, node, stores]);

  it.skipIf(SKIPPED !== '')(
    `keep Prometheus' conventions, as those of an edge${SKIPPED}`,
    async () => {
      for (const each of [text, ofEdge]) {
        expect(await promtool(['check', 'metrics'], each)).toEqual({ code: 0, output: '' });
      }
    },
  );

  it('name the process of every series; nothing is added up', () => {
    const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const named = series.map((line) => /process="([\w-]+)"/.exec(line)?.[1]);
    expect([...new Set(named)].toSorted()).toEqual(PROCESSES);
    expect(linesOf('nodejs_eventloop_lag_p99_seconds')).toHaveLength(PROCESSES.length);
    expect(linesOf('process_start_time_seconds')).toHaveLength(PROCESSES.length);
    expect(linesOf('sluice_build_info')).toHaveLength(PROCESSES.length);
    expect(linesOf('sluice_build_info')[0]).toMatch(/version="\d+\.\d+\.\d+".*engine="(uws|node)"/);
  });

  it('tell requests by route, and how long those took that wait for something', () => {
    for (const labels of [
      'surface="management",method="POST",route="/api/v1/releases",status="201"',
      'surface="management",method="GET",route="/api/v1/apps",status="401"',
      'surface="management",method="any",route="/api/v1/apps",status="405"',
      'surface="webhook",method="POST",route="/wh/github/:app",status="200"',
      'surface="device",method="any",route="/sparkle/:appRef/:channel/:file",status="405"',
      'surface="console",method="POST",route="/console/api/keys",status="201"',
      'surface="other",method="any",route="none",status="404"',
    ]) {
      const line = linesOf('sluice_requests_total').find((each) => each.includes(labels));
      expect(line, labels).toBeDefined();
    }
    for (const surface of ['management', 'console', 'webhook', 'device', 'feed']) {
      const counted = linesOf('sluice_request_duration_seconds_count').filter((line) =>
        line.includes(`surface="${surface}"`),
      );
      expect(counted.length, surface).toBeGreaterThan(0);
    }
  });

  it('leave warm checks out of the durations: they wait for nothing', () => {
    const waited = linesOf('sluice_request_duration_seconds_count')
      .filter((line) => line.includes('surface="device"'))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    expect(waited).toBeGreaterThan(0);
    expect(waited).toBeLessThan(20);
    expect(sample('sluice_checks_total{reason="offered"}')).toBe(40);
  });

  it('tell what was asked of the stores, and the connections of each process', () => {
    for (const [store, operation] of [
      ['ledger', 'publishRelease'],
      ['ledger', 'recordChecks'],
      ['engine', 'putSnapshot'],
      ['engine', 'appendCheckIns'],
    ]) {
      const name = `sluice_store_call_duration_seconds_count{store="${store}",operation="${operation}"}`;
      expect(sample(name), name).toBeGreaterThan(0);
    }
    expect(text).not.toContain('operation="takeCheckIns"');
    for (const state of ['busy', 'idle']) {
      const lines = linesOf('sluice_database_connections');
      const counted = lines.filter((line) => line.includes(`state="${state}"`));
      expect(counted).toHaveLength(PROCESSES.length - 1);
    }
    expect(linesOf('sluice_database_calls_waiting')).toHaveLength(PROCESSES.length - 1);
  });

  it('tell how long changes took to every process', () => {
    const counts = linesOf('sluice_propagation_seconds_count');
    const counted = counts.filter((line) => !line.endsWith(' 0'));
    expect(counted.some((line) => line.includes('worker-'))).toBe(true);
    const total = sample('sluice_propagation_seconds_count');
    // The process that answers, and another one that holds the channel.
    expect(total).toBeGreaterThanOrEqual(3);
    expect(sample('sluice_propagation_seconds_sum') / total).toBeLessThan(5);
  });

  describe.each([
    ['rules.yml', rules.map(({ alert, record, expr }) => ({ title: alert ?? record, expr }))],
    ['sluice.json', queries],
  ] as const)('%s', (_name, expressions) => {
    it.each(expressions)('$title asks for metrics and labels that exist', ({ expr }) => {
      const known = labelsByMetric(`${text}\n${ofEdge}`);
      const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
      const parts = expr.matchAll(/([a-z]\w*(?::[\w:]+)?)(?:\{([^}]*)\})?/g);
      const asked = [...parts].filter(([, name = '']) => /^(sluice|process|nodejs)_|:/.test(name));
      const labels = new Set(ADDED);
      for (const [, name = '', matchers = ''] of asked) {
        if (recorded.has(name)) continue;
        const own = known.get(name);
        expect(own, name).toBeDefined();
        for (const each of own ?? []) labels.add(each);
        const matched = [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label]) => label);
        expect(matched.filter((label = '') => !own?.has(label) && !ADDED.includes(label))).toEqual(
          [],
        );
      }
      const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, by = '']) =>
        by.split(/, ?/),
      );
      expect(grouped.filter((label) => !labels.has(label))).toEqual([]);
      expect(asked.length + (expr.startsWith('up{') ? 1 : 0)).toBeGreaterThan(0);
    });
  });
});

/** Labels by the name of a metric, or of its buckets and sums: its series' and the documented ones. */
function labelsByMetric(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const all = new Map<string, Set<string>>();
  const { text: metrics } = readDocument('docs/operating/metrics.md');
  const rows = tableRows(metrics.split('The values of the labels')[0] as string);
  const documented = new Map(rows.map(([name = '', , label = '']) => [quotedIn(name)[0], label]));
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const labels = new Set(['process', ...quotedIn(documented.get(name) ?? '')]);
    const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const suffix of suffixes) all.set(name + suffix, labels);
  }
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)\{(.*)\} \S+$/gm)) {
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) all.get(name)?.add(label);
  }
  return all;
}

it('each alert has its case: silent on a fresh node, firing, and silent on a quiet day', () => {
  const tests = (load(read(RULE_TESTS)) as { tests: RuleTest[] }).tests;
  const names = rules.flatMap(({ alert }) => alert ?? []);
  const named = (cases: readonly RuleTest[], isFiring: boolean) =>
    cases.flatMap(({ alert_rule_test: each }) =>
      each
        .filter(({ exp_alerts }) => exp_alerts.length > 0 === isFiring)
        .map(({ alertname }) => alertname),
    );
  const own = tests.slice(0, -2);
  const [smallFleet, quietDay] = tests.slice(-2).map((each) => named([each], false));
  expect(named(tests, true)).toEqual(names);
  // An alert may have several cases in which it is silent.
  expect([...new Set(named(own, false))]).toEqual(names);
  expect(smallFleet).toEqual(names.filter((name) => !(name in ONE_IS_ENOUGH)));
  expect(quietDay).toEqual(names);
  for (const { name, input_series: all } of own) {
    // A node begins without series, a process of it perhaps later; then all are at 0 or well.
    for (const { series, values } of all) expect(values, `${name}: ${series}`).toMatch(/^_x[2-9] /);
  }
});

describe.skipIf(SKIPPED !== '')(`promtool${SKIPPED}`, () => {
  const within = (path: string) => join(repositoryPath, path);

  it('reads the rules', async () => {
    const { code, output } = await promtool(['check', 'rules', within(RULES)]);
    expect([code, output]).toEqual([0, expect.stringContaining(`${rules.length} rules found`)]);
  });

  it("reads the dashboard's queries", async () => {
    const folder = temporaryFolder('sluice-queries-');
    const file = join(folder, 'queries.json');
    const all = queries.map(({ expr }, index) => ({ record: `query:${index}`, expr }));
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules: all }] }));
    const { code, output } = await promtool(['check', 'rules', '--lint=none', file]);
    removeFolder(folder);
    expect([code, output]).toEqual([0, expect.stringContaining(`${all.length} rules found`)]);
  });
});
