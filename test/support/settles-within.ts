// Tells whether a promise is settled before a timer of this process that was started with it: which of two
// things comes first, however slow the machine is.

import { sleep } from './eventually.ts';

export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, sleep(ms).then(() => false)]);
}
