// The console loses nothing that somebody has filled in, whatever closes a dialog, ends a session or breaks
// the connection meanwhile.

import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeOwnerTab, visit } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { gone, type Hands } from '../support/hands.ts';
import { PASSWORD } from '../support/person.ts';

/** Longest time between two polls of the pages that are opened here. */
const POLL_MS = 15_000;

/**
 * Opens the step *Files* and goes to its notes as soon as they are there; returns what has the focus once all
 * is drawn.
 */
const HASTY = `(async () => {
  [...document.querySelectorAll('.step-list button')].find((each) => each.textContent === 'Files').click();
  while (document.querySelector('dialog textarea') === null) await undefined;
  document.querySelector('dialog textarea').focus();
  // What is put off until the page is drawn runs in a task behind the next frame.
  const frame = () => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  await frame().then(frame);
  return document.activeElement.tagName;
})()`;

describeOwnerTab('forms at the console', (opened) => {
  async function beginRelease(): Promise<Hands<Locator>> {
    const { at } = opened();
    await at.press('Publish release');
    await at.dialog('Publish to stable').fill('Version', '7.0.0');
    return at.dialog('Publish to stable');
  }

  it('a step that opens takes the focus at once, and not from whoever is quicker than a frame', async () => {
    const { open, page } = opened();
    await open('/stable');
    const dialog = await beginRelease();
    await dialog.toStep('Who');
    expect(await page.evaluate(HASTY)).toBe('TEXTAREA');
  });

  it('nothing that was filled in, and no secret, is thrown away without a question, which is in sight', async () => {
    const { at, page } = opened();
    const question = 'Discard what you entered?';
    const back = () => page.evaluate('history.back()');
    await page.setViewportSize({ width: 1280, height: 360 });
    await visit(page, '/console/apps');
    await at.link('stable').first().click();
    await at.press('Publish release');
    await at.dialog('Publish to stable').field('Version').waitFor();
    await at.dialog().escape();
    const dialog = await beginRelease();
    for (const leave of [
      () => page.keyboard.press('Escape'),
      () => dialog.press('Cancel'),
      () => dialog.press('Close'),
      back,
    ]) {
      await dialog.button('Cancel').scrollIntoViewIfNeeded();
      await leave();
      const asked = dialog.place.getByRole('alert').getByText(question);
      await asked.waitFor();
      for (const shown of [asked, dialog.button('Keep editing')]) {
        const isOnTop = await shown.evaluate((element) => {
          const { left, top } = element.getBoundingClientRect();
          return element.contains(element.ownerDocument.elementFromPoint(left + 4, top + 4));
        });
        expect(isOnTop).toBe(true);
      }
      // The question has the focus, so Enter stays.
      await page.keyboard.press('Enter');
      await asked.waitFor({ state: 'detached' });
    }
    expect(await dialog.field('Version').inputValue()).toBe('7.0.0');
    await back();
    await dialog.send('Discard');
    await back();
    await page.getByRole('heading', { name: 'Apps' }).waitFor();

    await visit(page, '/console/settings/keys');
    await at.press('Create key');
    await at.dialog().fill('Name', 'ci-2');
    await at.dialog().press('Create key');
    const minted = at.dialog('Key created');
    await minted.place.waitFor();
    await page.keyboard.press('Escape');
    await minted.reads('Is the key copied?');
    await minted.place.locator('.secret-text').waitFor();
    await minted.send('Done');
  });

  it('the end of the session asks to sign in over the page, once, and what was filled in is still there', async () => {
    const { at, page, tab, owner, open } = opened();
    await open('/stable');
    const dialog = await beginRelease();
    const held: (() => Promise<void>)[] = [];
    await page.route('**/console/api/**', async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const response = await route.fetch();
      // The first refusal asks to sign in; those of the next polls are on their way for long.
      if (response.status() === 401 && held.push(() => route.fulfill({ response })) > 1) return;
      // A poll may be on its way while the test takes the route away.
      await route.fulfill({ response }).catch(() => undefined);
    });
    await tab.context.clearCookies();
    const again = at.dialog('Sign in again');
    await tab.soon(again.place);
    await eventually('more are refused', async () => {
      if (held.length < 2) await tab.pass(POLL_MS);
      return held.length > 1;
    });
    await page.keyboard.press('Escape');
    await again.fill('Email', owner.email);
    await again.enter('Password', 'not the password');
    await again.place.getByRole('alert').waitFor();
    await again.enter('Password', PASSWORD);
    await gone(again);
    for (const arrive of held.slice(1)) await arrive();
    // An answer that arrives behind them: a refusal of what was asked before does not end the new session.
    await page.evaluate("fetch('/console/api/session').then((answer) => answer.text())");
    expect(await again.place.count()).toBe(0);
    expect(await dialog.field('Version').inputValue()).toBe('7.0.0');
    await dialog.toStep('Review');
    await dialog.button(/^Publish/).waitFor();
  });
});
