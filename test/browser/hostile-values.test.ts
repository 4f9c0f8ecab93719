// Tests hostile names, notes and ids in every page of the console: no page runs them, breaks at them or grows
// wider than the screen.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTab, type Tab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { eventually } from '../support/eventually.ts';
import { type Furnished, furnish, type Words } from '../support/furnish.ts';
import { sharedNode } from '../support/service-suite.ts';

const LONG = 'W'.repeat(128);
const HOSTILE: Words = {
  names: [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "';alert(1);//</title><svg onload=alert(1)>",
    LONG,
    'right to left: שלום עולם مرحبا بالعالم',
    'ا'.repeat(128),
    '__proto__',
    '{{7*7}} $(id) %00 javascript:alert(1)',
  ],
  notes: [
    '<script>alert(1)</script><img src=x onerror=alert(1)><iframe srcdoc="<script>alert(1)</script>">',
    '[press](javascript:alert(1)) <a href="javascript:alert(1)" onclick="alert(1)">me</a>',
    '<style>*{display:none}</style><svg onload=alert(1)><form action="/console/api/session">',
    `${LONG}${LONG}\n\n\`${LONG}${LONG}\`\n\n    ${LONG}${LONG}\n\n# ${LONG}`,
    `|${` ${LONG} |`.repeat(4)}\n|${' --- |'.repeat(4)}\n|${` ${LONG} |`.repeat(4)}`,
    `- - - - - - - - - - ${LONG}\n\n> > > > > > > > ${LONG}`,
    '\u202e שלום **עולם** مرحبا [بالعالم](https://a.example)',
  ],
  ref: `long-${'w'.repeat(59)}`,
  version: `3.0.0-${'w'.repeat(58)}`,
};
const WIDTHS = [1280, 375];

describeInBrowser('hostile values at the console', (browser) => {
  const node = sharedNode();
  let furnished: Furnished;
  let tab: Tab;
  let page: Page;

  beforeAll(async () => {
    furnished = await furnish(node, HOSTILE);
    tab = await openTab(browser(), node, { token: furnished.owner.token });
    page = tab.page;
  });
  afterAll(async () => {
    await tab?.close();
  });

  /** Returns the elements that stick out, when the page as a whole can be scrolled sideways. */
  function overflow(): Promise<readonly string[]> {
    return page.evaluate(`(() => {
      const { scrollWidth, clientWidth } = document.scrollingElement;
      const dialog = document.querySelector('dialog[open]');
      const isWide = scrollWidth > clientWidth || (dialog && dialog.scrollWidth > dialog.clientWidth);
      if (!isWide) return [];
      return [...(dialog ?? document).querySelectorAll('*')]
        .filter((each) => each.getBoundingClientRect().right > clientWidth + 1)
        .map((each) => each.tagName + '.' + each.className + ' ' + each.textContent.slice(0, 20))
        .concat('page ' + scrollWidth + ' of ' + clientWidth)
        .slice(0, 8);
    })()`);
  }

  async function expectSound(where: string): Promise<void> {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      expect(await overflow(), `${where} at ${width} px`).toEqual([]);
    }
    expect(await tab.complaints(), where).toEqual([]);
  }

  it('would be noticed, if they ran or pushed', async () => {
    await visit(page, '/console/apps');
    await page.evaluate(`(() => {
      const element = document.createElement('div');
      element.style.width = '3000px';
      element.innerHTML = '<img src=x onerror=alert(1)>';
      document.querySelector('main').append(element);
      setTimeout(() => alert(2));
    })()`);
    expect((await overflow()).at(-1)).toMatch(/^page 3\d{3} of 1280$/);
    const found = new Set<string>();
    await eventually('both are reported', async () => {
      for (const each of await tab.complaints()) found.add(each.split(' ')[0] ?? '');
      return found.has('policy:') && found.has('dialog:');
    });
    await tab.complaints();
  });

  it('run nothing on any page, and push none wide', async () => {
    for (const path of furnished.pages) {
      await visit(page, path);
      await expectSound(path);
    }
  }, 180_000);

  it('run nothing as release notes, which are the only markup there is', async () => {
    for (const index of HOSTILE.notes.keys()) {
      const path = `/console/apps/${furnished.tenant.app}/stable/0.1.${index}`;
      await visit(page, path);
      await expectSound(path);
      const active =
        '.prose :is(script, img, iframe, style, svg, [onclick], a[href^="javascript:"])';
      expect(await page.locator(active).count(), path).toBe(0);
    }
  }, 120_000);

  it('run nothing on the page of a device, whatever its id', async () => {
    for (const name of HOSTILE.names) {
      const id = name.slice(0, 128);
      await page.goto('/console/apps');
      await visit(page, `/console/apps/${furnished.tenant.app}/fleet`);
      await page.getByLabel('Device id').fill(id);
      await page.getByRole('button', { name: 'Open device' }).click();
      await page.getByRole('heading', { name: 'What it would get now' }).waitFor();
      expect(await page.locator('h1').textContent()).toBe(id);
      await expectSound(id);
    }
  }, 120_000);

  it('run nothing in dialogs and menus, and push none wide', async () => {
    const { app } = furnished.tenant;
    const button = (name: string | RegExp) => page.getByRole('button', { name }).first();
    const openings: readonly (readonly [path: string, open: () => Promise<unknown>])[] = [
      [`/console/apps/${app}/stable/1.2.0-rc.1`, () => button('Edit targeting').click()],
      [`/console/apps/${app}/stable/${HOSTILE.version}`, () => button('Roll back…').click()],
      [`/console/apps/${app}/stable`, () => button('Publish release').click()],
      [`/console/apps/${app}/beta/1.3.0`, () => button('Promote…').click()],
      [`/console/apps/${app}/beta/1.3.0`, () => button('Withdraw…').click()],
      ['/console/settings/webhooks', () => button('Settings… GitHub').click()],
      ['/console/settings/keys', () => button(/^Revoke W/).click()],
      ['/console/settings/members', () => button(/^Remove/).click()],
      ['/console/apps', () => page.locator('summary[aria-label="Account"]').click()],
    ];
    for (const [path, open] of openings) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await visit(page, path);
      await open();
      await expectSound(`what ${path} opens`);
    }
  }, 120_000);

  it('run nothing in the live feed', async () => {
    await visit(page, `/console/apps/${furnished.tenant.app}/fleet`);
    await page.getByText('a second').waitFor();
    await furnished.reportAgain();
    await page.getByLabel('Latest check-ins').getByText('<script>alert(1)</script>').waitFor();
    await expectSound('the live feed');
  });
});
