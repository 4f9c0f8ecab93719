// Manages destinations of notifications in the browser: adds one, whose secret is shown once; tests it; reads
// what became of the messages; and turns it off.

import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { openTab, visit } from '../support/browser.ts';
import { describeInBrowser } from '../support/describe-in-browser.ts';
import { eachOwnerTab, type OwnerTab } from '../support/owner-tab.ts';
import { member } from '../support/person.ts';
import { type Receiver, SHARED_RECEIVER, startReceiver } from '../support/receiver.ts';
import { sharedNode } from '../support/service-suite.ts';
import { publish } from '../support/tenant.ts';

const PATH = '/console/settings/notifications';

describeInBrowser('notifications at the console', (browser) => {
  const node = sharedNode();
  let opened: OwnerTab;
  let page: Page;
  let receiver: Receiver;
  eachOwnerTab(browser, node, (tab) => {
    opened = tab;
    page = tab.page;
  });
  beforeAll(async () => {
    receiver = await startReceiver(SHARED_RECEIVER);
  });
  afterAll(() => receiver?.close());

  const button = (name: string | RegExp, within: Page | Locator = page) =>
    within.getByRole('button', { name });
  const card = (name = 'Ops') => page.getByRole('region', { name, exact: true });
  const row = (name: RegExp) => card().getByRole('row', { name });

  /** Adds a destination that is told what happens to releases; returns its secret. */
  async function add(url = receiver.url): Promise<string> {
    await visit(page, PATH);
    await button('Add a destination…').click();
    const dialog = page.getByRole('dialog', { name: 'Add a destination' });
    await dialog.getByLabel('Name').fill('Ops');
    await dialog.getByLabel('Address').fill(url);
    await dialog.getByLabel('Add an event').fill('release.*');
    await page.keyboard.press('Enter');
    await button('Add destination', dialog).click();
    await page.getByRole('dialog', { name: 'Secret of Ops' }).waitFor();
    const secret = (await page.locator('.secret-text').textContent()) ?? '';
    await button('Done').click();
    return secret;
  }

  it('a destination is added: what is wrong is said at its field, and its secret is shown once', async () => {
    await visit(page, PATH);
    await page.getByText('Nobody is told what happens here').waitFor();
    await button('Add a destination…').click();
    const dialog = page.getByRole('dialog', { name: 'Add a destination' });
    await dialog.getByLabel('Name').fill('Ops');
    const address = dialog.getByLabel('Address');
    await address.fill('https://127.0.0.1/hook');
    await button('Add destination', dialog).click();
    const refusal = dialog.getByRole('alert');
    await refusal.waitFor();
    expect(await address.getAttribute('aria-invalid')).toBe('true');
    expect(await faultsOn(page)).toEqual([]);
    await address.fill(receiver.url);
    await refusal.waitFor({ state: 'detached' });
    await dialog.getByLabel('Add an event').fill('release.exploded');
    await page.keyboard.press('Enter');
    expect(await button('Add destination', dialog).isDisabled()).toBe(true);
    await button('Remove release.exploded', dialog).click();
    await button('Add destination', dialog).click();
    const secret = page.locator('.secret-text');
    await secret.waitFor();
    expect(await secret.textContent()).toMatch(/^whsec_/);
    await button('Done').click();
    await card().getByText('Everything, of all apps').waitFor();
    await page.reload();
    await card().waitFor();
    expect(await page.content()).not.toContain('whsec_');
  });

  it('a test arrives signed, and what fails is listed with its answer and sent again', async () => {
    receiver.secret = await add();
    await button('Send a test Ops').click();
    await opened.tab.soon(row(/^test delivered .*Answered 204/));
    expect(receiver.received.at(-1)).toMatchObject({ type: 'test' });
    receiver.answer = (response) => response.writeHead(503).end('the kitchen is closed');
    await publish(node, opened.tenant, '1.0.0');
    const failed = row(/^release\.published waiting .*Answered 503: the kitchen is closed/);
    await opened.tab.soon(failed);
    expect(await failed.textContent()).toMatch(/\d ms.*(?:within a minute|in \d+ minutes?)/);
    expect(await faultsOn(page)).toEqual([]);
    receiver.answer = (response) => response.writeHead(204).end();
    // The service tries by itself as well.
    await button('Send again', row(/^release\.published/)).click();
    await opened.tab.soon(row(/^release\.published delivered .*Answered 204/));
  });

  it('it is changed, gets another secret, is turned off and on, and removed', async () => {
    await add();
    await button('Change… Ops').click();
    const dialog = page.getByRole('dialog', { name: 'Change Ops' });
    await dialog.getByLabel('Name').fill('Night shift');
    await button('Save', dialog).click();
    await card('Night shift').getByText('release.*, of all apps').waitFor();
    await button(/^New secret/).click();
    await button('Make new secret').click();
    await page.locator('.secret-text').waitFor();
    await button('Done').click();
    await button(/^Turn off/).click();
    await button('Turn off', page.getByRole('dialog')).click();
    await card('Night shift').getByText('A person turned it off').waitFor();
    expect(await button(/^Send a test/).count()).toBe(0);
    await button(/^Turn on/).click();
    await card('Night shift').getByText('On', { exact: true }).waitFor();
    await button(/^Remove/).click();
    await button('Remove destination').click();
    await page.getByText('Nobody is told what happens here').waitFor();
  });

  it('who is no owner learns who decides, and asks for nothing', async () => {
    const { token } = await member(node, opened.tenant.org, 'publisher');
    const tab = await openTab(browser(), node, { token });
    const asked: string[] = [];
    tab.page.on('request', (request) => asked.push(request.url()));
    await visit(tab.page, PATH);
    await tab.page.getByText('Owners choose who is told what happens here.').waitFor();
    expect(asked.filter((url) => url.includes('/destinations'))).toEqual([]);
    await tab.close();
  });

  it('the page of a link to a recipient confirms by its button alone, and stops the mails', async () => {
    const offer = { organization: { id: 'org_1', name: 'Acme' }, to: 'ops@example.com' };
    const answers: unknown[] = [];
    await page.route('**/console/api/confirmation*', (route) => {
      const request = route.request();
      const isAnswer = request.method() === 'POST';
      if (isAnswer) answers.push(request.postDataJSON());
      const isConfirmed = answers.length === 1;
      return route.fulfill({ json: isAnswer ? {} : { ...offer, isConfirmed } });
    });
    await visit(page, '/console/confirmation/token-of-a-mail');
    await page.getByText('wants to mail its notifications to').waitFor();
    expect(answers).toEqual([]);
    expect(await faultsOn(page)).toEqual([]);
    await button('Confirm').click();
    await page.getByText('mails its notifications to').waitFor();
    await button('Stop these mails').click();
    await page.getByText('You get no mails.').waitFor();
    expect(answers).toEqual([
      { token: 'token-of-a-mail', wanted: true },
      { token: 'token-of-a-mail', wanted: false },
    ]);
    await page.unroute('**/console/api/confirmation*');
  });
});
