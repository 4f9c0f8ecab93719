// Tests what a node makes of its data directory (docs/operating/losses.md): only its owner can look into it,
// and an embedded database that is damaged is named. Damaged snapshots: test/store/disk and
// test/faults/static-stability.test.ts.

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startNode } from '../support/node.ts';
import { own } from '../support/own.ts';
import { createTenant } from '../support/tenant.ts';

it('DATA_DIR is for its owner only, also what an older version left open; a damaged database in it is named', async () => {
  let node = own(await startNode());
  const { dataDir } = node;
  const tenant = await createTenant(node);
  await tenant.at(node).publish('1.0.0');
  await tenant.at(node).check('0.9.0');
  await node.stop();
  const planted = join(dataDir, 'snapshots', 'worker-1');
  mkdirSync(planted, { recursive: true });
  writeFileSync(join(planted, 'old.json'), '{}');
  for (const path of pathsIn(dataDir)) {
    // PostgreSQL refuses a directory of its own that others may write to.
    if (path !== join(dataDir, 'ledger')) chmodSync(path, lstatSync(path).mode | 0o055);
  }
  node = own(await node.restart());
  await tenant.at(node).publish('1.1.0');
  await tenant.at(node).untilOffered('1.1.0');
  await node.stop();
  const paths = pathsIn(dataDir);
  const kept = paths.filter((path) => path.includes('snapshots') && lstatSync(path).isFile());
  expect(kept.map((path) => readFileSync(path, 'utf8')).join()).toContain('1.1.0');
  expect(paths.filter((path) => (lstatSync(path).mode & 0o077) !== 0)).toEqual([]);

  truncateSync(join(dataDir, 'ledger', 'global', 'pg_control'), 100);
  const restarting = node.restart();
  await expect(restarting).rejects.toThrow(
    `The embedded database in ${join(dataDir, 'ledger')} cannot be opened`,
  );
  await expect(restarting).rejects.toThrow('restore a backup');
});

/** Lists a folder and everything below it. */
function pathsIn(path: string): string[] {
  if (!lstatSync(path).isDirectory()) return [path];
  return [path, ...readdirSync(path).flatMap((name) => pathsIn(join(path, name)))];
}
