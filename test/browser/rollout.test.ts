// Walks through a rollout in the browser: from the first run to the key that is revoked. The console has an
// address of its own (ADMIN_LISTEN), and the devices ask the port of the service.

import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { ADMIN_APART, adminAddress, logLines } from '../support/admin-address.ts';
import { describeOnBackends } from '../support/backend.ts';
import { openTab, type Tab } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { PASSWORD } from '../support/person.ts';
import { check, manage, publish } from '../support/tenant.ts';

const APP = 'walk-notes';
const RELEASE = `/console/apps/${APP}/stable/1.1.0`;

describeOnBackends('a rollout at the console', (backend) => {
  describeInBrowser('in Chromium', (browser) => {
    let node: ServingNode;
    let people: { readonly url: string };
    let tab: Tab;
    let page: Page;
    let tenant = { org: '', app: APP, appId: '', secret: '', keyId: '' };

    beforeAll(async () => {
      node = await backend.start(ADMIN_APART);
      people = adminAddress(logLines(node.output()));
      tab = await openTab(browser(), people);
      page = tab.page;
    });
    afterEach(async () => {
      expect(await tab.complaints()).toEqual([]);
    });
    afterAll(async () => {
      await tab?.close();
      await node?.dispose();
    });

    const button = (name: string | RegExp) => page.getByRole('button', { name });
    const shown = (text: string | RegExp) => tab.soon(page.getByText(text).first());
    const asks = (device: string, version: string) => check(node, tenant, version, { device });

    /** Waits until a device on 1.0.0 is offered this version, or none, as the page has just set it. */
    async function untilOffered(device: string, offer: string | undefined): Promise<void> {
      await eventually(`${device} is offered ${offer}`, async () => {
        const { status, body } = await asks(device, '1.0.0');
        return offer === undefined ? status === 204 : body?.version === offer;
      });
    }

    /** Opens the dialog of an act, waits for what it would do, and does it. */
    async function steer(opens: string, verb: string, reason = ''): Promise<void> {
      await page.getByRole('button', { name: opens, exact: true }).click();
      const dialog = page.getByRole('dialog', { name: verb });
      await dialog.getByRole('status', { name: 'What it would do' }).waitFor();
      const sure = dialog.getByRole('checkbox');
      if ((await sure.count()) > 0) await sure.check();
      await dialog.getByLabel('Reason').fill(reason);
      await dialog.getByRole('button', { name: verb }).click();
      await dialog.waitFor({ state: 'detached' });
    }

    it('begins with the first run: whoever has the admin token makes the owner', async () => {
      await page.goto('/console/');
      await page.getByRole('heading', { name: 'Set up Sluice' }).waitFor();
      expect(await faultsOn(page)).toEqual([]);
      await page.getByLabel('Admin token').fill('not the token');
      await page.getByLabel('Organization').fill('Walkers');
      await page.getByLabel('Your name').fill('Olga Owner');
      await page.getByLabel('Email').fill('olga@example.com');
      await page.getByLabel('Password').fill(PASSWORD);
      await button('Create account').click();
      await page.getByRole('alert').waitFor();
      await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
      await button('Create account').click();
      await page.getByRole('heading', { name: 'Apps', exact: true }).waitFor();
      expect(await page.getByTitle('Your organization').textContent()).toBe('Walkers');
    });

    it('an app is made where the empty list says so', async () => {
      await button('Create app').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('Walk Notes');
      await dialog.getByRole('button', { name: 'Create app' }).click();
      await page.getByRole('heading', { name: 'stable', exact: true }).waitFor();
      await shown('No releases on this channel yet');
      await shown(`${node.url}/download/${APP}/stable`);
      await button('Copy download link').waitFor();
      expect(new URL(page.url()).pathname).toBe(`/console/apps/${APP}/stable`);
    });

    it('a key is created, shown once, and publishes', async () => {
      await page.getByRole('link', { name: 'Settings' }).click();
      await button('Create key').click();
      await page.getByRole('dialog').getByLabel('Name').fill('ci');
      await page.getByRole('dialog').getByLabel('read', { exact: true }).check();
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      await page.getByRole('dialog', { name: 'Key created' }).waitFor();
      const secret = (await page.locator('.secret-text').textContent()) ?? '';
      await button('Done').click();
      await button('Revoke ci').waitFor();
      expect(await page.content()).not.toContain(secret);
      tenant = { ...tenant, secret };
      expect((await publish(node, tenant, '1.0.0')).status).toBe(201);
      const notes = '# Walk\n\n- **Faster**';
      expect((await publish(node, tenant, '1.1.0', { rollout: 0, notes })).status).toBe(201);
    });

    it('a check is in the live feed, the figures and the chart', async () => {
      await page.goto(`/console/apps/${APP}/fleet`);
      await shown('a second');
      expect((await asks('walker-1', '1.0.0')).status).toBe(204);
      const latest = page.getByLabel('Latest check-ins');
      await tab.soon(latest.getByRole('link', { name: 'walker-1' }));
      const week = page.locator('.figure', { hasText: 'This week' });
      await tab.soon(week.getByText('1', { exact: true }));
      await tab.soon(page.locator('.legend').getByRole('button', { name: /^1\.0\.0.*1 · 100/ }));
      await page.locator('.plot canvas').waitFor();
    });

    it('the rollout is raised by a step and exactly, and never lowered once offered', async () => {
      await page.goto(RELEASE);
      await shown('Faster');
      await button('50 %').click();
      await steer('Raise to 50 %…', 'Raise to 50 %');
      await shown('Offered to 50 % of the matching devices');
      await page.getByLabel('Exactly (%)').fill('100');
      await button('Raise to 100 %…').waitFor();
      // Enter alone offers it to nobody.
      await page.keyboard.press('Enter');
      const asked = page.getByRole('dialog', { name: 'Raise to 100 %' });
      await asked.getByRole('status', { name: 'What it would do' }).waitFor();
      await page.keyboard.press('Escape');
      await asked.waitFor({ state: 'detached' });
      await shown('Offered to 50 % of the matching devices');
      await steer('Raise to 100 %…', 'Raise to 100 %', 'quiet for an hour');
      await shown('Offered to every matching device.');
      await untilOffered('walker-1', '1.1.0');
      await tab.soon(button('50 %'), 'detached');
    });

    it('pause stops it, resume lets it go on', async () => {
      await steer('Pause…', 'Pause 1.1.0', 'crashes at start');
      await shown('crashes at start');
      await shown('Paused at 100 %: nobody is offered it until it is resumed.');
      await untilOffered('walker-2', undefined);
      await steer('Resume…', 'Resume 1.1.0');
      await tab.soon(button('Pause…'));
      await untilOffered('walker-2', '1.1.0');
    });

    it('the roll-back says what it will do, and wants the version typed', async () => {
      expect((await asks('walker-1', '1.1.0')).status).toBe(204);
      const onIt = page.locator('.figure', { hasText: 'Installed' });
      await tab.soon(onIt.getByText('1', { exact: true }));
      const dialog = page.getByRole('dialog', { name: 'Roll back 1.1.0' });
      await button('Roll back…').click();
      await dialog.getByRole('status', { name: 'What it would do' }).waitFor();
      const send = dialog.getByRole('button', { name: 'Roll back 1.1.0' });
      await dialog.getByLabel('Type 1.1.0 to confirm').fill('1.0.0');
      expect(await send.isDisabled()).toBe(true);
      await dialog.getByLabel('Type 1.1.0 to confirm').fill('1.1.0');
      await send.click();
      await dialog.waitFor({ state: 'detached' });
      await shown('Rolled back at 100 %: nobody is offered it, and devices on it are sent down.');
      expect(await button(/^(?:Pause|Resume|Roll back|Deprecate)/).count()).toBe(0);
    });

    it("the device's page explains the downgrade that the device gets", async () => {
      await page.goto(`/console/apps/${APP}/devices/walker-1`);
      await shown('1.1.0 was rolled back, so it is sent down to the newest release below');
      await shown('downgrade');
      await eventually('it is sent down', async () => {
        const { body } = await asks('walker-1', '1.1.0');
        return body?.version === '1.0.0' && body.allowDowngrade === true;
      });
    });

    it('a revoked key is refused', async () => {
      expect((await manage(node, tenant, 'GET', 'apps')).status).toBe(200);
      await page.getByRole('link', { name: 'Settings' }).click();
      await button('Revoke ci').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click();
      await page.getByRole('table', { name: 'Keys' }).getByText('Revoked').waitFor();
      expect((await manage(node, tenant, 'GET', 'apps')).status).toBe(401);
    });

    it('the audit tells all of it, under the person who did it', async () => {
      await page.getByRole('link', { name: 'Audit' }).click();
      const changes = page.getByRole('region', { name: 'Changes' }).getByRole('listitem');
      await changes.filter({ hasText: 'olga@example.com' }).first().waitFor();
      await shown(`${APP}/stable@1.1.0`);
    });
  });
});
