// Tests the settings of the sign-in with OpenID Connect: what a set needs, and what is said of an incomplete
// or wrong one.

import { expect, it } from 'vitest';
import { ConfigError, readClientConfig, readConfig } from '../../src/settings/settings.ts';

const WHOLE = {
  OIDC_ISSUER: 'https://id.example.com/realms/main/',
  OIDC_CLIENT_ID: 'sluice',
  OIDC_CLIENT_SECRET: 'secret',
};
const ROLES = '{"devs":{"organization":"org_1","role":"publisher"}}';

it('has a name and scopes of its own, and keeps the spelling of the issuer', () => {
  expect(readConfig(WHOLE).oidc).toEqual({
    issuer: WHOLE.OIDC_ISSUER,
    clientId: 'sluice',
    clientSecret: 'secret',
    name: 'id.example.com',
    scopes: 'openid email profile',
    groupsClaim: undefined,
    roles: [],
  });
  expect(readConfig({ ...WHOLE, PASSWORD_SIGN_IN: 'off' }).arePasswordsOn).toBe(false);
  const grouped = { ...WHOLE, OIDC_GROUPS_CLAIM: 'groups', OIDC_ROLES: ROLES };
  expect(readConfig(grouped).oidc?.roles).toEqual([
    { group: 'devs', organization: 'org_1', role: 'publisher' },
  ]);
});

it.each([
  [{ PASSWORD_SIGN_IN: 'off' }, 'PASSWORD_SIGN_IN: off needs OIDC_ISSUER'],
  [{ ...WHOLE, PASSWORD_SIGN_IN: 'no' }, 'PASSWORD_SIGN_IN: must be one of on, off'],
  [{ ...WHOLE, OIDC_CLIENT_SECRET: '' }, 'OIDC_CLIENT_SECRET: is missing'],
  [{ ...WHOLE, OIDC_ISSUER: '' }, 'OIDC_ISSUER: is missing'],
  [{ OIDC_NAME: 'Example' }, 'OIDC_ISSUER: is missing: OIDC_NAME needs'],
  [{ ...WHOLE, OIDC_ISSUER: 'http://id.example.com' }, 'OIDC_ISSUER: must be the https://'],
  [{ ...WHOLE, OIDC_ISSUER: 'https://id.example.com?a=b' }, 'OIDC_ISSUER: must be the https://'],
  [{ ...WHOLE, OIDC_SCOPES: 'email' }, 'OIDC_SCOPES: must be names'],
  [{ ...WHOLE, OIDC_ROLES: ROLES }, 'OIDC_GROUPS_CLAIM: is missing'],
  [{ ...WHOLE, OIDC_GROUPS_CLAIM: 'groups' }, 'OIDC_ROLES: is missing'],
  [{ ...WHOLE, OIDC_GROUPS_CLAIM: 'groups', OIDC_ROLES: '{' }, 'OIDC_ROLES: must be JSON'],
  [
    { ...WHOLE, OIDC_GROUPS_CLAIM: 'groups', OIDC_ROLES: ROLES.replace('publisher', 'admin') },
    'OIDC_ROLES: must be JSON of the form',
  ],
])('refuses %j', (environment, message) => {
  expect(() => readConfig(environment)).toThrow(ConfigError);
  expect(() => readConfig(environment)).toThrow(message);
});

it('is nothing to the command line, which may not be able to read the secret', () => {
  const { OIDC_CLIENT_SECRET: _, ...others } = WHOLE;
  const environment = { ...others, OIDC_CLIENT_SECRET_FILE: '/none' };
  expect(readClientConfig(environment).isUrlGiven).toBe(false);
});
