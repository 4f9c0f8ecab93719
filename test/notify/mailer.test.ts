// Tests mails with a real SMTP server.

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { examineMailServer, Mailer } from '../../src/notify/mailer.ts';

type Received = { readonly from: string; readonly to: readonly string[]; readonly text: string };

const MAIL = {
  ...{ id: 'evt_1', to: 'ann@example.com', subject: 'desktop beta 2.5.0: größer' },
  text: 'Hello,\n\nhttps://updates.example.com/console\n',
};
const FROM = 'Updates <updates@example.com>';
let received: Received[];
let server: SMTPServer;
let url: string;

beforeEach(async () => {
  received = [];
  server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    onAuth: ({ username, password }, _, done) => {
      if (username === 'user' && password === 'p@ss') done(null, { user: username });
      else done(new Error('wrong password'));
    },
    onRcptTo: ({ address }, _, done) => {
      done(address.startsWith('nobody@') ? new Error('no such mailbox') : null);
    },
    onData: (stream, { envelope }, done) => {
      let text = '';
      stream.on('data', (part: Buffer) => {
        text += part.toString();
      });
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        received.push({ from, to: envelope.rcptTo.map(({ address }) => address), text });
        done();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.server.address();
  url = `smtp://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});
afterEach(() => new Promise<void>((done) => server.close(done)));

const mailer = (smtpUrl = url) => new Mailer({ smtpUrl, from: FROM });

it('arrive with sender, recipient, subject, text and one id (Mail)', async () => {
  expect(await mailer().send(MAIL)).toBe(undefined);
  const [mail] = received;
  expect(mail).toMatchObject({ from: 'updates@example.com', to: ['ann@example.com'] });
  const [head, body] = (mail?.text ?? '').split('\r\n\r\n', 1).concat(mail?.text ?? '');
  expect(head).toContain('From: Updates <updates@example.com>');
  expect(head).toContain('To: ann@example.com');
  expect(head).toMatch(/^Subject: =\?UTF-8\?/m);
  expect(head).toContain('Message-ID: <evt_1@example.com>');
  expect(head).toContain('Auto-Submitted: auto-generated');
  expect(body).toContain('https://updates.example.com/console');
});

it('are sent by the user of the URL', async () => {
  const withUser = (password: string) => url.replace('//', `//user:${password}@`);
  expect(await mailer(withUser('p%40ss')).send(MAIL)).toBe(undefined);
  const refused = await mailer(withUser('s3cret')).send(MAIL);
  expect(refused).toContain('wrong password');
  expect(refused).not.toContain('s3cret');
});

it.each([
  { subject: 'a\r\nBcc: eve@example.com' },
  { subject: 'a\nTo: eve@example.com\n\nother text' },
  { to: 'ann@example.com\r\nBcc: eve@example.com' },
  { to: 'ann@example.com>\r\nRCPT TO:<eve@example.com' },
  { to: 'ann@example.com, eve@example.com' },
  { to: 'Ann <eve@example.com>' },
])('have no recipient or header beside their own: %j', async (parts) => {
  await mailer().send({ ...MAIL, ...parts });
  for (const { to, text } of received) {
    expect(to).toEqual(['ann@example.com']);
    const head = text.slice(0, text.indexOf('\r\n\r\n'));
    expect(head).not.toMatch(/^(?:bcc|to): .*eve/im);
    expect(text).toContain('https://updates.example.com/console');
  }
  expect(received).toHaveLength('to' in parts ? 0 : 1);
});

it('say in words why they could not be sent', async () => {
  expect(await mailer().send({ ...MAIL, to: 'nobody@example.com' })).toContain('no such mailbox');
  expect(await new Mailer(undefined).send(MAIL)).toBe('SMTP_URL is not set');
  const closing = createServer((socket) => socket.destroy());
  await new Promise<void>((done) => closing.listen(0, '127.0.0.1', done));
  const address = closing.address();
  const port = typeof address === 'object' ? address?.port : '';
  expect(await mailer(`smtp://127.0.0.1:${port}`).send(MAIL)).toMatch(/clos/i);
  await new Promise((done) => closing.close(done));
  expect(await mailer(`smtp://127.0.0.1:${port}`).send(MAIL)).toContain('ECONNREFUSED');
});

it('are not sent by an examination of the server, which signs in and says in words what fails', async () => {
  const withUser = (password: string) => url.replace('//', `//user:${password}@`);
  expect([await examineMailServer(url), await examineMailServer(withUser('p%40ss'))]).toEqual([
    undefined,
    undefined,
  ]);
  const refused = await examineMailServer(withUser('s3cret'));
  expect(refused).toContain('wrong password');
  expect(refused).not.toContain('s3cret');
  expect(await examineMailServer('smtp://127.0.0.1:1')).toContain('ECONNREFUSED');
  expect(received).toEqual([]);
});

it('is known not to go out of a server that hangs', async () => {
  const sockets: Socket[] = [];
  const hanging = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((done) => hanging.listen(0, '127.0.0.1', done));
  const { port } = hanging.address() as AddressInfo;
  expect(await examineMailServer(`smtp://127.0.0.1:${port}`)).toBe('it does not answer in time');
  for (const socket of sockets) socket.destroy();
  await new Promise((done) => hanging.close(done));
});

it('go to the server of changed settings', async () => {
  const changed = new Mailer({ smtpUrl: 'smtp://127.0.0.1:1', from: FROM });
  changed.use({ smtpUrl: url, from: FROM });
  expect(await changed.send(MAIL)).toBe(undefined);
});
