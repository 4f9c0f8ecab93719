// Tests mails of a service with a server of mails: recipients of notifications who are no members, what is
// mailed before and after they confirm, who may ask them, and how they stop it (docs/contract.md 30.15); and
// what people are told of their account.

import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Authenticator } from '../support/authenticator.ts';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { member, PASSWORD, type Person, tokenIn } from '../support/person.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { admin, createTenant, type Json, randomId, send, type Tenant } from '../support/tenant.ts';

const ORIGIN = 'https://sluice.example.com';
const LINK = /https:\/\/sluice\.example\.com\/console\/confirmation\/([\w-]{43})/;

describeOnBackends('recipients of mail', (backend) => {
  const mails: string[] = [];
  let server: SMTPServer;
  let node: ServingNode;
  let tenant: Tenant;
  let owner: Person;
  let address: string;

  beforeAll(async () => {
    server = new SMTPServer({
      ...{ disabledCommands: ['STARTTLS'], authOptional: true },
      onData: (stream, _, done) => {
        let text = '';
        stream.on('data', (part: Buffer) => {
          text += part.toString();
        });
        stream.on('end', () => {
          mails.push(text.replaceAll('=\r\n', '').replaceAll('=3D', '='));
          done();
        });
      },
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const bound = server.server.address();
    const port = typeof bound === 'object' ? bound?.port : '';
    node = await backend.start({
      ...{ PUBLIC_URL: ORIGIN, SMTP_URL: `smtp://127.0.0.1:${port}` },
      ...{ MAIL_FROM: 'updates@example.com', SECRET_KEY: 'a key of the tests' },
    });
  });
  afterAll(async () => {
    await node?.dispose();
    await new Promise<void>((done) => server.close(done));
  });
  beforeEach(async () => {
    tenant = await createTenant(node);
    owner = await person('owner');
    address = `ops-${randomId()}@example.com`;
  });

  /** A member who uses the console at its public address. */
  async function person(role: 'owner' | 'publisher', { org } = tenant): Promise<Person> {
    const joined = await member(node, org, role);
    joined.origin = ORIGIN;
    return joined;
  }

  async function add(to = address): Promise<Json> {
    const body = { kind: 'mail', name: 'ops', to, events: ['release.*'] };
    const answer = await owner.call('POST', `destinations?org=${tenant.org}`, body);
    expect(answer.status, answer.text).toBe(201);
    return answer.body as Json;
  }

  const mailsTo = (to: string) => mails.filter((mail) => mail.includes(`To: ${to}`));

  /** Returns the token of the newest link to an address, once there are so many mails to it. */
  async function tokenOf(to: string, count = 1): Promise<string> {
    await eventually('the mail is there', async () => mailsTo(to).length >= count);
    return LINK.exec(mailsTo(to).at(-1) ?? '')?.[1] ?? '';
  }

  const open = (token: string) => send(node, 'GET', `/console/api/confirmation?token=${token}`);
  const answer = (token: string, wanted: boolean) =>
    send(node, 'POST', '/console/api/confirmation', { body: { token, wanted } });

  async function stateOf(id: unknown): Promise<unknown> {
    return (await owner.call('GET', `destinations/${String(id)}`)).body?.recipient;
  }

  it('get a link, and nothing else until they confirm; to open it confirms nothing', async () => {
    const destination = await add();
    expect(destination).toMatchObject({ to: address, recipient: 'waiting', enabled: true });
    const token = await tokenOf(address);
    await tenant.publish('1.0.0');
    const offer = { organization: expect.objectContaining({ id: tenant.org }), to: address };
    expect((await open(token)).body).toMatchObject({ ...offer, isConfirmed: false });
    expect(await stateOf(destination.id)).toBe('waiting');
    expect((await answer(token, true)).body).toEqual({});
    expect(await stateOf(destination.id)).toBe('confirmed');
    await tenant.publish('1.1.0');
    await eventually('the release is told', async () => mailsTo(address).length >= 2);
    const told = mailsTo(address).slice(1);
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('1.1.0');
    expect(told[0]).toContain('The link with which you did so stops them.');
    const entries = await tenant.audit('action=destination');
    expect(entries.map(({ action, actor }) => [action, actor])).toEqual([
      ['destination.confirm', 'unknown'],
      ['destination.create', `account:${owner.email}`],
    ]);
    expect(JSON.stringify(entries)).not.toContain(token);
  });

  it('stop the mails with the same link, and decline without having confirmed; the link is over then', async () => {
    const { id } = await add();
    const token = await tokenOf(address);
    await answer(token, true);
    expect((await open(token)).body).toMatchObject({ isConfirmed: true });
    expect((await answer(token, false)).status).toBe(200);
    expect(await stateOf(id)).toBe('declined');
    expectError(await open(token), 404, 'Unknown or expired link');
    expectError(await answer(token, true), 404, 'Unknown or expired link');
    const test = await owner.call('POST', `destinations/${String(id)}/test`);
    expectError(test, 409, 'Its recipient does not want these mails');
    const other = `night-${randomId()}@example.com`;
    const never = await add(other);
    await answer(await tokenOf(other), false);
    expect(await stateOf(never.id)).toBe('declined');
  });

  it('get another link when an owner sends it, which ends the one before; few in an hour', async () => {
    const { id } = await add();
    const first = await tokenOf(address);
    const path = `destinations/${String(id)}/link`;
    const again = await owner.call('POST', path);
    expect([again.status, again.body]).toMatchObject([200, { id, recipient: 'waiting' }]);
    const second = await tokenOf(address, 2);
    expectError(await answer(first, true), 404, 'Unknown or expired link');
    expect((await answer(second, true)).status).toBe(200);
    expectError(await owner.call('POST', path), 409, 'This recipient needs no link');
    await answer(second, false);
    expect((await owner.call('POST', path)).status).toBe(200);
    expectError(await owner.call('POST', path), 429, 'Rate limit exceeded');
    const other = await createTenant(node);
    const stranger = await person('owner', other);
    const body = { kind: 'mail', name: 'ops', to: address };
    const flood = await stranger.call('POST', `destinations?org=${other.org}`, body);
    expectError(flood, 429, 'Rate limit exceeded');
  });

  it('a link belongs to its address: another recipient gets one of its own', async () => {
    const { id } = await add();
    const first = await tokenOf(address);
    const next = `night-${randomId()}@example.com`;
    const changed = await owner.call('PATCH', `destinations/${String(id)}`, { to: next });
    expect(changed.body).toMatchObject({ to: next, recipient: 'waiting' });
    expectError(await answer(first, true), 404, 'Unknown or expired link');
    expect((await answer(await tokenOf(next), true)).status).toBe(200);
    const back = await owner.call('PATCH', `destinations/${String(id)}`, { to: address });
    expect(back.body).toMatchObject({ to: address, recipient: 'waiting' });
  });

  it('need no link as members, and confirm nothing in their browser by another site', async () => {
    const destination = await add(owner.email);
    expect(destination).toMatchObject({ recipient: 'member' });
    const path = `destinations/${String(destination.id)}/link`;
    expectError(await owner.call('POST', path), 409, 'This recipient needs no link');
    expect(mailsTo(owner.email).join('')).not.toMatch(LINK);
    const { id } = await add();
    const foreign = await send(node, 'POST', '/console/api/confirmation', {
      body: { token: await tokenOf(address), wanted: true },
      headers: { origin: 'https://evil.example.com' },
    });
    expect(foreign.status).toBe(403);
    expect(await stateOf(id)).toBe('waiting');
  });

  it('are added by the command, which lists what it waits for, and sends the link again', async () => {
    const env = { SLUICE_URL: node.url, ADMIN_TOKEN };
    const options = ['--org', tenant.org, '--kind', 'mail', '--to', address, '--name', 'ops'];
    const added = await runSluiceHere(['notify', 'add', ...options, '--json'], env);
    const { id } = JSON.parse(added.stdout) as { id: string };
    const listed = await runSluiceHere(['notify', 'list', '--org', tenant.org], env);
    expect(listed.stdout).toContain('waits for its recipient');
    const sent = await runSluiceHere(['notify', 'send-link', id], env);
    expect([sent.code, sent.stderr]).toEqual([0, '']);
    await tokenOf(address, 2);
  });

  it('are people with an account, told what becomes of it, and nothing that was refused', async () => {
    const { email } = owner;
    const asked = await owner.call('POST', 'account/passkeys/options', {});
    const options = asked.body?.options as { readonly challenge: string };
    const added = { name: 'Key', credential: new Authenticator(ORIGIN).make(options) };
    expect((await owner.call('POST', 'account/passkeys', added)).status).toBe(201);
    expect((await owner.call('POST', 'account/passkeys', added)).status).toBe(409);
    const made = await admin(node, 'POST', 'accounts/recover', { email });
    const use = { token: tokenIn(made.body?.url), password: PASSWORD };
    expect((await owner.elsewhere().call('POST', 'recovery', use)).status).toBe(200);
    expect((await owner.elsewhere().call('POST', 'recovery', use)).status).toBe(404);
    const reset = await admin(node, 'POST', 'accounts/reset-password', { email });
    const subjects = () => mailsTo(email).map((mail) => /^Subject: (.*)\r$/m.exec(mail)?.[1]);
    await eventually('six mails are there', () => subjects().length >= 6);
    expect(subjects().toSorted()).toEqual([
      'A passkey was added to your account',
      ...['Recovery of your account', 'Recovery of your account'],
      'Set a new password',
      'Sign-in from a new browser',
      'You are invited to Sluice',
    ]);
    expect(mailsTo(email).join('')).toContain(String(reset.body?.url));
  });
});
