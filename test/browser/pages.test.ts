// Walks over every page and dialog of the console, once, with hostile names, notes and ids on all of
// them: each is accessible in light and dark, fits a wide screen and a phone, runs nothing of what people
// may write, and is what its address alone leads to.

import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { faultsOn, tooWideOn } from '../support/accessibility-faults.ts';
import { describeInBrowser, openTab, type Tab, visit, whenShown } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { type Furnished, furnish, type Words } from '../support/furnish.ts';
import { sharedNode } from '../support/service-suite.ts';
import { admin } from '../support/tenant.ts';

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
/** Makes a page record each control that moves by itself, by more than the width of a digit. */
const RECORD_MOVES = `(() => {
  window.moved = [];
  const control = 'a, button, input, select, summary';
  const far = (one, other) => Math.hypot(one.x - other.x, one.y - other.y) > 5;
  const note = ({ node, previousRect, currentRect }) => {
    const element = node?.nodeType === 1 ? node : node?.parentElement;
    if (!element || !previousRect.width || !currentRect.width || !far(previousRect, currentRect)) return;
    const found = element.matches(control) ? element : element.querySelector(control);
    if (found !== null) window.moved.push(element.className + ': ' + found.textContent.slice(0, 40));
  };
  const list = (seen) => seen.getEntries().flatMap(({ sources }) => sources).forEach(note);
  new PerformanceObserver(list).observe({ type: 'layout-shift', buffered: true });
})()`;
const TWO_FRAMES =
  'new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))';
const ACTIVE = '.prose :is(script, img, iframe, style, svg, [onclick], a[href^="javascript:"])';

