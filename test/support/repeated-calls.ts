// Calls that go on while a test does something else.

import { sleep } from './eventually.ts';

/**
 * Repeats each of the calls, with a pause between, until it is ended. `end` waits for the last ones, and
 * rejects when a call did.
 */
export function repeatCalls(
  pauseMs: number,
  ...calls: readonly ((turn: number) => Promise<unknown>)[]
): { end(): Promise<void> } {
  let isOver = false;
  const running = calls.map(async (call) => {
    for (let turn = 0; !isOver; turn++) {
      await call(turn);
      await sleep(pauseMs);
    }
  });
  // What a call rejected with is looked at in the end.
  const ended = Promise.all(running);
  ended.catch(() => undefined);
  return {
    async end() {
      isOver = true;
      await ended;
    },
  };
}
