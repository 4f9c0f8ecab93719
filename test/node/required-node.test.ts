// Tests which versions of Node may run the service.

import { readFileSync } from 'node:fs';
import semver from 'semver';
import { describe, expect, it } from 'vitest';
import { refusalOfNode } from '../../src/node/required-node.ts';

const { engines, devEngines } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as {
  engines: { node: string };
  devEngines: { runtime: { name: string; version: string; onFail: string } };
};

describe('the Node that the service needs', () => {
  it('is the one that package.json names', () => {
    const found = [
      '18.20.8',
      '20.18.3',
      '20.19.0',
      '20.20.2',
      '21.7.3',
      '22.12.0',
      '22.13.0',
      '22.23.3',
    ];
    for (const version of [...found, '23.11.1', '24.11.0', '25.2.1', '26.10.0', '30.0.0']) {
      const isRefused = refusalOfNode(version) !== undefined;
      expect([version, isRefused]).toEqual([version, !semver.satisfies(version, engines.node)]);
    }
  });

  it('is told with the reason, in one line', () => {
    expect(refusalOfNode('24.11.0')).toMatch(
      /^this is Node 24\.11\.0, and Sluice needs Node 22 [^\n]+ its HTTP server, uWebSockets\.js, [^\n]+$/,
    );
  });

  it('is asked for by npm ci as well, where npm knows how', () => {
    expect(devEngines).toEqual({
      runtime: { name: 'node', version: engines.node, onFail: 'error' },
    });
  });
});
