// Credentials of devices that speak DDI in the browser: an owner comes to them from an app, creates a
// gateway token, which is shown once, and revokes it, and adds and removes a secret of device tokens.

import { expect, it } from 'vitest';
import { describeOwnerTab } from '../support/browser.ts';

describeOwnerTab('device credentials at the console', (opened) => {
  it('a gateway token is shown once and revoked, a secret is added and removed (§34.42)', async () => {
    const { at, page, open, tenant } = opened();
    const other = await tenant.anotherApp();
    await open('/stable');
    await at.opens('Edit app…');
    await at.follow('Device credentials');
    await at.heading('Gateway tokens').waitFor();
    expect(await at.field('App').inputValue()).toBe(tenant.app);

    const dialog = await at.opens('Create gateway token', 'Create a gateway token');
    await dialog.fill('Name', 'plant 7');
    await dialog.press('Create gateway token');
    const made = at.dialog('Gateway token created');
    await made.place.waitFor();
    expect(await page.locator('.secret-text').textContent()).toMatch(/^[\w-]{32}$/);
    await made.send('Done');
    await at
      .table('Gateway tokens')
      .row(/plant 7.*never.*Active/)
      .waitFor();
    const asked = await at.opens('Revoke plant 7', 'Revoke gateway token');
    await asked.send('Revoke gateway token');
    await at
      .table('Gateway tokens')
      .row(/plant 7.*Revoked/)
      .waitFor();

    const region = at.region('Device tokens');
    for (const _ of [1, 2]) {
      const adding = await at.opens('Add secret', 'Add a secret');
      await adding.send('Add secret');
    }
    await at.button('Add secret').waitFor({ state: 'detached' });
    await region
      .table('Secrets of device tokens')
      .row(/New tokens/)
      .waitFor();
    await region
      .table('Secrets of device tokens')
      .row(/Older tokens/)
      .getByRole('button')
      .click();
    await at.dialog('Remove a secret').send('Remove secret');
    await region
      .table('Secrets of device tokens')
      .row(/Older tokens/)
      .waitFor({ state: 'detached' });

    await at.choose('App', other.app);
    await region.reads('No secret yet');
  });
});
