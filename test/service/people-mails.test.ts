// Tests that people are told by mail what happens to their account, of a service with a server of mails.

import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Authenticator } from '../support/authenticator.ts';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import type { ServingNode } from '../support/node.ts';
import { member, PASSWORD, tokenIn } from '../support/person.ts';
import { admin, createTenant } from '../support/tenant.ts';

const ORIGIN = 'https://sluice.example.com';

describeOnBackends('people with an account', (backend) => {
  const mails: string[] = [];
  let server: SMTPServer;
  let node: ServingNode;
  beforeAll(async () => {
    server = new SMTPServer({
      ...{ disabledCommands: ['STARTTLS'], authOptional: true },
      onData: (stream, _, done) => {
        let text = '';
        stream.on('data', (part: Buffer) => {
          text += part.toString();
        });
        stream.on('end', () => {
          mails.push(text);
          done();
        });
      },
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const address = server.server.address();
    const port = typeof address === 'object' ? address?.port : '';
    node = await backend.start({
      ...{ PUBLIC_URL: ORIGIN, SMTP_URL: `smtp://127.0.0.1:${port}` },
      ...{ MAIL_FROM: 'updates@example.com', SECRET_KEY: 'a key of the tests' },
    });
  });
  afterAll(async () => {
    await node?.dispose();
    await new Promise<void>((done) => server.close(done));
  });

  it('are told by mail what becomes of it, and of nothing that was refused', async () => {
    const { org } = await createTenant(node);
    const person = await member(node, org, 'owner');
    person.origin = ORIGIN;
    const asked = await person.call('POST', 'account/passkeys/options', {});
    const options = asked.body?.options as { readonly challenge: string };
    const added = { name: 'Key', credential: new Authenticator(ORIGIN).make(options) };
    expect((await person.call('POST', 'account/passkeys', added)).status).toBe(201);
    expect((await person.call('POST', 'account/passkeys', added)).status).toBe(409);
    const { email } = person;
    const made = await admin(node, 'POST', 'accounts/recover', { email });
    const use = { token: tokenIn(made.body?.url), password: PASSWORD };
    expect((await person.elsewhere().call('POST', 'recovery', use)).status).toBe(200);
    expect((await person.elsewhere().call('POST', 'recovery', use)).status).toBe(404);
    const reset = await admin(node, 'POST', 'accounts/reset-password', { email });
    const subjects = () =>
      mails
        .filter((mail) => mail.includes(`To: ${email}`))
        .map((mail) => /^Subject: (.*)\r$/m.exec(mail)?.[1])
        .toSorted();
    await eventually('six mails are there', async () => subjects().length >= 6);
    expect(subjects()).toEqual([
      'A passkey was added to your account',
      ...['Recovery of your account', 'Recovery of your account'],
      'Set a new password',
      'Sign-in from a new browser',
      'You are invited to Sluice',
    ]);
    expect(mails.join('').replaceAll('=\r\n', '')).toContain(String(reset.body?.url));
  });
});