describeInBrowser('every page of the console', (browser) => {
  const node = sharedNode();
  let furnished: Furnished;
  let tab: Tab;
  let page: Page;
  let at: Tab['at'];

  beforeAll(async () => {
    furnished = await furnish(node, HOSTILE);
    tab = await openTab(browser(), node, { token: furnished.owner.token });
    ({ at, page } = tab);
  });
  afterAll(() => tab?.close());

  const place = (path: string) => `/console/apps/${furnished.tenant.app}${path}`;

  async function expectSound(where: string, faults = faultsOn): Promise<void> {
    expect(await faults(page), where).toEqual([]);
    expect(await tab.complaints(), where).toEqual([]);
  }

  it('would be found wrong, if anything ran, pushed or kept people out', async () => {
    await visit(page, '/console/apps');
    await page.evaluate(`(() => {
      const element = document.createElement('div');
      element.style.width = '3000px';
      element.innerHTML = '<img src=x onerror=alert(1)><button></button>';
      document.querySelector('main').append(element);
      Promise.resolve().then(() => alert(2));
    })()`);
    const found = await faultsOn(page);
    expect(found).toContainEqual(expect.stringMatching(/^at 1280 px: page 3\d{3} of 1280$/));
    expect(found).toContainEqual(expect.stringMatching(/^at 375 px: button-name/));
    const reported = new Set<string>();
    await eventually('both are reported', async () => {
      for (const each of await tab.complaints()) reported.add(each.split(' ')[0] ?? '');
      return reported.has('policy:') && reported.has('dialog:');
    });
  });

  /**
   * Visits a page that gets its data one answer after the other, and waits for the last one. It leaves the
   * page before first: a poll of that one may never be answered, and the turns of this one would wait for it.
   */
  async function visitInTurn(path: string): Promise<void> {
    let last: Promise<unknown> = Promise.resolve();
    const answer = async (route: Route) => {
      await route.continue();
      // A live feed does not end.
      if (route.request().url().includes('/api/live')) return;
      await (await route.request().response())?.finished();
      await page.evaluate(TWO_FRAMES);
    };
    const takeTurn = (route: Route) => {
      // Nobody waits for an answer to a page that was left.
      last = last.then(() => answer(route)).catch(() => undefined);
    };
    await page.goto('about:blank');
    await page.route('**/console/api/**', takeTurn);
    try {
      await visit(page, path);
      await last;
    } finally {
      await page.unroute('**/console/api/**', takeTurn);
    }
  }

  it('is sound, moves no control, and is what its address alone leads to', async () => {
    await page.addInitScript(RECORD_MOVES);
    for (const path of furnished.pages) {
      await visitInTurn(path);
      expect(page.url()).toBe(node.url + path);
      expect(await page.evaluate('window.moved'), path).toEqual([]);
      await expectSound(path);
    }
  }, 600_000);

  it('has sound dialogs and menus', async () => {
    const button = (name: string | RegExp) => () =>
      page.getByRole('button', { name }).first().click();
    const devices = `/console/settings/devices?app=${furnished.tenant.app}`;
    const openings: readonly (readonly [path: string, open: () => Promise<unknown>])[] = [
      ['/console/apps', button('Create app')],
      ['/console/apps', button('Search')],
      ['/console/apps', () => page.locator('summary[aria-label="Account"]').click()],
      ['/console/apps', () => page.locator('summary[aria-label="Help"]').click()],
      [place('/fleet/devices'), button('Why not…')],
      [place('/stable'), button('Publish release')],
      [place('/stable'), button('Channel settings')],
      [place('/stable/1.2.0-rc.1'), button('Edit targeting')],
      [place('/stable/1.1.0'), button('Roll back…')],
      [place(`/stable/${HOSTILE.version}`), button('Roll back…')],
      [place('/stable/1.0.0'), button('Pause…')],
      [place('/stable/1.0.0'), button('Plan the rollout…')],
      [place('/beta/1.3.0'), button('Hold plan…')],
      [place('/beta/1.3.0'), () => at.chooseMore('Promote…')],
      ['/console/settings/webhooks', button('Enable another…')],
      ['/console/settings/keys', button('Create key')],
      ['/console/settings/keys', button(/^Revoke W/)],
      [devices, button('Create gateway token')],
      [devices, button(/^Revoke /)],
      [devices, button('Add secret')],
      [devices, button(/^Remove /)],
      ['/console/settings/members', button('Invite member')],
      ['/console/settings/members', button(/^Remove/)],
    ];
    for (const [path, open] of openings) {
      await visit(page, path);
      await open();
      if (path !== '/console/apps') await page.getByRole('dialog').waitFor();
      await expectSound(`${path} ${open}`);
    }
  }, 600_000);

  it('shows notes, names and the live feed as text, and leads to a device, whatever its id', async () => {
    for (const index of HOSTILE.notes.keys()) {
      await visit(page, place(`/stable/0.1.${index}`));
      await expectSound(`notes ${index}`, tooWideOn);
      expect(await page.locator(ACTIVE).count(), `notes ${index}`).toBe(0);
    }
    for (const name of HOSTILE.names) {
      const id = name.slice(0, 128);
      await visit(page, place('/fleet/devices'));
      await at.fill('Find devices', id);
      await at.press('Find');
      // The rows of the list before move when they are replaced.
      await expect.poll(() => at.table('Devices').row().count()).toBe(2);
      await at.table('Devices').follow(id);
      await at.heading('What it would get now').waitFor();
      expect(await page.locator('h1').textContent()).toBe(id);
      await expectSound(id, tooWideOn);
    }
    await visit(page, place('/devices/never-seen'));
    await at.fill({ Platform: 'linux', Architecture: 'x86_64' });
    await at.press('Show');
    await page.getByRole('list', { name: 'Releases considered, newest first' }).waitFor();
    await expectSound('never seen');
    await visit(page, place('/fleet'));
    await tab.soon(page.getByText('a second'));
    await furnished.reportAgain();
    await tab.soon(page.getByLabel('Latest check-ins').getByText('<script>alert(1)</script>'));
    await expectSound('the live feed', tooWideOn);
  });

  it('is used with the keyboard, which dialogs take and give back, and with a finger on a phone', async () => {
    await visit(page, '/console/settings/keys');
    await at.button('Create key').focus();
    await page.keyboard.press('Enter');
    const dialog = at.dialog('Create a key');
    await dialog.field('Name').and(page.locator(':focus')).waitFor();
    for (let press = 0; press < 8; press++) {
      await page.keyboard.press('Tab');
      // Past the dialog's last element comes the browser's own frame, and nothing of the page behind the
      // dialog.
      const focused = "document.activeElement.closest('dialog') ?? document.activeElement";
      expect(await page.evaluate(`(${focused}).tagName`)).toMatch(/^(?:DIALOG|BODY)$/);
    }
    await dialog.escape();
    await at.button('Create key').and(page.locator(':focus')).waitFor();
    await visit(page, place('/fleet'));
    const version = page.locator('.legend').getByRole('button', { name: /^1\.0\.0/ });
    await version.focus();
    await page.keyboard.press('Enter');
    await version.and(page.locator('[aria-pressed="false"]')).waitFor();
    await page.keyboard.press('Space');
    await version.and(page.locator('[aria-pressed="true"]')).waitFor();
    await page.reload();
    await whenShown(page);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('#content:focus').waitFor();

    await visit(page, place('/stable/1.0.0'));
    await page.setViewportSize({ width: 375, height: 740 });
    await page.locator('summary[aria-label="More"]').click();
    // What is cut off has no place where a finger could meet it.
    const isMet = await at.button('Deprecate…').evaluate((item) => {
      const { left, top, width, height } = item.getBoundingClientRect();
      const met = item.ownerDocument.elementFromPoint(left + width / 2, top + height / 2);
      return met === item;
    });
    expect(isMet).toBe(true);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await at.dialog('Keys').place.getByText('Esc', { exact: true }).waitFor();
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('before the console is sound as well', async () => {
    const { org } = furnished.tenant;
    const guest = { org, email: 'guest@example.com', role: 'viewer' };
    const invited = await admin(node, 'POST', 'invitations', guest);
    const { email } = furnished.owner;
    const reset = await admin(node, 'POST', 'accounts/reset-password', { email });
    await page.context().clearCookies();
    const used = ['invitation', 'password-reset', 'confirmation'].map(
      (link) => `/console/${link}/used`,
    );
    const paths = ['/console/sign-in', ...used];
    for (const path of [...paths, String(invited.body?.url), String(reset.body?.url)]) {
      await visit(page, path);
      await expectSound(path);
    }
  });
});
