// Runs the `console` blocks of a document as they are written, in one shell, against a running service.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { baseEnvironment } from './base-environment.ts';
import { findBinary } from './find-binary.ts';
import type { ServingNode } from './node.ts';
import { removeFolder, temporaryFolder } from './server-process.ts';

/** Command of a document, with the output that the document shows for it. */
type ConsoleStep = { command: string; shown: string };

/** Programs that the commands of the documents need, beside those that every system has. */
const PROGRAMS = ['bash', 'curl'] as const;

/** Returns the first of the programs that is missing on this machine. */
export function missingProgram(): string | undefined {
  return PROGRAMS.find((name) => findBinary(name) === undefined);
}

/** The command as its package has it, which the documents tell to install. */
const COMMAND = fileURLToPath(
  new URL('../../dist/cli-package/dist/cli/sluice.js', import.meta.url),
);

/** Mark in a document for text that is different every time. */
const ANYTHING = '…';
const END_OF_STEP = '@@@ end of step @@@';

/**
 * Returns the commands of a document's `console` blocks, in order, with the address of the service under
 * test.
 */
export function readConsoleSteps(markdown: string): ConsoleStep[] {
  const blocks = [...markdown.matchAll(/^```console\n(.*?)^```/gms)].map((match) => match[1] ?? '');
  return blocks.flatMap((block) => block.split('\n').reduce(addLine, [] as ConsoleStep[]));
}

/** Runs the steps and then `last`; returns what each prints. */
export function runConsoleSteps(
  node: ServingNode,
  steps: readonly ConsoleStep[],
  last = ':',
): { readonly outputs: readonly string[]; readonly last: string } {
  const script = steps
    .map(({ command }) => `${command}\nprintf '\\n%s\\n' '${END_OF_STEP}'`)
    .join('\n');
  const bin = temporaryFolder('sluice-bin-');
  const command = `#!/bin/sh\nexec '${process.execPath}' '${COMMAND}' "$@"\n`;
  writeFileSync(join(bin, 'sluice'), command, { mode: 0o755 });
  const PATH = `${bin}:${process.env.PATH}`;
  const text = execFileSync('bash', ['--norc', '-c', `${script}\n${last}`], {
    encoding: 'utf8',
    env: { ...baseEnvironment(), PATH, DATA_DIR: node.dataDir, SLUICE_URL: node.url },
  });
  removeFolder(bin);
  const outputs = text.split(`\n${END_OF_STEP}\n`).map((output) => output.trim());
  return { outputs: outputs.slice(0, -1), last: outputs.at(-1) ?? '' };
}

/** Returns a pattern of the output that a document shows. */
export function shownPattern(shown: string): RegExp {
  const parts = shown.split(ANYTHING).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^"\\n]+')}$`);
}

/**
 * Adds a line of a block: `$ ` begins a command, an indented line continues it, every other line is its
 * output.
 */
function addLine(steps: ConsoleStep[], line: string): ConsoleStep[] {
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

/** Puts the address of the service under test in the place of that which documents show. */
function addressed(line: string): string {
  return line.replaceAll('http://localhost:8080', '"$SLUICE_URL"');
}
