// What a test has for itself ends with the test, the last that was started first; and what a suite has.

import { afterAll, onTestFinished, type TestContext } from 'vitest';
import { removeFolder, temporaryFolder } from './server-process.ts';

type Started = { readonly [end in 'dispose' | 'stop' | 'drop' | 'close']?: () => unknown };

/** Test that a thing ends with: of those that run side by side each names itself. */
export type Owner = Pick<TestContext, 'onTestFinished'>;

/** Ends a node, server, database or client with the test, which is the one that runs. Returns it. */
export function own<Thing extends Started>(thing: Thing, owner: Owner = { onTestFinished }): Thing {
  owner.onTestFinished(() => end(thing));
  return thing;
}

/** Ends what the suite has, in this order, with its last test: what it then is, if it was started. */
export function endWithSuite(things: () => readonly (Started | undefined)[]): void {
  afterAll(async () => {
    for (const thing of things()) if (thing !== undefined) await end(thing);
  });
}

async function end(thing: Started): Promise<void> {
  await (thing.dispose ?? thing.stop ?? thing.drop ?? thing.close)?.call(thing);
}

/** Returns a new folder, which is removed with the test. */
export function ownFolder(): string {
  const folder = temporaryFolder('sluice-test-');
  onTestFinished(() => removeFolder(folder));
  return folder;
}
