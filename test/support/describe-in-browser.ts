// Declares suites that need a real browser. Without one they are skipped, and the run says so; CI demands one
// (global-setup.ts).

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { findBrowser, startBrowser } from './browser.ts';

/** Runs a suite with a browser of its own; `browser` gives it from the suite's first `beforeAll` on. */
export function describeInBrowser(title: string, suite: (browser: () => Browser) => void): void {
  if (findBrowser() === undefined) {
    // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
    describe.skip(`${title} (skipped: no Chromium on this machine)`, () => suite(notStarted));
    return;
  }
  describe(title, () => {
    let started: Browser | undefined;
    beforeAll(async () => {
      started = await startBrowser();
    });
    afterAll(() => started?.close());
    suite(() => started ?? notStarted());
  });
}

function notStarted(): never {
  throw new Error('The browser was not started');
}
