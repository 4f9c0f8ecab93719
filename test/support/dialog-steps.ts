// Goes through the steps of a dialog of the console.

import type { Locator } from 'playwright-core';
import { eventually } from './eventually.ts';

/** Returns the mark of the step that a dialog shows. */
export function currentStep(dialog: Locator): Locator {
  return dialog.locator('[aria-current="step"]');
}

/** Goes on until a dialog shows this step. */
export async function toStep(dialog: Locator, name: string): Promise<void> {
  const current = currentStep(dialog);
  for (;;) {
    const before = await current.textContent();
    if (before === name) return;
    await goOn(dialog);
    await eventually(
      `the step after ${before}`,
      async () => (await current.textContent()) !== before,
    );
  }
}

/** Tries to leave the step that a dialog shows. */
export async function goOn(dialog: Locator): Promise<void> {
  await dialog.getByRole('button', { name: 'Next', exact: true }).click();
}
