// Approvals in the browser: each call that waits says so and leads to its request, the navigation counts
// what waits, and another member decides.

import { expect, it } from 'vitest';
import { faultsOn } from '../support/accessibility-faults.ts';
import { describeOwnerTab, type OwnerTab, openTab, type Tab, visit } from '../support/browser.ts';
import { member } from '../support/person.ts';

const WAITS = 'Nothing is done yet: it waits for a second person.';
const ARTIFACTS = [{ platform: 'linux', arch: 'x86_64', url: 'https://dl.example.com/a.AppImage' }];
const RING = { matchLabels: { ring: ['early'] } };

type Asking = (at: OwnerTab['at']) => Promise<unknown>;

const review: Asking = (at) => at.dialog().toStep('Review');
const named: Asking = (at) => at.dialog().fill('Version', '9.0.0');
const more: Asking = (at) => at.chooseMore('Promote…');
const unasked: Asking = (at) => at.choose('Approvals', 'none');

/** Calls that wait: what the request is called, the page where it is asked for, and what is pressed there. */
const ASKED: readonly (readonly [string, string, readonly (string | Asking)[]])[] = [
  ['Publish', '/stable', ['Publish release', named, review, 'Publish']],
  ['Promote', '/beta/2.0.0', [more, review, 'Promote to stable']],
  ['Change the serving of', '/stable/1.0.0', ['50 %', 'Raise to 50 %…', 'Raise to 50 %']],
  [
    'Change the serving of',
    '/stable/1.1.0',
    ['Edit targeting', 'Remove the label ring', 'Save targeting'],
  ],
  ['Change the serving of', '/stable/1.2.0', ['Resume…', 'Resume 1.2.0']],
  ['Plan the rollout of', '/stable/1.0.0', ['Plan the rollout…', 'Start plan']],
  ['Change the settings of', '/stable', ['Channel settings', unasked, 'Save']],
  ['End the stop of', '/stable', ['Stop…', 'Stop all of it', 'Resume…', 'Resume']],
];

describeOwnerTab('approvals at the console', (opened, node, browser) => {
  /** Releases in every state from which a call may widen, on a channel that then asks for approvals. */
  async function furnish(): Promise<void> {
    const { tenant } = opened();
    await tenant.publish('1.0.0', { rollout: 10, artifacts: ARTIFACTS });
    await tenant.publish('1.1.0', { targets: RING, artifacts: ARTIFACTS });
    await tenant.publish('1.2.0', { artifacts: ARTIFACTS });
    await tenant.control('1.2.0', { status: 'paused' });
    await tenant.publish('2.0.0', { channel: 'beta', artifacts: ARTIFACTS });
    await tenant.setChannel({ approvals: 'one' });
  }

  const countOn = ({ page, soon }: Pick<Tab, 'page' | 'soon'>, count: number) => {
    const name = count === 0 ? 'Approvals' : `Approvals ${count} waiting`;
    return soon(page.getByRole('link', { name }));
  };

  it('each call that may widen waits for a second person, says so, and leads to its request', async () => {
    await furnish();
    const { at, page, tab, open } = opened();
    for (const [index, [deed, path, steps]] of ASKED.entries()) {
      await open(path);
      for (const step of steps) await (typeof step === 'string' ? at.press(step) : step(at));
      await at.dialog().reads(WAITS);
      // Sent again, it would be asked for twice; and nothing is left to discard.
      const buttons = at.dialog().place.getByRole('button');
      expect(await buttons.allTextContents(), deed).toEqual(['×', 'Done']);
      if (deed === 'Publish') expect(await faultsOn(page)).toEqual([]);
      await at.dialog().follow('See the request');
      const request = page.getByRole('heading', { level: 2, name: new RegExp(`^${deed} `) });
      await request.waitFor();
      await at.reads('You asked for it: another publisher or owner decides.');
      await countOn(tab, index + 1);
    }
  });

  it('another member declines one with a reason, approves another, and learns why one fails', async () => {
    await furnish();
    const { tenant } = opened();
    await tenant.control('1.0.0', { rollout: 50 });
    for (const version of ['9.0.0', '9.1.0']) {
      expect((await tenant.publish(version, { artifacts: ARTIFACTS })).status).toBe(202);
    }
    await tenant.control('1.0.0', { status: 'paused' });
    const { token } = await member(node, tenant.org, 'publisher', 'Paula');
    const tab = await openTab(browser(), node, { token });
    const { at } = tab;
    await visit(tab.page, '/console/audit');
    await countOn(tab, 3);
    const waiting = tab.page
      .getByRole('navigation', { name: 'Console' })
      .getByRole('link', { name: /^Approvals/ });
    await waiting.click();
    const card = (version: string) => at.region(new RegExp(`^Publish .* stable ${version}$`));
    await card('9.0.0').reads('It expires in 7 days');
    await card('9.0.0').place.getByText('The call').click();
    expect(await faultsOn(tab.page)).toEqual([]);
    await card('9.0.0').fill('Reason', 'not on a Friday');
    await card('9.0.0').press('Decline');
    await card('9.0.0').reads(': not on a Friday');
    await waiting.click();
    await card('9.1.0').press('Approve');
    await card('9.1.0').place.getByText('approved', { exact: true }).waitFor();
    await countOn(tab, 1);
    const versions = await tenant.versions();
    expect([versions.includes('9.0.0'), versions.includes('9.1.0')]).toEqual([false, true]);
    await waiting.click();
    const raise = at.region(/^Change the serving of .* stable 1\.0\.0$/);
    await raise.press('Approve');
    await raise.place.getByText('failed', { exact: true }).waitFor();
    await raise.reads(/^Decided by .*: stable 1\.0\.0 has changed since this was asked for/);
    await countOn(tab, 0);
    expect(await tab.complaints()).toEqual([]);
    await tab.close();
  });
});
