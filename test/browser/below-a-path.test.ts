// Tests a service whose public address has a path, which nginx takes off as docs/operating/proxy.md says:
// what people see and do in the console, and what devices and programs get.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOwnNode } from '../support/backend.ts';
import { openTab, type Tab } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type CacheFront, findNginx, startNginxBelowPath } from '../support/nginx-front.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { startOidcProvider, type TestProvider } from '../support/oidc-provider.ts';
import { member, PASSWORD, type Person } from '../support/person.ts';
import { runSluice } from '../support/sluice-command.ts';
import { check, createTenant, publish, randomId, send, type Tenant } from '../support/tenant.ts';

const isMissing = findNginx() === undefined;
const title = 'a public address with a path';

describe.skipIf(isMissing)(
  isMissing ? `${title} (skipped: no nginx on this machine)` : title,
  () => {
    describeInBrowser('behind a proxy that takes it off', (browser) => {
      let front: CacheFront;
      let node: ServingNode;
      let provider: TestProvider;
      let tenant: Tenant;
      let person: Person;
      let tab: Tab;
      let page: Page;
      /** The public address: devices and people know no other. */
      let base: string;

      beforeAll(async () => {
        const port = await freePort();
        base = `http://127.0.0.1:${port}/updates`;
        provider = await startOidcProvider([base]);
        const settings = provider.settings({ readers: { organization: 'Test', role: 'viewer' } });
        node = await startOwnNode({
          ...{ PUBLIC_URL: base, SECRET_KEY: 'a key of the tests' },
          ...settings,
        });
        front = await startNginxBelowPath(new URL(node.url).host, port);
        tenant = await createTenant(node);
        await publish(node, tenant, '1.1.0');
        person = await member(node, tenant.org, 'owner', 'Olga');
        tab = await openTab(browser(), node);
        page = tab.page;
      });
      afterAll(async () => {
        await tab?.close();
        await front?.stop();
        await Promise.all([node?.dispose(), provider?.stop()]);
      });

      const heading = (name: string) => page.getByRole('heading', { name, exact: true }).first();
      const place = () => new URL(page.url()).pathname;

      it('the console signs a person in, and stays below the path', async () => {
        await page.goto(`${base}/`);
        await heading('Sign in').waitFor();
        expect(place()).toBe('/updates/console');
        await page.getByLabel('Email').fill(person.email);
        await page.getByLabel('Password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await heading('Apps').waitFor();
        expect(place()).toBe('/updates/console/apps');
        const cookies = await tab.context.cookies();
        const session = cookies.find(({ name }) => name === 'sluice_session');
        expect(session?.path).toBe('/updates/console');
        await page.locator(`a[href="/updates/console/apps/${tenant.app}"]`).click();
        await page.getByRole('link', { name: 'Fleet', exact: true }).click();
        await heading('Fleet').waitFor();
        expect(place()).toBe(`/updates/console/apps/${tenant.app}/fleet`);
        expect(await tab.complaints()).toEqual([]);
      });

      it('its live feed shows what asks through the proxy', async () => {
        const device = `live-${randomId()}`;
        const live = page.getByRole('region', { name: 'Live' });
        await eventually('the feed is open, and tells a check-in', async () => {
          await check({ url: base }, tenant, '1.0.0', { device });
          await tab.pass(2000);
          return live.getByRole('link', { name: device }).first().isVisible();
        });
        expect(await tab.complaints()).toEqual([]);
      });

      it('a deep link is the same page after a reload, also with a slash in an id', async () => {
        const device = `rack/7-${randomId()}`;
        await check({ url: base }, tenant, '1.0.0', { device });
        const path = `/updates/console/apps/${tenant.app}/devices/${encodeURIComponent(device)}`;
        await page.goto(base + path.slice('/updates'.length));
        await eventually('the device is on record', async () => {
          await page.reload();
          await page.locator('h1').first().waitFor();
          return page.getByText('1.0.0').first().isVisible();
        });
        expect(place()).toBe(path);
        expect(await page.locator('h1').first().textContent()).toContain(device);
        expect(await tab.complaints()).toEqual([]);
      });

      it('the reference of the API is there, and names the public address', async () => {
        await page.goto(`${base}/console/apps`);
        await heading('Apps').waitFor();
        await page
          .getByRole('button', { name: 'Help' })
          .or(page.getByLabel('Help'))
          .first()
          .click();
        const opened = page.context().waitForEvent('page');
        await page.getByRole('link', { name: 'Reference of the API' }).click();
        const reference = await opened;
        await reference.getByText('checkForUpdate').first().waitFor();
        await reference.close();
        const document = await (await fetch(`${base}/api/v1/openapi.json`)).json();
        expect((document as { servers: { url: string }[] }).servers[0]?.url).toBe(base);
        expect(await tab.complaints()).toEqual([]);
      });

      it('signing out ends it, and the provider leads back to the page that was asked for', async () => {
        await page.goto(`${base}/console/settings/account`);
        await page.locator('summary[aria-label="Account"]').click();
        await page.getByRole('button', { name: 'Sign out', exact: true }).click();
        await heading('Sign in').waitFor();
        expect((await tab.context.cookies()).map(({ name }) => name)).not.toContain(
          'sluice_session',
        );
        const sub = randomId();
        provider.present = {
          ...{ sub, email: `${sub}@example.com`, email_verified: true, name: 'Ron' },
          groups: ['readers'],
        };
        await page.goto(`${base}/console/apps/${tenant.app}/fleet`);
        await page.getByRole('button', { name: 'Sign in with Example ID' }).click();
        await heading('Fleet').waitFor();
        expect(place()).toBe(`/updates/console/apps/${tenant.app}/fleet`);
        expect(await tab.complaints()).toEqual([]);
      });

      it('devices, feeds and the command reach the service below it', async () => {
        expect((await check({ url: base }, tenant, '1.0.0')).body?.version).toBe('1.1.0');
        const feed = await send({ url: base }, 'GET', `/feed/${tenant.app}/stable/rss.xml`);
        expect(feed.text).toContain(`<link>${base}/feed/${tenant.app}/stable`);
        const list = await runSluice(['app', 'list', '--org', tenant.org], {
          ...{ SLUICE_URL: base, ADMIN_TOKEN },
        });
        expect([list.stderr, list.stdout]).toEqual(['', expect.stringContaining(tenant.app)]);
      });

      it('an edge follows the service below it', async () => {
        const edge = await startEdge(base, (await makeEdgeToken(node)).secret);
        try {
          expect((await check(edge, tenant, '1.0.0')).body?.version).toBe('1.1.0');
        } finally {
          await edge.dispose();
        }
      });
    });
  },
);
