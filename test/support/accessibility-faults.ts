// Looks for what keeps people from using a page: by axe-core, in light and dark, on a wide screen and on a
// phone; and for what is wider than these.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { IS_WHOLE_MATRIX } from './matrix.ts';

type Violation = {
  readonly id: string;
  readonly nodes: readonly {
    readonly target: readonly string[];
    readonly failureSummary: string;
  }[];
};

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [WIDE, PHONE] = [1280, 375];
type Theme = 'light' | 'dark';
/** Themes in which a page is looked at, by the width of the screen. */
type Looks = ReadonlyMap<number, readonly Theme[]>;
const EVERY_LOOK: Looks = new Map([
  [WIDE, ['light', 'dark']],
  [PHONE, ['light', 'dark']],
]);
/** Each width and each theme once: half of the work, for what only differs where both come together. */
const CROSSED_LOOKS: Looks = new Map([
  [WIDE, ['light']],
  [PHONE, ['dark']],
]);
const NO_LOOK: Looks = new Map([
  [WIDE, []],
  [PHONE, []],
]);
/** Less work for the same findings: there are no frames, and no rule that is asked reads style sheets. */
const OPTIONS = { resultTypes: ['violations'], iframes: false, preload: false } as const;

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

/**
 * Returns the faults of a page as it stands, or of the dialog that is open on it: on a wide screen in light
 * and on a phone in dark. The whole matrix looks in both themes at both.
 */
export function faultsOn(page: Page): Promise<readonly string[]> {
  return faultsIn(page, IS_WHOLE_MATRIX ? EVERY_LOOK : CROSSED_LOOKS);
}

/** Returns the faults of a page as it stands, in every theme and width. */
export function faultsInEveryLook(page: Page): Promise<readonly string[]> {
  return faultsIn(page, EVERY_LOOK);
}

/** Returns what sticks out of the screen on a page as it stands, in every width. */
export function tooWideOn(page: Page): Promise<readonly string[]> {
  return faultsIn(page, NO_LOOK);
}

async function faultsIn(page: Page, looks: Looks): Promise<readonly string[]> {
  if (looks !== NO_LOOK) await page.evaluate(AXE);
  const found: string[] = [];
  for (const [width, themes] of looks) {
    await page.setViewportSize({ width, height: 900 });
    const faults = [...(await page.evaluate<readonly string[]>(STICKING_OUT))];
    for (const theme of themes) faults.push(...(await axeFaults(page, theme)));
    found.push(...faults.map((fault) => `at ${width} px: ${fault}`));
  }
  await page.setViewportSize({ width: WIDE, height: 900 });
  return found;
}

async function axeFaults(page: Page, theme: Theme): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme: theme });
  // What is behind an open dialog is inert.
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(document.querySelector('dialog[open]') ?? document, ${JSON.stringify(OPTIONS)})`,
  );
  return violations.map(({ id, nodes }) => {
    const where = nodes.map((each) => `${each.target.join(' ')}: ${each.failureSummary}`);
    return `${id} (${theme}) ${where.join('; ')}`;
  });
}
