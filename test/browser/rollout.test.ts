// Walks through a rollout in the browser: from the first run to the key that is revoked. The console has an
// address of its own (ADMIN_LISTEN), and the devices ask the port of the service.

import type { Page } from 'playwright-core';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { ADMIN_APART, adminAddress, logLines } from '../support/admin-address.ts';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import { describeInBrowser, openTab, type Tab } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { endWithSuite } from '../support/own.ts';
import { PASSWORD } from '../support/person.ts';
import { Tenant } from '../support/tenant.ts';

const APP = 'walk-notes';
const RELEASE = `/console/apps/${APP}/stable/1.1.0`;

describeOnBackends('a rollout at the console', (backend) => {
  describeInBrowser('in Chromium', (browser) => {
    const node = suiteNode(() => backend.start(ADMIN_APART));
    let people: { readonly url: string };
    let tab: Tab;
    let page: Page;
    let at: Tab['at'];
    let tenant = new Tenant(node, { app: APP });

    beforeAll(async () => {
      people = adminAddress(logLines(node.output()));
      tab = await openTab(browser(), people);
      ({ at, page } = tab);
    });
    afterEach(async () => {
      expect(await tab.complaints()).toEqual([]);
    });
    endWithSuite(() => [tab]);

    const shown = (text: string | RegExp) => tab.soon(page.getByText(text).first());
    const asks = (device: string, version: string) => tenant.check(version, { device });

    /** Waits until a device on 1.0.0 is offered this version, or none, as the page has just set it. */
    async function untilOffered(device: string, offer: string | undefined): Promise<void> {
      await eventually(`${device} is offered ${offer}`, async () => {
        const { status, body } = await asks(device, '1.0.0');
        return offer === undefined ? status === 204 : body?.version === offer;
      });
    }

    async function steer(opens: string, verb: string, reason = ''): Promise<void> {
      const dialog = await at.ask(opens, verb);
      const sure = dialog.place.getByRole('checkbox');
      if ((await sure.count()) > 0) await sure.check();
      await dialog.fill('Reason', reason);
      await dialog.send(verb);
    }

    it('begins with the first run, an app and a key: whoever has the admin token makes the owner', async () => {
      await page.goto('/console/');
      await at.heading('Set up Sluice').waitFor();
      expect(await faultsOn(page)).toEqual([]);
      await at.fill({ 'Admin token': 'not the token', Organization: 'Walkers' });
      await at.fill({ 'Your name': 'Olga Owner', Email: 'olga@example.com', Password: PASSWORD });
      await at.press('Create account');
      await page.getByRole('alert').waitFor();
      await at.fill('Admin token', ADMIN_TOKEN);
      await at.press('Create account');
      await at.heading('Apps').waitFor();

      await at.press('Create app');
      await at.dialog().fill('Name', 'Walk Notes');
      await at.dialog().press('Create app');
      await at.heading('stable').waitFor();
      await shown(`${node.url}/download/${APP}/stable`);
      await at.button('Copy download link').waitFor();

      await at.follow('Settings');
      const making = await at.opens('Create key', 'Create a key');
      // It may publish alone, and ends.
      const checked = making.place.getByRole('checkbox', { checked: true });
      const publishes = making.field(/publish, promote and withdraw/);
      await publishes.and(checked).waitFor();
      expect(await checked.count()).toBe(1);
      expect(await making.field('Ends').inputValue()).toBe('365');
      await making.fill('Name', 'ci');
      await making.check('read');
      await making.press('Create key');
      await at.dialog('Key created').place.waitFor();
      const secret = (await page.locator('.secret-text').textContent()) ?? '';
      await at.press('Done');
      await at.button('Revoke ci').waitFor();
      expect(await page.content()).not.toContain(secret);
      tenant = tenant.with({ secret });
      expect((await tenant.publish('1.0.0')).status).toBe(201);
      const notes = '# Walk\n\n- **Faster**';
      expect((await tenant.publish('1.1.0', { rollout: 0, notes })).status).toBe(201);
    });

    it('a check is in the feed and the figures; a rollout is raised, paused, resumed, and never lowered once offered', async () => {
      await page.goto(`/console/apps/${APP}/fleet`);
      await shown('a second');
      expect((await asks('walker-1', '1.0.0')).status).toBe(204);
      const latest = page.getByLabel('Latest check-ins');
      await tab.soon(latest.getByRole('link', { name: 'walker-1' }));
      await tab.soon(page.locator('.legend').getByRole('button', { name: /^1\.0\.0.*1 · 100/ }));
      await page.locator('.plot canvas').waitFor();

      await page.goto(RELEASE);
      await shown('Faster');
      await at.press('50 %');
      await steer('Raise to 50 %…', 'Raise to 50 %');
      await shown('Offered to 50 % of the matching devices');
      await at.fill('Exactly (%)', '100');
      await at.button('Raise to 100 %…').waitFor();
      // Enter alone offers it to nobody.
      await page.keyboard.press('Enter');
      const asked = at.dialog('Raise to 100 %');
      await asked.place.getByRole('status', { name: 'What it would do' }).waitFor();
      await asked.escape();
      await shown('Offered to 50 % of the matching devices');
      await steer('Raise to 100 %…', 'Raise to 100 %', 'quiet for an hour');
      await shown('Offered to every matching device.');
      await untilOffered('walker-1', '1.1.0');
      await tab.soon(at.button('50 %'), 'detached');

      await steer('Pause…', 'Pause 1.1.0', 'crashes at start');
      await shown('crashes at start');
      await shown('Paused at 100 %: nobody is offered it until it is resumed.');
      await untilOffered('walker-2', undefined);
      await steer('Resume…', 'Resume 1.1.0');
      await tab.soon(at.button('Pause…'));
      await untilOffered('walker-2', '1.1.0');
    });

    it('the roll-back wants the version typed, and the page of a device explains the downgrade that it gets', async () => {
      expect((await asks('walker-1', '1.1.0')).status).toBe(204);
      const onIt = page.locator('.figure', { hasText: 'Installed' });
      await tab.soon(onIt.getByText('1', { exact: true }));
      const dialog = await at.ask('Roll back…', 'Roll back 1.1.0');
      await dialog.fill('Type 1.1.0 to confirm', '1.0.0');
      expect(await dialog.button('Roll back 1.1.0').isDisabled()).toBe(true);
      await dialog.fill('Type 1.1.0 to confirm', '1.1.0');
      await dialog.send('Roll back 1.1.0');
      await shown('Rolled back at 100 %: nobody is offered it, and devices on it are sent down.');
      expect(await at.button(/^(?:Pause|Resume|Roll back|Deprecate)/).count()).toBe(0);
      await page.goto(`/console/apps/${APP}/devices/walker-1`);
      await shown('1.1.0 was rolled back, so it is sent down to the newest release below');
      await shown('downgrade');
      await eventually('it is sent down', async () => {
        const { body } = await asks('walker-1', '1.1.0');
        return body?.version === '1.0.0' && body.allowDowngrade === true;
      });
    });

    it('a revoked key is refused, and the audit tells all of it, under the person who did it', async () => {
      expect((await tenant.manage('GET', 'apps')).status).toBe(200);
      await at.follow('Settings');
      await at.press('Revoke ci');
      await at.dialog().press('Revoke key');
      await at.table('Keys').reads('Revoked');
      expect((await tenant.manage('GET', 'apps')).status).toBe(401);
      await at.follow('Audit');
      const changes = page.getByRole('region', { name: 'Changes' }).getByRole('listitem');
      await changes.filter({ hasText: 'olga@example.com' }).first().waitFor();
      await shown(`${APP}/stable@1.1.0`);
    });
  });
});
