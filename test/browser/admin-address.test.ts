// Signs in and publishes in a browser at the admin address, while the port of the service has no console.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_APART, adminAddress, logLines } from '../support/admin-address.ts';
import { describeOnOneBackend } from '../support/backend.ts';
import { openTab, type Tab } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import type { ServingNode } from '../support/node.ts';
import { member, PASSWORD, type Person } from '../support/person.ts';
import { check, createTenant, type Tenant } from '../support/tenant.ts';

describeOnOneBackend('the console at an address of its own', (backend) => {
  describeInBrowser('in Chromium', (browser) => {
    let node: ServingNode;
    let tenant: Tenant;
    let person: Person;
    let tab: Tab;
    let page: Page;

    beforeAll(async () => {
      node = await backend.start(ADMIN_APART);
      const people = adminAddress(logLines(node.output()));
      tenant = await createTenant(people);
      person = await member(people, tenant.org, 'owner');
      tab = await openTab(browser(), people);
      page = tab.page;
    });
    afterAll(async () => {
      await tab?.close();
      await node?.dispose();
    });

    it('a person signs in, publishes, and the next check is offered it', async () => {
      expect((await check(node, tenant, '1.0.0')).status).toBe(204);
      await page.goto(`/console/apps/${tenant.app}/stable`);
      await page.getByLabel('Email').fill(person.email);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Publish release' }).click();
      const dialog = page.getByRole('dialog', { name: 'Publish to stable' });
      await dialog.getByLabel('Version').fill('1.1.0');
      await dialog.getByLabel('Platform', { exact: true }).fill('linux');
      await dialog.getByLabel('URL').fill('https://downloads.example.com/app.tar.gz');
      await dialog.getByLabel('Signature').fill('c2ln');
      await dialog.getByRole('button', { name: 'Review' }).click();
      await dialog.getByRole('button', { name: 'Publish' }).click();
      await page.getByRole('heading', { name: '1.1.0' }).waitFor();
      expect((await check(node, tenant, '1.0.0')).body?.version).toBe('1.1.0');
      await page.goto(`/console/apps/${tenant.app}/fleet`);
      await page.getByText('a second').first().waitFor();
      const device = 'watched-device';
      expect((await check(node, tenant, '1.0.0', { device })).status).toBe(200);
      await page.getByLabel('Latest check-ins').getByRole('link', { name: device }).waitFor();
      expect(await tab.complaints()).toEqual([]);
    });

    it('there is no console on the port of the service', async () => {
      const response = await page.goto(`${node.url}/console`);
      expect(response?.status()).toBe(404);
    });
  });
});
