// Tests what bounds attempts to guess the admin token.

import { expect, test } from 'vitest';
import { Accounts } from '../../src/access/accounts.ts';
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
