// Tests that the examples of docs/recipes.md work as they are printed there.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { type ArtifactCandidate, compileCatalog } from '../../src/domain/decision/catalog.ts';
import { decide } from '../../src/domain/decision/decide.ts';
import { planUpdate } from '../../src/domain/decision/plan.ts';
import type { DecisionRule } from '../../src/domain/decision/rule/decision-rule.ts';
import { DECISION_RULES } from '../../src/domain/decision/rule/decision-rules.ts';

import type { Updater } from '../../src/updater/updater.ts';
import {
  catalog,
  device,
  fields,
  planOf,
  release,
  SILENT_CLIENT,
  snapshot,
  version,
} from '../domain/sample.ts';
import { readDocument, repositoryPath, sectionOf } from './document.ts';

const guide = readDocument('docs/recipes.md');
const folder = mkdtempSync(join(tmpdir(), 'sluice-recipe-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the recipe', () => {
  it('for an updater writes the version and the address that a script reads', async () => {
    const { PLAIN } = await example<{
      PLAIN: Updater<ArtifactCandidate, 'platform' | 'arch'>;
    }>('Add an updater', 'src/updater');
    const question = PLAIN.ask(
      { channel: 'stable', platform: 'Linux', arch: 'x64' },
      SILENT_CLIENT,
    );
    if (isFailure(question)) throw new Error(question.message);
    const artifacts = [{ platform: 'linux', arch: 'x86_64', url: 'https://example.com/a.tar.gz' }];
    const served = catalog([release('1.1.0', { artifacts })]);
    const request = { ...question, version: version('1.0.0') };
    const plan = planUpdate(served, request, question.candidates(served));
    const { candidate } = decide(plan, device('device-1'));
    if (candidate === undefined) throw new Error('nothing is offered');
    expect(PLAIN.offer(plan, candidate).toString()).toBe('1.1.0\nhttps://example.com/a.tar.gz\n');
  });

  it('for a rule keeps prereleases from devices that did not ask for them', async () => {
    const { PRERELEASE_RULE } = await example<{ PRERELEASE_RULE: DecisionRule }>(
      'Add a decision rule',
      'src/domain/decision/rule',
    );
    const releases = snapshot([release('2.0.0-rc.1'), release('1.1.0')]);
    const served = compileCatalog(releases, [...DECISION_RULES, PRERELEASE_RULE]);
    const offeredTo = (labels: Record<string, string>) =>
      decide(planOf(served, fields('1.0.0')), device('device-1', labels)).candidate?.release.source
        .version;
    expect(offeredTo({})).toBe('1.1.0');
    expect(offeredTo({ prerelease: 'yes' })).toBe('2.0.0-rc.1');
    expect(planOf(served, fields('1.0.0')).labelKeys).toEqual(['prerelease']);
  });
});

/** Loads the module that a recipe prints, as if it lay in the folder `room`. */
async function example<Module>(section: string, room: string): Promise<Module> {
  const [, block = ''] = /^ {3}```ts\n(.*?)^ {3}```/ms.exec(sectionOf(guide, section)) ?? [];
  const source = block
    .replace(/^ {3}/gm, '')
    .replace(/from '(\.[^']+)'/g, (_, path) => `from '${join(repositoryPath, room, path)}'`);
  const file = join(folder, `${basename(room)}.ts`);
  writeFileSync(file, source);
  return (await import(file)) as Module;
}
