// Tests what a node makes of its data directory: what is damaged is neither believed nor an obstacle, and
// only the owner of the directory can look into it (docs/operating/losses.md).

import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type NodeSettings, type ServingNode, startNode } from '../support/node.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { check, createTenant, publish, send, type Tenant } from '../support/tenant.ts';

/** Stores that nobody answers for: the node has its disk and nothing else. */
const AWAY: NodeSettings = {
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  REDIS_URL: 'redis://127.0.0.1:1',
};
/** Longest time of an answer, the time limits of both stores included. */
const ANSWER_MS_MAX = 10_000;

let dataDir: string;
let node: ServingNode;
let tenant: Tenant;

beforeAll(async () => {
  dataDir = temporaryFolder('sluice-disk-');
  node = await startNode({ DATA_DIR: dataDir });
  tenant = await createTenant(node);
  await publish(node, tenant, '1.0.0');
  await check(node, tenant, '0.9.0');
  await node.stop();
});
afterAll(async () => {
  await node?.stop();
  removeFolder(dataDir);
});

/** Returns the path of the index of one of the app's channels. */
function indexFile(channel: string): string {
  const digest = createHash('sha256').update(`${tenant.app}/${channel}`).digest('hex');
  return join(dataDir, 'snapshots', `${digest.slice(0, 40)}.json`);
}

/** Returns the folder of the releases of one of the app's channels. */
function releasesFolder(channel: string): string {
  return indexFile(channel).replace('.json', '.releases');
}

function sealed(content: string): string {
  const sha256 = createHash('sha256').update(content).digest('hex');
  return `${JSON.stringify({ format: 3, sha256 })}\n${content}`;
}

it('a damaged snapshot is not served, makes nobody ready, and hangs no request', async () => {
  const index = indexFile('stable');
  const whole = readFileSync(index, 'utf8');
  const [name = ''] = readdirSync(releasesFolder('stable'));
  const release = readFileSync(join(releasesFolder('stable'), name), 'utf8');
  const damagedIndex = {
    'of an older format and the wrong shape': '{"format":1,"snapshot":{}}',
    'of the wrong shape, with a valid checksum': sealed('{}'),
    'cut off': whole.slice(0, whole.length / 2),
    empty: '',
    'changed by hand': whole.replace('"revision":2', '"revision":9'),
  };
  const damagedRelease = {
    'whose release is changed by hand': release.replace('"published"', '"paused"'),
    'whose release has another address': release.replace('downloads.example', 'evil.example'),
    'whose release is cut off': release.slice(0, -5),
  };
  // Another channel's file would make the node ready.
  for (const channel of ['stable', 'beta']) rmSync(indexFile(channel));
  node = await node.restart(AWAY);
  const cases = [
    ...Object.entries(damagedIndex).map(([how, text]) => [how, text, release] as const),
    ...Object.entries(damagedRelease).map(([how, text]) => [how, whole, text] as const),
  ];
  for (const [how, indexText, releaseText] of cases) {
    expect([indexText, releaseText], how).not.toEqual([whole, release]);
    // A channel of its own, because a refusal is remembered for a moment.
    const channel = how.replaceAll(/\W/g, '-');
    writeFileSync(indexFile(channel), indexText);
    mkdirSync(releasesFolder(channel));
    writeFileSync(join(releasesFolder(channel), name), releaseText);
    const answer = await within(ANSWER_MS_MAX, check(node, tenant, '0.9.0', { channel }));
    expect([how, answer?.status]).toEqual([how, 503]);
    const ready = await send(node, 'GET', '/readyz');
    expect([how, ready.status]).toEqual([how, 503]);
  }
  const faults = node
    .output()
    .split('\n')
    .filter((line) => line.includes('could not be read'));
  expect(faults.length).toBeGreaterThan(0);
  for (const line of faults) {
    expect(JSON.parse(line)).toMatchObject({ file: expect.stringContaining(dirname(index)) });
  }
  writeFileSync(index, whole);
  expect((await send(node, 'GET', '/readyz')).status).toBe(200);
  await eventually('the whole file is served', async () => {
    return (await check(node, tenant, '0.9.0')).body?.version === '1.0.0';
  });
  await node.stop();
});

it('DATA_DIR is for its owner only, also what an older version left open', async () => {
  const planted = join(dataDir, 'snapshots', 'worker-1', 'old.json');
  mkdirSync(dirname(planted), { recursive: true });
  writeFileSync(planted, '{}');
  for (const path of pathsIn(dataDir)) {
    // PostgreSQL refuses a directory of its own that others may write to.
    if (path !== join(dataDir, 'ledger')) chmodSync(path, lstatSync(path).mode | 0o055);
  }
  node = await node.restart({ DATABASE_URL: undefined, REDIS_URL: undefined });
  await publish(node, tenant, '1.1.0');
  await eventually('the snapshot is written', async () => {
    return readdirSync(releasesFolder('stable')).length === 2;
  });
  const open = pathsIn(dataDir).filter((path) => (modeOf(path) & 0o077) !== 0);
  expect(open).toEqual([]);
  await node.stop();
});

it('an embedded database that is damaged is named, with what to do', async () => {
  truncateSync(join(dataDir, 'ledger', 'global', 'pg_control'), 100);
  const failure = await node.restart().then(
    () => undefined,
    (error: unknown) => String(error),
  );
  expect(failure).toContain(`The embedded database in ${join(dataDir, 'ledger')} cannot be opened`);
  expect(failure).toContain('restore a backup');
});

function modeOf(path: string): number {
  try {
    return lstatSync(path).mode;
  } catch {
    // The running node has removed it.
    return 0;
  }
}

/** Lists a folder and everything below it. */
function pathsIn(path: string): string[] {
  if (!lstatSync(path).isDirectory()) return [path];
  return [path, ...readdirSync(path).flatMap((name) => pathsIn(join(path, name)))];
}

/** Resolves to undefined when the answer does not come in time. */
function within<Value>(ms: number, answer: Promise<Value>): Promise<Value | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, ms, undefined).unref());
  return Promise.race([answer, late]);
}
