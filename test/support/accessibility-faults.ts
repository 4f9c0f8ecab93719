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
/** A width of the screen, and the questions for axe there: a theme, with the rules that it asks. */
type Look = { readonly width: number; readonly questions: readonly (readonly [Theme, Rules])[] };
type Rules = Readonly<Record<string, unknown>>;
/** The rules whose answer another theme can change. */
const OF_COLOR = ['color-contrast', 'link-in-text-block'];
const ALL: Rules = {};
const COLORS: Rules = { runOnly: OF_COLOR };
const ALL_BUT_COLORS: Rules = {
  rules: Object.fromEntries(OF_COLOR.map((rule) => [rule, { enabled: false }])),
};
const LOOKS: readonly Look[] = [
  {
    width: WIDE,
    questions: [
      ['light', ALL],
      ['dark', COLORS],
    ],
  },
  // What a phone shows alone, such as its menu, has the colors of what a wide screen shows.
  { width: PHONE, questions: [['dark', ALL_BUT_COLORS]] },
];
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
  for (const { width, questions } of LOOKS) {
    await page.setViewportSize({ width, height: 900 });
    const faults = [...(await page.evaluate<readonly string[]>(STICKING_OUT))];
    for (const [theme, rules] of asksAxe ? questions : []) {
      faults.push(...(await axeFaults(page, theme, rules)));
    }
    found.push(...faults.map((fault) => `at ${width} px: ${fault}`));
  }
  await page.setViewportSize({ width: WIDE, height: 900 });
  return found;
}

/** Asks axe in a theme. */
async function axeFaults(page: Page, theme: Theme, rules: Rules): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme: theme });
  const options = { ...OPTIONS, ...rules };
  // What is behind an open dialog is inert.
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(document.querySelector('dialog[open]') ?? document, ${JSON.stringify(options)})`,
  );
  return violations.map(({ id, nodes }) => {
    const where = nodes.map((each) => `${each.target.join(' ')}: ${each.failureSummary}`);
    return `${id} (${theme}) ${where.join('; ')}`;
  });
}
