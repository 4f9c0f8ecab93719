// Tests mails with a real SMTP server.

import { createServer, type Socket } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { examineMailServer, Mailer } from '../../src/notify/mailer.ts';
import { eventually } from '../support/eventually.ts';
import { listening } from '../support/loopback-server.ts';

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
  const { port } = await listening(server.server);
  url = `smtp://127.0.0.1:${port}`;
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
  // They go to the server of changed settings.
  const changed = new Mailer({ smtpUrl: 'smtp://127.0.0.1:1', from: FROM });
  changed.use({ smtpUrl: url, from: FROM });
  expect(await changed.send(MAIL)).toBe(undefined);
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
  const { port, close } = await listening(createServer((socket) => void socket.destroy()));
  expect(await mailer(`smtp://127.0.0.1:${port}`).send(MAIL)).toMatch(/clos/i);
  await close();
  expect(await mailer(`smtp://127.0.0.1:${port}`).send(MAIL)).toContain('ECONNREFUSED');
});

it('are not sent by an examination of the server, which signs in and says in words what fails', async () => {
  const withUser = (password: string) => url.replace('//', `//user:${password}@`);
  for (const right of [url, withUser('p%40ss')]) {
    expect(await examineMailServer(right)).toBe(undefined);
  }
  const refused = await examineMailServer(withUser('s3cret'));
  expect(refused).toContain('wrong password');
  expect(refused).not.toContain('s3cret');
  expect(await examineMailServer('smtp://127.0.0.1:1')).toContain('ECONNREFUSED');
  expect(received).toEqual([]);
});

/** What a server does at a command of its client, after it did what it should; '' is the beginning. */
type Hang = {
  readonly at: string;
  readonly begin: (socket: Socket) => void;
  /** Scheme of its address; smtp by default. */
  readonly scheme?: 'smtps';
};

const bytes = (socket: Socket) => repeat(socket, '2');
const silence = () => undefined;
const halfOfTls = (socket: Socket) => {
  socket.once('data', () => socket.write(Buffer.from('160303007a0200007603030102', 'hex')));
};
const startTls = (socket: Socket) => void socket.write('220 go ahead\r\n');
/** Servers that never come to an end, for what asks them and for mails. */
const HANGS: Readonly<Record<string, Hang>> = {
  'no greeting': { at: '', begin: silence },
  'a greeting byte by byte': { at: '', begin: bytes },
  'an answer byte by byte': { at: 'EHLO', begin: bytes },
  'an answer without end': { at: 'EHLO', begin: (socket) => repeat(socket, '250-x\r\n') },
  'half of TLS at once': { at: '', scheme: 'smtps', begin: halfOfTls },
  'no TLS after STARTTLS': { at: 'STARTTLS', begin: startTls },
  'a word on the password byte by byte': { at: 'AUTH', begin: bytes },
};
const HANGS_IN_MAILS: Readonly<Record<string, Hang>> = {
  ...HANGS,
  'a word on the recipient byte by byte': { at: 'RCPT', begin: bytes },
  'silence after the text': { at: '.', begin: silence },
  'a receipt byte by byte': { at: '.', begin: bytes },
};

/** Writes again and again, until the connection ends. */
function repeat(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 20);
  socket.on('close', () => clearInterval(timer));
}

/** Returns what a server answers to a command. */
function rightAnswer(command: string, extensions: string): string {
  if (command === '') return '220 ready\r\n';
  if (command === 'EHLO') return `250-ready\r\n250 ${extensions}\r\n`;
  return command === 'DATA' ? '354 go ahead\r\n' : '250 fine\r\n';
}

/** Starts a server that hangs, and says whether it does and how many connections are open. */
async function startHanging({ at, begin }: Hang) {
  let hangs = false;
  let isText = false;
  const extensions = at === 'STARTTLS' ? 'STARTTLS' : 'AUTH PLAIN';
  const hanging = createServer((socket) => {
    const hear = (command: string) => {
      if (command !== at) return void socket.write(rightAnswer(command, extensions));
      hangs = true;
      socket.removeAllListeners('data').resume();
      begin(socket);
    };
    socket.on('data', (part) => {
      const [line] = part.toString('latin1').split('\r\n').slice(-2);
      const [command = ''] = (line ?? '').split(' ', 1);
      if (isText ? command === '.' : command !== '') hear(command);
      isText ||= command === 'DATA';
    });
    hear('');
  });
  return { ...(await listening(hanging)), hangs: () => hangs };
}

/** Does what asks a server that hangs, lets its time pass, and returns what came of it. */
async function askHanging<Answer>(
  hang: Hang,
  msMax: number,
  ask: (url: string) => Promise<Answer>,
): Promise<Answer> {
  const hanging = await startHanging(hang);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const answer = ask(`${hang.scheme ?? 'smtp'}://user:pass@127.0.0.1:${hanging.port}`);
    while (!hanging.hangs()) await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(msMax);
    // nodemailer gives a server five seconds to end its half of a connection.
    await vi.advanceTimersByTimeAsync(5000);
    vi.useRealTimers();
    await eventually('no connection is open', () => hanging.open() === 0);
    return await answer;
  } finally {
    vi.useRealTimers();
    await hanging.close();
  }
}

it.each(Object.entries(HANGS_IN_MAILS))(
  'are given up where a server has %s, as is the question whether they go out, and leave no connection',
  async (name, hang) => {
    const send = (smtpUrl: string) => mailer(smtpUrl).send(MAIL);
    expect(await askHanging(hang, 10_000, send)).toEqual(expect.any(String));
    if (!(name in HANGS)) return;
    expect(await askHanging(hang, 5000, examineMailServer)).toBe('it does not answer in time');
  },
);
