// The README's tour, typed as it stands there, against an embedded service: what it shows is what happens.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServingNode, startNode } from '../support/node.ts';
import { type Answer, send } from '../support/tenant.ts';

type Step = { command: string; shown: string };

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
/** Stands in the README for what is different every time. */
const ANYTHING = '…';
const END_OF_STEP = '@@@ end of step @@@';

describe("the README's five-minute tour", () => {
  let node: ServingNode;
  let outputs: string[];
  let key: string;
  const steps = readTour();

  beforeAll(async () => {
    node = await startNode({ ADMIN_TOKEN: undefined });
    const script = steps
      .map(({ command }) => `${command}\nprintf '\\n%s\\n' '${END_OF_STEP}'`)
      .join('\n');
    const text = execFileSync('bash', ['--norc', '-c', `${script}\necho "$KEY"`], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, DATA_DIR: node.dataDir, SLUICE_URL: node.url },
    });
    outputs = text.split(`\n${END_OF_STEP}\n`);
    key = (outputs.at(-1) ?? '').trim();
  }, 120_000);
  afterAll(() => node.dispose());

  it.each(steps.map((step, index) => ({ ...step, index, name: step.command.slice(0, 110) })))(
    '$index: $name',
    ({ shown, index }) => {
      expect((outputs[index] ?? '').trim()).toMatch(asPattern(shown));
    },
  );

  it('covers what the tour is for: offer, up to date, downgrade, 409 and 422', () => {
    const shown = steps.map((step) => step.shown.split('\n').at(-1));
    for (const status of ['200', '204', '409', '422']) expect(shown).toContain(status);
    expect(README).toContain('"allowDowngrade":true');
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

  /** The tour with the address of the node under test. */
  function readTour(): Step[] {
    const section = README.slice(
      README.indexOf('## Five-minute tour'),
      README.indexOf('## Settings'),
    );
    const blocks = [...section.matchAll(/```console\n(.*?)```/gs)].map((match) => match[1] ?? '');
    return blocks.flatMap((block) => block.split('\n').reduce(addLine, [] as Step[]));
  }
});

/** `$ ` begins a command, an indented line continues it, everything else is what it prints. */
function addLine(steps: Step[], line: string): Step[] {
  const step = steps.at(-1);
  if (line.startsWith('$ ')) {
    steps.push({ command: addressed(line.slice(2)), shown: '' });
  } else if (step !== undefined && line.startsWith('  ') && step.shown === '') {
    step.command += `\n${addressed(line)}`;
  } else if (step !== undefined && line !== '') {
    step.shown += step.shown === '' ? line : `\n${line}`;
  }
  return steps;
}

function addressed(line: string): string {
  return line.replaceAll('localhost:8080', '"$SLUICE_URL"');
}

function asPattern(shown: string): RegExp {
  const parts = shown.split(ANYTHING).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^"\\n]+')}$`);
}
