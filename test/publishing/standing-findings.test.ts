// Tests what is found in a release that stands, on a node that has to load its channel first, and on one that
// cannot (docs/contract.md 23.8).

import { expect, it } from 'vitest';
import { fail } from '../../src/contract/failure.ts';
import type { Release } from '../../src/contract/resource.ts';
import { standingFindings } from '../../src/publishing/standing-findings.ts';
import { catalog, release } from '../domain/sample.ts';

const url = 'https://dl.example.com/Note-1.0.14-linux-x64.zip';
const artifacts = [{ platform: 'linux', arch: 'x86_64', url }];
const STANDING: Release = {
  ...{ id: 'rel-1', app: 'acme', channel: 'stable', version: '1.0.15', notes: '' },
  ...{ status: 'published', rolloutPct: 100, createdAt: '', artifacts },
};

it('the channel is loaded where this node does not serve it yet (§23.8)', async () => {
  const loaded = catalog([release('1.0.14', { artifacts }), release('1.0.15', { artifacts })]);
  const catalogs = { findForCaller: async () => ({ catalog: loaded }) };
  const found = await standingFindings(catalogs, STANDING);
  expect(found).toMatchObject([
    { severity: 'error', path: 'artifacts.0.url' },
    { severity: 'warning', path: 'artifacts.0.url' },
  ]);
});

it('what the release itself tells is found where the channel cannot be read (§23.8)', async () => {
  const catalogs = { findForCaller: async () => fail('unavailable') };
  const found = await standingFindings(catalogs, STANDING);
  expect(found).toMatchObject([{ severity: 'warning', path: 'artifacts.0.url' }]);
});
