// Runs the examples of the documents as they are written, each document against a service of its own: their
// output is what the documents show.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOwnNode } from '../support/backend.ts';
import {
  missingProgram,
  readConsoleSteps,
  runConsoleSteps,
  shownPattern,
} from '../support/console-steps.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { send } from '../support/tenant.ts';

const DOCUMENTS = new URL('../../docs/', import.meta.url);

const documents = readdirSync(DOCUMENTS, { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({
    name,
    steps: readConsoleSteps(readFileSync(new URL(name, DOCUMENTS), 'utf8')),
  }))
  .filter(({ steps }) => steps.length > 0);

const missing = missingProgram();
const why = missing === undefined ? '' : ` (skipped: no ${missing})`;

describe.skipIf(missing).each(documents)(`the examples of docs/$name${why}`, ({ steps }) => {
  let node: ServingNode;
  let outputs: readonly string[];

  beforeAll(async () => {
    node = await startOwnNode({ SECRET_KEY: 'a key of the tests' });
    // It listens before it is ready where its stores are slow to answer.
    await eventually('it is ready', async () => {
      return (await send(node, 'GET', '/readyz')).text === '{"status":"ready"}';
    });
    // Where an embedded service keeps the token that it makes, and the commands look for it.
    writeFileSync(join(node.dataDir, 'admin-token'), ADMIN_TOKEN);
    outputs = runConsoleSteps(node, steps).outputs;
  });
  afterAll(() => node.dispose());

  it.each(steps.map((step, index) => ({ ...step, index, name: step.command.slice(0, 110) })))(
    '$index: $name',
    ({ shown, index }) => {
      expect(outputs[index]).toMatch(shownPattern(shown));
    },
  );
});

describe('the documents', () => {
  it.each([
    ...['contract.md', 'clients.md', 'console.md', 'github.md'],
    ...['publishing.md', 'operating/health.md'],
  ])('%s has examples', (name) => {
    expect(documents.map((document) => document.name)).toContain(name);
  });
});
