// Looks for what keeps people from using a page: axe-core, light and dark, on a wide screen and on a
// phone, and what is wider than these.

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
/** Rules that are asked in each theme: only colors differ between them. */
const ASKED = { light: {}, dark: { runOnly: ['color-contrast'] } } as const;
/** Less work for the same findings: there are no frames, and no rule that is asked reads style sheets. */
const LESS_WORK = { resultTypes: ['violations'], iframes: false, preload: false } as const;

/** Elements that stick out of the screen, when the page, or the dialog on it, can be scrolled sideways. */
const STICKING_OUT = `(() => {
  const { scrollWidth, clientWidth } = document.scrollingElement;
  const dialog = document.querySelector('dialog[open]');
  if (scrollWidth <= clientWidth && !(dialog && dialog.scrollWidth > dialog.clientWidth)) return [];
  return [...(dialog ?? document).querySelectorAll('*')]
    .filter((each) => each.getBoundingClientRect().right > clientWidth + 1)
    .map((each) => each.tagName + '.' + each.className + ' ' + each.textContent.slice(0, 20))
    .slice(0, 8)
    .concat('page ' + scrollWidth + ' of ' + clientWidth);
})()`;

/** Returns the faults of a page as it stands, in every theme and width. */
export async function faultsOn(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return faultsIn(page, async () => [
    ...(await axeFaults(page, 'light')),
    ...(await axeFaults(page, 'dark')),
  ]);
}

/** Returns what sticks out of the screen on a page as it stands, in every width. */
export function tooWideOn(page: Page): Promise<readonly string[]> {
  return faultsIn(page, async () => []);
}

async function faultsIn(
  page: Page,
  more: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate<readonly string[]>(STICKING_OUT);
    found.push(...[...wide, ...(await more())].map((fault) => `at ${width} px: ${fault}`));
  }
  await page.setViewportSize({ width: WIDTHS[0] ?? 0, height: 900 });
  return found;
}

async function axeFaults(page: Page, colorScheme: 'light' | 'dark'): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme });
  const options = JSON.stringify({ ...LESS_WORK, ...ASKED[colorScheme] });
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(document, ${options})`,
  );
  return violations.map(({ id, nodes }) => {
    const where = nodes.map((each) => `${each.target.join(' ')}: ${each.failureSummary}`);
    return `${id} (${colorScheme}) ${where.join('; ')}`;
  });
}
