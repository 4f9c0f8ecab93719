// Tests which versions of Node may run the service.

import { readFileSync } from 'node:fs';
import semver from 'semver';
import { expect, it } from 'vitest';
import { refusalOfNode } from '../../src/node/required-node.ts';

const manifest = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { engines: { node: string }; devEngines?: unknown };

it('the Node that the service needs is the one that package.json names', () => {
  const older = ['16.20.2', '18.20.8', '20.0.0', '20.18.3'];
  const taken = ['20.19.0', '20.20.2', '22.12.0', '22.23.5', '24.0.0', '24.22.3', '26.12.1'];
  for (const version of [...older, ...taken]) {
    const isRefused = refusalOfNode(version) !== undefined;
    expect([version, isRefused]).toEqual([version, older.includes(version)]);
    expect(semver.satisfies(version, manifest.engines.node), version).toBe(!isRefused);
  }
  expect(refusalOfNode('18.20.8')).toMatch(
    /^this is Node 18\.20\.8, and Sluice needs 20\.19 or later: [^\n]+$/,
  );
  // Npm stops no later Node, whose HTTP engine is found at the start.
  expect(manifest.devEngines).toBeUndefined();
});
