// Looks for what keeps people from using a page: axe-core, light and dark, on a wide screen and on a phone.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

type Violation = {
  readonly id: string;
  readonly nodes: readonly {
    readonly target: readonly string[];
    readonly failureSummary: string;
  }[];
};

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const WIDTHS = [1280, 375];
const THEMES = ['light', 'dark'] as const;

/** Returns the faults of a page as it stands, in each theme and width: being wider than its window is one. */
export async function faultsOn(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const found = new Set<string>();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (wide > width) found.add(`too-wide (${width} px) by ${wide - width} px`);
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
        "axe.run(document, { resultTypes: ['violations'] })",
      );
      for (const { id, nodes } of violations) {
        const where = nodes.map((each) => `${each.target.join(' ')}: ${each.failureSummary}`);
        found.add(`${id} (${width} px, ${colorScheme}) ${where.join('; ')}`);
      }
    }
  }
  return [...found];
}
