// What a test has for itself: it ends with the test, the last that was started first.

import { onTestFinished } from 'vitest';
import { removeFolder, temporaryFolder } from './server-process.ts';

type Started = { readonly [end in 'dispose' | 'stop' | 'drop' | 'close']?: () => unknown };

/** Ends a node, server, database or client with the test. Returns it. */
export function own<Thing extends Started>(thing: Thing): Thing {
  onTestFinished(async () => {
    await (thing.dispose ?? thing.stop ?? thing.drop ?? thing.close)?.call(thing);
  });
  return thing;
}

/** Returns a new folder, which is removed with the test. */
export function ownFolder(): string {
  const folder = temporaryFolder('sluice-test-');
  onTestFinished(() => removeFolder(folder));
  return folder;
}
