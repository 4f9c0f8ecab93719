// Setup of a run that shows which tests reach a mutant: notes the time of each test, and of each file with
// its hooks.

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, type TestContext } from 'vitest';

const NOTES = join(import.meta.dirname, 'spans.jsonl');
const fileBegun = Date.now();
let begun = 0;

beforeEach(() => {
  begun = Date.now();
});
afterEach((context) => note(nameOf(context), begun));
afterAll(() => note(undefined, fileBegun));

function note(test: string | undefined, start: number): void {
  const file = expect.getState().testPath;
  appendFileSync(NOTES, `${JSON.stringify({ file, test, start, end: Date.now() })}\n`);
}

/** Name of a test as `vitest --testNamePattern` reads it. */
function nameOf({ task }: TestContext): string {
  const names = [task.name];
  for (let { suite } = task; suite?.name; suite = suite.suite) names.unshift(suite.name);
  return names.join(' ');
}
