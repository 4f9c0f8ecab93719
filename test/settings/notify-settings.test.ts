// Tests the settings of notifications.

import { expect, it } from 'vitest';
import { readConfig } from '../../src/settings/settings.ts';

const MAIL = { SMTP_URL: 'smtp://127.0.0.1:25', MAIL_FROM: 'updates@example.com' };

it('are networks, a server of mails and a sender (Environment)', () => {
  const environment = {
    NOTIFY_PRIVATE: '10.0.0.0/8, fd00::/8,127.0.0.1/32',
    SMTP_URL: 'smtps://user:p%40ss@mail.example.com:465',
    MAIL_FROM: 'Updates <updates@example.com>',
  };
  expect(readConfig(environment).notify).toEqual({
    privateNetworks: ['10.0.0.0/8', 'fd00::/8', '127.0.0.1/32'],
    mail: { smtpUrl: environment.SMTP_URL, from: environment.MAIL_FROM },
  });
});

it('need no server of mails; a sender alone sends nothing', () => {
  expect(readConfig({ MAIL_FROM: MAIL.MAIL_FROM }).notify.mail).toBe(undefined);
});

const NETWORKS = 'NOTIFY_PRIVATE: must be networks such as 10.0.0.0/8,fd00::/8';
const SERVER = 'SMTP_URL: must be an smtp:// or smtps:// address';
const SENDER = 'MAIL_FROM: must be an email address, or a name and an address';
const SENDERS = ['updates', 'a@b\r\nBcc: c@d', 'a@b,c@d', 'Name <a@b>, c@d', 'N <a@b> <c@d>'];

it.each<[NodeJS.ProcessEnv, string]>([
  [{ NOTIFY_PRIVATE: '1' }, NETWORKS],
  [{ NOTIFY_PRIVATE: '10.0.0.0' }, NETWORKS],
  [{ NOTIFY_PRIVATE: '10.0.0.0/33' }, NETWORKS],
  [{ NOTIFY_PRIVATE: '10.0.0.0/8/8' }, NETWORKS],
  [{ NOTIFY_PRIVATE: 'fe80::%e/10' }, NETWORKS],
  [{ ...MAIL, SMTP_URL: 'mail.example.com:s3cret' }, SERVER],
  [{ ...MAIL, SMTP_URL: 'http://mail.example.com' }, SERVER],
  [{ ...MAIL, SMTP_URL: 'smtp://' }, SERVER],
  [{ SMTP_URL: MAIL.SMTP_URL }, 'MAIL_FROM: must be set where SMTP_URL is'],
  ...SENDERS.map((from): [NodeJS.ProcessEnv, string] => [{ ...MAIL, MAIL_FROM: from }, SENDER]),
])('%o cannot be: %s', (environment, line) => {
  expect(() => readConfig(environment)).toThrow(line);
});
