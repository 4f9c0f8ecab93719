// Looks for what keeps people from using a page: by axe-core, in light and dark, on a wide screen and on a
// phone; and for what is wider than these.

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
const [WIDE, PHONE] = [1280, 375];
type Theme = 'light' | 'dark';
/** A width of the screen, and the themes there: in the first axe asks all rules, then those of colors. */
type Look = { readonly width: number; readonly themes: readonly [Theme, ...Theme[]] };
const LOOKS: readonly Look[] = [
  { width: WIDE, themes: ['light', 'dark'] },
  // What a phone shows alone, such as its menu, has the colors of what a wide screen shows.
  { width: PHONE, themes: ['dark'] },
];
/** The rules whose answer another theme can change. */
const RULES_OF_COLOR = ['color-contrast', 'link-in-text-block'];
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

/** Returns the faults of a page as it stands, or of the dialog that is open on it. */
export async function faultsOn(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return look(page, true);
}

/** Returns what sticks out of the screen on a page as it stands, in every width. */
export const tooWideOn = (page: Page): Promise<readonly string[]> => look(page, false);

async function look(page: Page, asksAxe: boolean): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { width, themes } of LOOKS) {
    await page.setViewportSize({ width, height: 900 });
    const faults = [...(await page.evaluate<readonly string[]>(STICKING_OUT))];
    for (const [index, theme] of asksAxe ? themes.entries() : []) {
      faults.push(...(await axeFaults(page, theme, index === 0 ? undefined : RULES_OF_COLOR)));
    }
    found.push(...faults.map((fault) => `at ${width} px: ${fault}`));
  }
  await page.setViewportSize({ width: WIDE, height: 900 });
  return found;
}

/** Asks axe in a theme, for all of its rules or for some. */
async function axeFaults(
  page: Page,
  theme: Theme,
  rules?: readonly string[],
): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme: theme });
  const options = rules === undefined ? OPTIONS : { ...OPTIONS, runOnly: rules };
  // What is behind an open dialog is inert.
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(document.querySelector('dialog[open]') ?? document, ${JSON.stringify(options)})`,
  );
  return violations.map(({ id, nodes }) => {
    const where = nodes.map((each) => `${each.target.join(' ')}: ${each.failureSummary}`);
    return `${id} (${theme}) ${where.join('; ')}`;
  });
}
