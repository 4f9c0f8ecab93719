// Runs the README's tour, typed as it stands there, against an embedded service: its output is what the
// README shows.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readDocument, sectionOf } from '../docs/document.ts';
import {
  missingProgram,
  readConsoleSteps,
  runConsoleSteps,
  shownPattern,
} from '../support/console-steps.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { type Answer, send } from '../support/tenant.ts';

const tour = sectionOf(readDocument('README.md'), 'Five-minute tour');

const missing = missingProgram();
const title = "the README's five-minute tour";

describe.skipIf(missing)(missing ? `${title} (skipped: no ${missing})` : title, () => {
  let node: ServingNode;
  let outputs: readonly string[];
  let key: string;
  const steps = readConsoleSteps(tour);

  beforeAll(async () => {
    node = await startNode({ ADMIN_TOKEN: undefined });
    const { outputs: printed, last } = runConsoleSteps(node, steps, 'echo "$KEY"');
    outputs = printed;
    key = last;
  });
  afterAll(() => node.dispose());

  it.each(steps.map((step, index) => ({ ...step, index, name: step.command.slice(0, 110) })))(
    '$index: $name',
    ({ shown, index }) => {
      expect(outputs[index]).toMatch(shownPattern(shown));
    },
  );

  it('covers what the tour is for: offer, up to date, downgrade, 409 and 422', () => {
    const shown = steps.map((step) => step.shown.split('\n').at(-1));
    for (const status of ['200', '204', '409', '422']) expect(shown).toContain(status);
    expect(tour).toContain('"allowDowngrade":true');
  });

  it('after kill -9 and a restart everything is still there, the offered flags too', async () => {
    const before = await list();
    await node.kill();
    node = await node.restart();
    expect((await list()).body).toEqual(before.body);
    const downgrade = await send(node, 'GET', '/u/notes/stable/darwin/aarch64/1.1.0');
    expect(downgrade.body).toMatchObject({ version: '1.0.0', allowDowngrade: true });
    expect((await steer('1.1.0', { status: 'published' })).status).toBe(409);
    expect((await steer('1.2.0', { rollout: 10 })).status).toBe(422);
  });

  function list(): Promise<Answer> {
    return send(node, 'GET', '/api/v1/releases', { headers: { authorization: `Bearer ${key}` } });
  }

  function steer(version: string, change: Record<string, unknown>): Promise<Answer> {
    return send(node, 'PATCH', '/api/v1/releases', {
      headers: { authorization: `Bearer ${key}` },
      body: { app: 'notes', channel: 'stable', version, ...change },
    });
  }
});
