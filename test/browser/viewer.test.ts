// A viewer at the console: comes in by an owner's link, is offered no change on any page, and finds the
// controls in place once the role is raised. That the service refuses every write of a viewer is in
// test/service/console-rights.test.ts.

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeInBrowser, openTab, visit } from '../support/browser.ts';
import { furnish } from '../support/furnish.ts';
import { PASSWORD } from '../support/person.ts';
import { sharedNode } from '../support/service-suite.ts';

/** Buttons that a viewer may press: they change the view, or the viewer's own account. */
const HARMLESS = [
  ...['Pause feed', 'Find', 'Filter', 'Try again'],
  ...['Search', 'Keys ?', 'Save as CSV', 'Show', 'Why not…'],
  ...['Sign out', 'End all others', 'Change password', 'Add a passkey'],
];
/** Beginnings of the names of further harmless buttons, which go on with their subject. */
const HARMLESS_BEGIN = /^(?:Theme|Copy|Sign out|Remove platform) ?/;

/** The names of all buttons on the page, but for those of the chart's legend. */
async function buttons(of: Page): Promise<readonly string[]> {
  const found = await of.locator('button:not(.legend button), input[type="submit"]').all();
  return Promise.all(
    found.map(
      async (each) => (await each.getAttribute('aria-label')) ?? (await each.textContent()) ?? '',
    ),
  );
}

describeInBrowser('a viewer at the console', (browser) => {
  const node = sharedNode();

  it('comes in by a link, finds no control that writes on any page, and all once the role is raised', async () => {
    const furnished = await furnish(node);
    const owner = await openTab(browser(), node, { token: furnished.owner.token });
    const tab = await openTab(browser(), node);
    const { at, page } = tab;
    const ruling = owner.at;
    await visit(owner.page, '/console/settings/members');
    await ruling.press('Invite member');
    await ruling.dialog().fill('Email', 'viewer@example.com');
    await ruling.dialog().press('Make invitation');
    await ruling.dialog('Invitation made').place.waitFor();
    const link = (await owner.page.locator('.secret-text').textContent()) ?? '';
    await ruling.press('Done');
    await ruling
      .table('Open invitations')
      .row(/^viewer@example\.com viewer/)
      .waitFor();
    await page.goto(link);
    await at.reads('invites viewer@example.com as viewer');
    await at.fill({ 'Your name': 'Vera Viewer', Password: PASSWORD });
    await at.press('Accept invitation');
    await at.heading('Apps').waitFor();
    await page.goto(link);
    await at.reads('It was used, revoked or has expired.');

    for (const path of furnished.pages) {
      await visit(page, path);
      const offered = await buttons(page);
      expect(
        offered.filter((name) => !HARMLESS.includes(name) && !HARMLESS_BEGIN.test(name)),
        path,
      ).toEqual([]);
      expect(await page.getByRole('combobox', { name: /^Role of/ }).count()).toBe(0);
    }

    await owner.page.reload();
    const raised = owner.page.waitForResponse((answer) => answer.request().method() !== 'GET');
    await ruling.choose('Role of Vera Viewer', 'publisher');
    expect((await raised).ok()).toBe(true);
    await visit(page, `/console/apps/${furnished.tenant.app}/stable/1.1.0`);
    await at.button('Roll back…').waitFor();
    for (const each of [owner, tab]) {
      expect(await each.complaints()).toEqual([]);
      await each.close();
    }
  });
});
