// Tests a service whose public address has a path, which nginx takes off as docs/operating/proxy.md says:
// what people see and do in the console, and what devices and programs get.

import { beforeAll, describe, expect, it } from 'vitest';
import { startOwnNode } from '../support/backend.ts';
import { describeInBrowser, openTab, type Tab } from '../support/browser.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type CacheFront, findNginx, startNginxBelowPath } from '../support/nginx-front.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { startOidcProvider, type TestProvider } from '../support/oidc-provider.ts';
import { endWithSuite } from '../support/own.ts';
import { member, PASSWORD, type Person } from '../support/person.ts';
import { runSluice } from '../support/sluice-command.ts';
import { createTenant, randomId, send, type Tenant } from '../support/tenant.ts';

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
        tenant = await createTenant(node, ['1.1.0']);
        person = await member(node, tenant.org, 'owner', 'Olga');
        tab = await openTab(browser(), node);
      });
      endWithSuite(() => [tab, front, node, provider]);

      it('the console signs people in, works and leads back below the path, with every link in it', async () => {
        const { at, page, context } = tab;
        const arrives = (name: string) => at.heading(name).first().waitFor();
        const place = () => new URL(page.url()).pathname;
        const fleet = `/console/apps/${tenant.app}/fleet`;
        await page.goto(`${base}/`);
        await arrives('Sign in');
        expect(place()).toBe('/updates/console');
        await at.fill({ Email: person.email, Password: PASSWORD });
        await at.press('Sign in');
        await arrives('Apps');
        expect(place()).toBe('/updates/console/apps');
        const session = async () =>
          (await context.cookies()).find(({ name }) => name === 'sluice_session');
        expect((await session())?.path).toBe('/updates/console');
        await page.locator(`a[href="/updates/console/apps/${tenant.app}"]`).click();
        await at.follow('Fleet');
        await arrives('Fleet');
        expect(place()).toBe(`/updates${fleet}`);

        // A deep link is the same page after a reload, also with a slash in an id.
        const device = `rack/7-${randomId()}`;
        const live = at.region('Live').link(new RegExp(device)).first();
        await eventually('the live feed is open, and tells a check-in', async () => {
          await tenant.at({ url: base }).check('1.0.0', { device });
          await tab.pass(2000);
          return live.isVisible();
        });
        await live.click();
        const path = `/updates/console/apps/${tenant.app}/devices/${encodeURIComponent(device)}`;
        await page.waitForURL(`**${path}`);
        await page.reload();
        await page.locator('h1').getByText(device).waitFor();

        await page.locator('summary[aria-label="Help"]').click();
        const opened = context.waitForEvent('page');
        await at.follow('Reference of the API');
        const reference = await opened;
        await reference.getByText('checkForUpdate').first().waitFor();
        await reference.close();
        const document = await (await fetch(`${base}/api/v1/openapi.json`)).json();
        expect((document as { servers: { url: string }[] }).servers[0]?.url).toBe(base);

        await page.locator('summary[aria-label="Account"]').click();
        await at.press('Sign out');
        await arrives('Sign in');
        expect(await session()).toBeUndefined();
        const sub = randomId();
        const email = `${sub}@example.com`;
        const ron = { sub, email, email_verified: true, name: 'Ron', groups: ['readers'] };
        provider.present = ron;
        await page.goto(base + fleet);
        await at.press('Sign in with Example ID');
        await arrives('Fleet');
        expect(place()).toBe(`/updates${fleet}`);
        expect(await tab.complaints()).toEqual([]);
      });

      it('devices, feeds, the command and an edge reach the service below it', async () => {
        expect(await tenant.at({ url: base }).offered('1.0.0')).toBe('1.1.0');
        const feed = await send({ url: base }, 'GET', `/feed/${tenant.app}/stable/rss.xml`);
        expect(feed.text).toContain(`<link>${base}/feed/${tenant.app}/stable`);
        const list = await runSluice(['app', 'list', '--org', tenant.org], {
          ...{ SLUICE_URL: base, ADMIN_TOKEN },
        });
        expect([list.stderr, list.stdout]).toEqual(['', expect.stringContaining(tenant.app)]);
        const edge = await startEdge(base, (await makeEdgeToken(node)).secret);
        try {
          expect(await tenant.at(edge).offered('1.0.0')).toBe('1.1.0');
        } finally {
          await edge.dispose();
        }
      });
    });
  },
);
