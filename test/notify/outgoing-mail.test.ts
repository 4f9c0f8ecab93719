// Tests mails to people: encrypted while they wait, sent as they were written.

import { expect, it } from 'vitest';
import type { TryOutcome } from '../../src/notify/delivery-state.ts';
import type { Mail } from '../../src/notify/mailer.ts';
import { PeopleMails } from '../../src/notify/outgoing-mail.ts';
import { SecretBox } from '../../src/notify/secret-box.ts';
import { SendMessage } from '../../src/notify/send-message.ts';
import type { DueMail, NewMail } from '../../src/store/delivery-ledger.ts';

const URL = 'https://updates.example.com/console/invitation/t0ken';
const EXPIRES_AT = '2026-08-08T00:00:00.000Z';
const box = new SecretBox(['a key of the service']);
const mails = new PeopleMails((text, owner) => box.seal(text, owner));

function send(due: DueMail, key = box): Promise<readonly [TryOutcome, readonly Mail[]]> {
  const sent: Mail[] = [];
  const sender = new SendMessage({
    dialer: { post: () => Promise.reject(new Error('no webhook')) },
    mailer: {
      async send(mail) {
        sent.push(mail);
        return undefined;
      },
    },
    unseal: (sealed, owner) => key.open(sealed, owner)?.secret,
    ownerOf: (id) => id,
    ...{ consoleUrl: '', now: Date.now },
  });
  return sender.toPerson(due).then((outcome) => [outcome, sent]);
}

it('wait encrypted, and arrive with their link and one id', async () => {
  const written = [
    mails.invitation('ann@example.com', URL, EXPIRES_AT),
    mails.reset('ann@example.com', URL, EXPIRES_AT),
    mails.signIn('ann@example.com', '192.0.2.1', 0),
  ];
  expect(written.map((mail) => mail?.kind)).toEqual(['invitation', 'password-reset', 'sign-in']);
  expect(JSON.stringify(written)).not.toMatch(/t0ken|ann@|192\.0/);
  const [first] = written;
  expect(first?.expiresAt).toBe(EXPIRES_AT);
  const [outcome, sent] = await send({ ...(first as NewMail), failures: 0 });
  expect(outcome).toEqual({ kind: 'delivered', status: null });
  expect(sent).toMatchObject([
    { to: 'ann@example.com', id: first?.id, text: expect.stringContaining(URL) },
  ]);
});

it('tell people what became of their passkeys, whoever did it', async () => {
  const at = Date.UTC(2026, 7, 1);
  const written = [
    mails.passkey('ann@example.com', 'added', at),
    mails.passkey('ann@example.com', 'removed', at),
    mails.recovery('ann@example.com', 'made', at),
    mails.recovery('ann@example.com', 'used', at),
  ] as NewMail[];
  const texts = await Promise.all(
    written.map(async (mail) => (await send({ ...mail, failures: 0 }))[1][0]?.text),
  );
  expect(texts).toEqual([
    expect.stringMatching(/a passkey was added .*2026-08-01/s),
    expect.stringMatching(/a passkey was removed from .*2026-08-01/s),
    expect.stringMatching(/link .* was made.*2026-08-01/s),
    expect.stringMatching(/were removed .* link.*2026-08-01/s),
  ]);
});

it('cannot be read with another key, or as another mail', async () => {
  const invite = () => mails.invitation('ann@example.com', URL, EXPIRES_AT);
  const [first, second] = [invite(), invite()] as [NewMail, NewMail];
  const [other] = await send({ ...first, failures: 0 }, new SecretBox(['another key']));
  expect(other).toMatchObject({ kind: 'failed', error: expect.stringContaining('SECRET_KEY') });
  const [copied] = await send({ ...first, id: second.id, failures: 0 });
  expect(copied.kind).toBe('failed');
  // Without a server of mails they are not written.
  const none = new PeopleMails(undefined);
  expect(none.invitation('ann@example.com', URL, EXPIRES_AT)).toBeUndefined();
});
