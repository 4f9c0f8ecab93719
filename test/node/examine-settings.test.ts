// Tests what `sluice doctor` says about settings that a start accepts and nobody should run.

import { describe, expect, it } from 'vitest';
import { examineSettings } from '../../src/node/machine/doctor.ts';
import { readConfig } from '../../src/settings/settings.ts';

const STRONG = 'f3b1c09a7d5e2846f3b1c09a7d5e2846';
const REAL = { DATABASE_URL: 'postgres://db/sluice', ADMIN_TOKEN: STRONG, SECRET_KEY: STRONG };

/** Returns the names of the checks that failed, and all messages as one text. */
function examined(environment: NodeJS.ProcessEnv) {
  const checks = examineSettings(readConfig(environment));
  return {
    bad: checks.filter(({ ok }) => !ok).map(({ name }) => name),
    text: checks.map(({ message }) => message).join('\n'),
  };
}

describe('the settings that the doctor examines', () => {
  it.each<[string, NodeJS.ProcessEnv, readonly string[]]>([
    ['nothing at all', {}, []],
    ['strong secrets on every interface', { ...REAL, HOST: '0.0.0.0' }, []],
    ['no secrets, which a node may do without', { DATABASE_URL: REAL.DATABASE_URL }, []],
    ['a short token that only this machine can send', { ADMIN_TOKEN: 'a' }, []],
    [
      'a short token behind a public address',
      { ADMIN_TOKEN: 'a', PUBLIC_URL: 'http://updates.example.com' },
      ['admin-token'],
    ],
    ['a short token behind a proxy', { ADMIN_TOKEN: 'a', TRUST_PROXY: '1' }, ['admin-token']],
    [
      'a long secret of one letter',
      { ...REAL, HOST: '0.0.0.0', SECRET_KEY: 'a'.repeat(40) },
      ['secret-key'],
    ],
    [
      'one weak value of two',
      { ...REAL, HOST: '::', ADMIN_TOKEN: `${STRONG},${'ab'.repeat(20)}` },
      ['admin-token'],
    ],
    ['an https console, and no proxy', { ...REAL, ADMIN_URL: 'https://o.example.com' }, ['proxy']],
    ['an https address, and no proxy', { ...REAL, PUBLIC_URL: 'https://u.example.com' }, ['proxy']],
    [
      'an address with a path, and no proxy',
      { ...REAL, PUBLIC_URL: 'http://example.com/updates' },
      ['proxy'],
    ],
    [
      'an https address behind one proxy',
      { ...REAL, PUBLIC_URL: 'https://u.example.com', TRUST_PROXY: '1' },
      [],
    ],
  ])('%s', (_what, environment, bad) => {
    expect(examined(environment).bad).toEqual(bad);
  });

  it('of an address with a path tell what the proxy must do', () => {
    const PUBLIC_URL = 'https://example.com/updates/';
    const { bad, text } = examined({ ...REAL, PUBLIC_URL, TRUST_PROXY: '1' });
    expect(bad).toEqual([]);
    expect(text).toContain('; the one of PUBLIC_URL takes /updates off each path');
  });

  it('are told without a secret', () => {
    const secrets = { ADMIN_TOKEN: 'hunter2-token', SECRET_KEY: 'hunter2-key', TRUST_PROXY: '1' };
    const { bad, text } = examined(secrets);
    expect(bad).toEqual(['admin-token', 'secret-key']);
    expect(text).not.toContain('hunter2');
  });
});
