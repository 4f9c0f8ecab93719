// Tests what bounds attempts to guess the admin token, and the password beside a link for lost passkeys.

import { expect, test } from 'vitest';
import { Accounts } from '../../src/access/accounts.ts';
import { Passkeys } from '../../src/access/passkeys.ts';
import { failUntil } from '../../src/contract/failure.ts';

test('an address above its limit does not set the service up, with whatever token (docs/console.md)', async () => {
  const refusal = failUntil('rateLimited', 1000);
  const asked: string[] = [];
  const admitAddress = async (address: string) => {
    asked.push(address);
    return refusal;
  };
  const accounts = new Accounts({ throttle: { admitAddress }, adminTokens: () => ['t'] } as never);
  const client = { address: '192.0.2.1' } as never;
  const request = { token: 't', organization: 'Acme', email: '', name: '', password: '' };
  expect(await accounts.setUpAs({} as never, request, client)).toBe(refusal);
  expect(await accounts.setUp(request, client)).toBe(refusal);
  expect(asked).toEqual(['192.0.2.1', '192.0.2.1']);
});

test('a try beside a link is counted among those of links, not of strangers (docs/console.md)', async () => {
  const refusal = failUntil('rateLimited', 1000);
  const tries: unknown[] = [];
  const passkeys = new Passkeys({
    links: { read: async () => ({ offer: { email: 'ann@example.com' }, hash: 'h' }) },
    gate: {
      try: async (...asked: unknown[]) => {
        tries.push(asked);
        return refusal;
      },
    },
    arePasswordsOn: true,
  } as never);
  const client = { address: '192.0.2.1', browser: undefined, agent: undefined };
  expect(await passkeys.recover({ token: 't', password: 'guess' }, client)).toBe(refusal);
  expect(tries).toEqual([['ann@example.com', 'guess', { ...client, hasLink: true }]]);
});
