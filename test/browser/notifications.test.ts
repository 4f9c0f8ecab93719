// Destinations of notifications in the browser: one is added, whose secret is shown once, tested, changed,
// turned off and removed; and what became of the messages is read.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { describeOwnerTab, visit } from '../support/browser.ts';
import { type Receiver, SHARED_RECEIVER, startReceiver } from '../support/receiver.ts';

const PATH = '/console/settings/notifications';
const NOBODY = 'Nobody is told what happens here';

describeOwnerTab('notifications at the console', (opened) => {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver(SHARED_RECEIVER);
  });
  afterAll(() => receiver?.close());

  it('a destination is added with what is wrong at its field, tested, changed, turned off and on, and removed', async () => {
    const { at, page, tab, tenant } = opened();
    await visit(page, PATH);
    await at.reads(NOBODY);
    const dialog = await at.opens('Add a destination…', 'Add a destination');
    await dialog.fill({ Name: 'Ops', Address: 'https://127.0.0.1/hook' });
    await dialog.press('Add destination');
    const refusal = dialog.place.getByRole('alert');
    await refusal.waitFor();
    expect(await dialog.field('Address').getAttribute('aria-invalid')).toBe('true');
    await dialog.fill('Address', receiver.url);
    await refusal.waitFor({ state: 'detached' });
    await dialog.enter('Add an event', 'release.exploded');
    expect(await dialog.button('Add destination').isDisabled()).toBe(true);
    await dialog.press('Remove release.exploded', 'Add destination');
    await at.dialog('Secret of Ops').place.waitFor();
    const secret = page.locator('.secret-text');
    receiver.secret = (await secret.textContent()) ?? '';
    expect(receiver.secret).toMatch(/^whsec_/);
    await at.press('Done');
    await at.region('Ops').reads('Everything, of all apps');
    await page.reload();
    await at.region('Ops').place.waitFor();
    expect(await page.content()).not.toContain('whsec_');

    // A test arrives signed, and what fails is listed with its answer and sent again.
    await at.press('Change… Ops');
    await at.dialog('Change Ops').enter('Add an event', 'release.*');
    await at.dialog('Change Ops').press('Save');
    await at.region('Ops').reads('release.*, of all apps');
    const row = (name: RegExp) => at.region('Ops').row(name);
    await at.press('Send a test Ops');
    await tab.soon(row(/^test delivered .*Answered 204/));
    expect(receiver.received.at(-1)).toMatchObject({ type: 'test' });
    receiver.answer = (response) => response.writeHead(503).end('the kitchen is closed');
    await tenant.publish('1.0.0');
    const failed = row(/^release\.published waiting .*Answered 503: the kitchen is closed/);
    await tab.soon(failed);
    expect(await failed.textContent()).toMatch(/\d ms.*(?:within a minute|in \d+ minutes?)/);
    receiver.answer = (response) => response.writeHead(204).end();
    // The service tries by itself as well.
    await row(/^release\.published/)
      .getByRole('button', { name: 'Send again' })
      .click();
    await tab.soon(row(/^release\.published delivered .*Answered 204/));

    await at.press('Change… Ops');
    await at.dialog('Change Ops').fill('Name', 'Night shift');
    await at.dialog('Change Ops').press('Save');
    const card = at.region('Night shift');
    await card.reads('release.*, of all apps');
    await at.press(/^New secret/, 'Make new secret');
    await secret.waitFor();
    await at.press('Done', /^Turn off/);
    await at.dialog().press('Turn off');
    await card.reads('A person turned it off');
    expect(await at.button(/^Send a test/).count()).toBe(0);
    await at.press(/^Turn on/);
    await card.place.getByText('On', { exact: true }).waitFor();
    await at.press(/^Remove/, 'Remove destination');
    await at.reads(NOBODY);
  });

  it('a recipient confirms by a button alone', async () => {
    const { at, page } = opened();
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
    await at.reads('wants to mail its notifications to');
    expect(answers).toEqual([]);
    expect(await faultsOn(page)).toEqual([]);
    await at.press('Confirm');
    await at.reads('mails its notifications to');
    await at.press('Stop these mails');
    await at.reads('You get no mails.');
    expect(answers).toEqual([
      { token: 'token-of-a-mail', wanted: true },
      { token: 'token-of-a-mail', wanted: false },
    ]);
    await page.unroute('**/console/api/confirmation*');
  });
});
