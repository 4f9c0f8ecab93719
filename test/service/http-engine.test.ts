// Tests which HTTP engine the processes of a service take, and that it is said: once in the log, to a person
// at the start, by the doctor and in the metrics; and what a start refuses (docs/operating/install.md).

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadEngine } from '../../src/http/transport/engine.ts';
import { ADMIN_APART, adminAddress, logLines } from '../support/admin-address.ts';
import { eventually } from '../support/eventually.ts';
import { MAIN, type NodeSettings, type ServingNode, startNode } from '../support/node.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { runSluice, SLUICE_COMMAND } from '../support/sluice-command.ts';
import { send } from '../support/tenant.ts';

/** Flags of a Node for which uWebSockets.js has no binary. */
const WITHOUT_UWS = ['--import', new URL('../support/without-uws.mjs', import.meta.url).href];
/** Stores that no client can reach: the processes start and wait for them. */
const AWAY = {
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  REDIS_URL: 'redis://127.0.0.1:1',
};
const EDGE = { EDGE_UPSTREAM: 'http://127.0.0.1:1', EDGE_TOKEN: 'sluice-edge_a.b' };

let dataDir: string;
const nodes: ServingNode[] = [];

beforeAll(() => {
  dataDir = temporaryFolder('sluice-engine-');
});
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.dispose()));
});
afterAll(() => removeFolder(dataDir));

async function start(settings: NodeSettings, args: readonly string[]): Promise<ServingNode> {
  const node = await startNode(settings, args);
  nodes.push(node);
  return node;
}

/** Returns the lines of a node's log that tell its HTTP engine, without what every line has. */
function toldBy(node: ServingNode): unknown[] {
  return logLines(node.output())
    .filter(({ msg }) => String(msg).includes('HTTP engine'))
    .map(({ time: _, pid: __, ...rest }) => rest);
}

/** Returns what `sluice_build_info` says of each process: its name and its engine. */
async function labelsOf(url: string): Promise<string[]> {
  const { text } = await send({ url }, 'GET', '/metrics');
  const lines = text.split('\n').filter((line) => line.startsWith('sluice_build_info{'));
  return lines
    .map((line) => /engine="(\w+)".*process="([\w-]+)"/.exec(line)?.slice(1).join(' ') ?? line)
    .sort();
}

const SLOWER = {
  level: 'info',
  engine: 'node',
  reason: expect.stringMatching(
    /^uWebSockets\.js has no binary for Node \d+\.\d+\.\d+ \(ABI \d+\) on \w+ \w+$/,
  ),
  cost: expect.stringMatching(/^a check costs about (?:twice|[\d.]+ times) the processor time$/),
  faster: expect.stringContaining('install.md#http-engines'),
  msg: 'HTTP engine chosen',
};

describe('where the binary of uWebSockets.js does not load', () => {
  it('Node serves, and a person, the log and the metrics are told so, with why and what it costs', async () => {
    const node = await start({ HTTP_ENGINE: 'auto' }, [...WITHOUT_UWS, MAIN]);
    await eventually('the welcome', () => node.output().includes('Sluice is serving'));
    expect(toldBy(node)).toEqual([SLOWER]);
    expect(node.output()).toMatch(/^ {2}HTTP engine +Node's own, on which a check costs about .*/m);
    expect(await labelsOf(node.url)).toEqual(['node main']);
  });

  it('the doctor tells it, and finds nothing to mend', async () => {
    const node = { HTTP_ENGINE: 'auto', NODE_OPTIONS: WITHOUT_UWS.join(' ') };
    const env = { ...node, DATA_DIR: dataDir, PORT: '0' };
    const { code, stdout } = await runSluice(['doctor'], env);
    expect(stdout).toMatch(
      /^ok +http-engine: node, because uWebSockets\.js has no binary .*; a check costs about/m,
    );
    expect(code).toBe(0);
  });

  it('HTTP_ENGINE=uws stops a start in one line, of an edge as well, before anything is written', async () => {
    const forced = { HTTP_ENGINE: 'uws', DATA_DIR: dataDir };
    const line = /\nsluice: HTTP_ENGINE: uWebSockets\.js has no binary .* HTTP_ENGINE=auto\n$/;
    await expect(startNode(forced, [...WITHOUT_UWS, MAIN])).rejects.toThrow(line);
    const edge = [...WITHOUT_UWS, SLUICE_COMMAND, 'edge'];
    await expect(startNode({ ...forced, ...EDGE }, edge)).rejects.toThrow(line);
    for (const name of ['ledger', 'edge']) expect(existsSync(join(dataDir, name))).toBe(false);
    const env = { ...forced, PORT: '0', NODE_OPTIONS: WITHOUT_UWS.join(' ') };
    const { code, stdout } = await runSluice(['doctor'], env);
    expect([code, /^MEND +http-engine: HTTP_ENGINE: /m.test(stdout)], stdout).toEqual([1, true]);
  });
});

describe('a node of several processes', () => {
  it('has one engine, which it tells once: serving, admin and background process', async () => {
    const settings = { ...AWAY, ...ADMIN_APART, HTTP_ENGINE: 'node' };
    const node = await start(settings, [MAIN]);
    expect(toldBy(node)).toEqual([
      {
        ...{ level: 'info', msg: 'HTTP engine chosen', engine: 'node' },
        ...{ reason: 'HTTP_ENGINE asks for it', cost: SLOWER.cost },
      },
    ]);
    const all = ['admin', 'background', 'supervisor', 'worker-1'].map((name) => `node ${name}`);
    const { url } = adminAddress(logLines(node.output()));
    // A process that is busy is left out of an answer.
    let labels: readonly string[] = [];
    await eventually('every process tells its engine', async () => {
      labels = await labelsOf(url);
      return labels.length === all.length;
    });
    expect(labels).toEqual(all);
  });

  it('with WORKERS above 1 starts where Node can share a port; else one line refuses it, and the doctor', async () => {
    const { canSharePort } = await loadEngine('node');
    const settings = { ...AWAY, HTTP_ENGINE: 'node', WORKERS: '2' };
    if (canSharePort) await start(settings, [MAIN]);
    else {
      await expect(startNode(settings, [MAIN])).rejects.toThrow(
        /\nsluice: WORKERS: more than 1 needs an HTTP engine that can share a port.* WORKERS=1 and .*\n$/,
      );
    }
    const { stdout } = await runSluice(['doctor'], { ...settings, DATA_DIR: dataDir, PORT: '0' });
    const mend = canSharePort
      ? /^ok +http-engine: node, because H/m
      : /^MEND +http-engine: WORKERS: /m;
    expect(stdout).toMatch(mend);
  });
});

describe('where the binary loads', () => {
  it('it is taken, and told in the log alone', async ({ skip }) => {
    const engine = await loadEngine('uws').catch(() => undefined);
    if (engine === undefined) return skip('uWebSockets.js has no binary for this machine');
    const node = await start({ HTTP_ENGINE: 'auto' }, [MAIN]);
    await eventually('the welcome', () => node.output().includes('Sluice is serving'));
    expect(toldBy(node)).toEqual([
      {
        ...{ level: 'info', msg: 'HTTP engine chosen', engine: 'uws' },
        reason: expect.stringMatching(/^it has a binary for Node /),
      },
    ]);
    expect(node.output()).not.toContain('HTTP engine   ');
    expect(await labelsOf(node.url)).toEqual(['uws main']);
  });
});
