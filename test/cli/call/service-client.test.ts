// Tests what the command says where another address answers than that of the service.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { ServiceClient } from '../../../src/cli/call/service-client.ts';
import { loopbackServer } from '../../support/loopback-server.ts';

let server: Awaited<ReturnType<typeof loopbackServer>>;
let url: string;
let location: string | undefined;
let asked = 0;

beforeAll(async () => {
  server = await loopbackServer((_, response) => {
    asked += 1;
    response.writeHead(301, location === undefined ? {} : { location }).end('<html>moved</html>');
  });
  url = `http://127.0.0.1:${server.port}`;
});
afterAll(() => server.close());

async function refusal(to: string | undefined, prefix = ''): Promise<string> {
  location = to;
  const client = ServiceClient.ofManagement(`${url}${prefix}`, 'sluice_secret', true);
  const error = await client.call('GET', 'releases?app=notes').catch((error: Error) => error);
  return error instanceof Error ? error.message : 'no refusal';
}

it.each([
  ['https://updates.example.com/api/v1/releases?app=notes', 'https://updates.example.com'],
  [
    'https://updates.example.com:8443/sluice/api/v1/releases',
    'https://updates.example.com:8443/sluice',
  ],
  ['https://ann:secret@updates.example.com/api/v1/releases/', 'https://updates.example.com'],
])(
  'of a redirect to %s it says the address for SLUICE_URL, and asks no other',
  async (to, address) => {
    asked = 0;
    expect(await refusal(to)).toBe(
      `the service at ${url} answered 301: set SLUICE_URL to ${address}`,
    );
    expect(asked).toBe(1);
  },
);

it('a redirect to another path is named, without its query and credentials', async () => {
  const named = (address: string) =>
    `${url} answered 301 and names ${address}: SLUICE_URL must be the address that devices ask`;
  const text = await refusal('https://ann:secret@sso.example.com/login?code=secret#secret');
  expect(text).toContain(named('https://sso.example.com/login'));
  expect(text).not.toContain('secret');
  expect(await refusal('/login?to=secret')).toContain(named(`${url}/login`));
});

it.each([undefined, 'mailto:ann@example.com', 'http://['])(
  'of a redirect to %s it says the status',
  async (to) => {
    expect(await refusal(to)).toBe('the service answered 301');
  },
);
