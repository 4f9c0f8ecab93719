// Runs the examples of the documents as they are written, each document against a service of its own, and the
// README's tour against an embedded one: their output is what the documents show.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listDocuments, readDocument, sectionOf } from '../docs/document.ts';
import { startOwnNode } from '../support/backend.ts';
import {
  missingProgram,
  readConsoleSteps,
  runConsoleSteps,
  shownPattern,
} from '../support/console-steps.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_TOKEN, type ServingNode, startNode } from '../support/node.ts';
import { type Answer, send } from '../support/tenant.ts';

const TOUR = sectionOf(readDocument('README.md'), 'Five-minute tour');
const texts = listDocuments().filter(({ path }) => path.startsWith('docs/'));
const documents = [{ path: 'README.md', text: TOUR }, ...texts]
  .map(({ path, text }) => ({ path, steps: readConsoleSteps(text) }))
  .filter(({ steps }) => steps.length > 0);

const missing = missingProgram();
const why = missing === undefined ? '' : ` (skipped: no ${missing})`;

describe.skipIf(missing).each(documents)(`the examples of $path${why}`, ({ path, steps }) => {
  let node: ServingNode;
  let outputs: readonly string[];
  let key: string;

  beforeAll(async () => {
    const isTour = path === 'README.md';
    node = isTour
      ? await startNode({ ADMIN_TOKEN: undefined })
      : await startOwnNode({ SECRET_KEY: 'a key of the tests' });
    // It listens before it is ready where its stores are slow to answer.
    await eventually('it is ready', async () => {
      return (await send(node, 'GET', '/readyz')).text === '{"status":"ready"}';
    });
    // Where an embedded service keeps the token that it makes, and the commands look for it.
    if (!isTour) writeFileSync(join(node.dataDir, 'admin-token'), ADMIN_TOKEN);
    const run = runConsoleSteps(node, steps, isTour ? 'echo "$KEY"' : undefined);
    outputs = run.outputs;
    key = run.last;
  });
  afterAll(() => node.dispose());

  it.each(steps.map((step, index) => ({ ...step, index, name: step.command.slice(0, 110) })))(
    '$index: $name',
    ({ shown, index }) => {
      expect(outputs[index]).toMatch(shownPattern(shown));
    },
  );

  if (path !== 'README.md') return;

  it('show what the tour is for, all of which is still there after kill -9 and a restart', async () => {
    const shown = steps.map((step) => step.shown.split('\n').at(-1));
    for (const status of ['200', '204', '409', '422']) expect(shown).toContain(status);
    expect(TOUR).toContain('"allowDowngrade":true');
    const before = await ask('GET');
    await node.kill();
    node = await node.restart();
    expect((await ask('GET')).body).toEqual(before.body);
    // The offered flags, too.
    const downgrade = await send(node, 'GET', '/u/notes/stable/darwin/aarch64/1.1.0');
    expect(downgrade.body).toMatchObject({ version: '1.0.0', allowDowngrade: true });
    const place = { app: 'notes', channel: 'stable' };
    const again = await ask('PATCH', { ...place, version: '1.1.0', status: 'published' });
    const narrower = await ask('PATCH', { ...place, version: '1.2.0', rollout: 10 });
    expect([again.status, narrower.status]).toEqual([409, 422]);
  });

  function ask(method: string, body?: object): Promise<Answer> {
    const headers = { authorization: `Bearer ${key}` };
    return send(node, method, '/api/v1/releases', { headers, ...(body && { body }) });
  }
});

it.each([
  ...['contract.md', 'clients.md', 'console.md', 'github.md'],
  ...['publishing.md', 'operating/health.md'],
])('docs/%s has examples', (name) => {
  expect(documents.map(({ path }) => path)).toContain(`docs/${name}`);
});
