// Tests which variables of the environment count as misspelt settings, and which are left alone.

import { expect, it } from 'vitest';
import { nearSettings } from '../../src/settings/misspelt-settings.ts';

const SETTINGS = [
  ...['HOST', 'PORT', 'DATABASE_URL', 'REDIS_URL', 'DATA_DIR', 'ADMIN_TOKEN', 'SECRET_KEY'],
  ...['ORGANIZATIONS_BY', 'PUBLIC_URL', 'ADMIN_LISTEN', 'ADMIN_URL', 'WORKERS', 'TRUST_PROXY'],
  ...['READY_MAX_UNCONFIRMED_SECONDS', 'LOG_LEVEL', 'SLUICE_URL', 'DEVICE_RETENTION_DAYS'],
  ...['DATABASE_POOL', 'HTTP_ENGINE'],
];

it.each([
  ['REDIS_URI', 'REDIS_URL'],
  ['ADMINTOKEN', 'ADMIN_TOKEN'],
  ['DATABASE_POOL_SIZE', 'DATABASE_POOL'],
  ['POSTGRES_URL', 'DATABASE_URL'],
  ['redis_url', 'REDIS_URL'],
  ['Admin-Token', 'ADMIN_TOKEN'],
  ['ADMIM_TOKEN', 'ADMIN_TOKEN'],
  ['SECERT_KEY', 'SECRET_KEY'],
  ['SLUICE_ADMIN_TOKEN', 'ADMIN_TOKEN'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['SLUICE_HTTP_ENGINE', 'HTTP_ENGINE'],
  ['TRUST_PROXIES', 'TRUST_PROXY'],
  ['ORGANISATIONS_BY', 'ORGANIZATIONS_BY'],
])('%s looks like %s', (name, setting) => {
  expect(nearSettings({ [name]: 'x' }, SETTINGS)).toEqual([{ name, setting }]);
});

it('a setting, an empty variable and what others set are left alone', () => {
  const others = [
    ...['PATH', 'HOME', 'PWD', 'OLDPWD', 'SHLVL', 'USER', 'LANG', 'TERM', 'LOGNAME', 'HOSTNAME'],
    ...['NODE_ENV', 'NODE_OPTIONS', 'NODE_VERSION', 'YARN_VERSION', 'MAIL', 'EDITOR', 'TZ'],
    ...['HTTP_PROXY', 'https_proxy', 'NO_PROXY', 'XDG_DATA_DIRS', 'PGHOST', 'PGPORT', 'PGDATA'],
    ...['REDIS_SERVICE_HOST', 'REDIS_PORT', 'KUBERNETES_SERVICE_HOST', 'POSTGRES_PASSWORD'],
    ...['INVOCATION_ID', 'STATE_DIRECTORY', 'npm_config_cache', 'npm_lifecycle_event', 'ADMIN'],
    ...['HOSTS', 'POST', 'POD_NAME', 'SECRETS_DIR', 'DATABASE', 'REDIS', 'URL', 'CI', 'DEBUG'],
  ];
  const environment = Object.fromEntries([...SETTINGS, ...others].map((name) => [name, 'x']));
  expect(nearSettings(environment, SETTINGS)).toEqual([]);
  expect(nearSettings({ REDIS_URI: '', ADMINTOKEN: undefined }, SETTINGS)).toEqual([]);
  const kubernetes = { SLUICE_PORT: 'tcp://10.0.0.1:80', SLUICE_SERVICE_HOST: '10.0.0.1' };
  expect(nearSettings(kubernetes, SETTINGS)).toEqual([]);
});

it('never gives a value, and names a bounded number of variables', () => {
  const many = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`REDIS_UR${index}`, 'redis://:s3cret@h']),
  );
  const found = nearSettings({ ...many, ADMINTOKEN: 's3cret' }, SETTINGS);
  expect(JSON.stringify(found)).not.toContain('s3cret');
  expect(found.length).toBeLessThanOrEqual(20);
});
