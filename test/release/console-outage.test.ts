// Tests the console while the service is away: it keeps its content and says so, and goes on when the service
// is back.

import { beforeAll, expect, it } from 'vitest';
import { describeInBrowser, openTab, type Tab, visit } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { type Furnished, furnish } from '../support/furnish.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { endWithSuite } from '../support/own.ts';

describeInBrowser('an outage at the console', (browser) => {
  let node: ServingNode;
  let furnished: Furnished;
  let tab: Tab;

  beforeAll(async () => {
    node = await startNode({ PORT: String(await freePort()) });
    furnished = await furnish(node);
    tab = await openTab(browser(), node, { token: furnished.owner.token });
  });
  endWithSuite(() => [tab, node]);

  it('leaves what is shown in its place, and ends by itself', async () => {
    const { page } = tab;
    await visit(page, `/console/apps/${furnished.tenant.app}/fleet`);
    const live = page.getByRole('region', { name: 'Live' });
    await live.getByText('a second').waitFor();
    const cards = page.getByRole('heading', { level: 2 });
    const shown = await cards.allTextContents();
    expect(shown.length).toBeGreaterThan(1);
    await node.stop();
    await page.getByRole('alert').first().waitFor();
    await live.getByText('Reconnecting').waitFor();
    expect(await cards.allTextContents()).toEqual(shown);
    node = await node.restart();
    await live.getByText('a second').waitFor();
    await page.getByRole('alert').first().waitFor({ state: 'detached' });
    await furnished.tenant.at(node).check('1.0.0', { device: 'after-the-outage' });
    await live.getByRole('link', { name: 'after-the-outage' }).waitFor();
    expect(await tab.complaints()).toEqual([]);
  });
});
