// Tests the reader of the environment by itself: defaults, empty values, and everything that needs no running
// service.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ConfigError,
  consoleUrlOf,
  reachableHost,
  readClientConfig,
  readConfig,
} from '../../src/settings/settings.ts';
import { readDocument } from '../docs/document.ts';

describe('readConfig', () => {
  it('has a default for every variable (Environment)', () => {
    const defaults = {
      host: '127.0.0.1',
      port: 8080,
      databaseUrl: undefined,
      redisUrl: undefined,
      databasePool: 10,
      redisPrefix: 'sluice',
      dataDir: './data',
      adminTokens: [],
      secretKeys: [],
      organizationsBy: 'operator',
      oidc: undefined,
      arePasswordsOn: true,
      publicUrl: undefined,
      workers: 1,
      httpEngine: 'auto',
      deviceRetentionDays: 180,
      deviceFreshnessSeconds: 300,
      deviceHistory: 10,
      adoptionRetentionDays: 400,
      auditDays: undefined,
      trustProxy: 0,
      newDevicesPerAddressPerMinute: 1200,
      newDevicesPerAppPerMinute: 60_000,
      logLevel: 'info',
      hasAccessLog: false,
      tracing: undefined,
      drainMs: 0,
      readyUnconfirmedMsMax: undefined,
      adminListen: undefined,
      adminUrl: undefined,
      edge: { upstream: undefined, token: undefined, journalMb: 1024 },
      notify: { privateNetworks: [], mail: undefined },
      files: {},
    };
    expect(readConfig({})).toEqual(defaults);
    const names = readDocument('docs/operating/settings.md').text.match(/(?<=`)[A-Z][A-Z_]+(?=`)/g);
    expect(names).toContain('EDGE_TOKEN_FILE');
    const empty = Object.fromEntries(names?.map((name) => [name, '']) ?? []);
    expect(readConfig(empty)).toEqual(defaults);
  });

  it('is frozen: nobody changes a setting after the start', () => {
    expect(Object.isFrozen(readConfig({}))).toBe(true);
    expect(Object.isFrozen(readClientConfig({}))).toBe(true);
  });

  it.each([
    'redis://127.0.0.1:6379',
    'rediss://user:p%40ss@redis.example.com:6380/2',
    'redis://a:1,redis://b:2',
    'redis://a:1, b:2,c:3',
    // The comma alone says that it is a cluster.
    'redis://a:1,',
    'redis+sentinel://:p%2Cass@a:26379,b,[::1]:1/main/2?sentinel_password=x',
    'rediss+sentinel://a,b/main',
  ])('REDIS_URL may be %s (Environment)', (url) => {
    expect(readConfig({ REDIS_URL: url }).redisUrl).toBe(url);
  });

  it.each([
    'postgres://127.0.0.1/sluice',
    'postgres:///sluice?host=/tmp',
    'postgresql://user:p%2Cass@h1:5432,h2:5433,[::1]/sluice?target_session_attrs=read-write',
    'postgres://h1,h2/sluice?target_session_attrs=primary&sslmode=disable',
    'postgres://h1,h2',
  ])('DATABASE_URL may be %s (Environment)', (url) => {
    expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url);
  });

  it.each<[variable: string, values: readonly string[]]>([
    ['PORT', ['http', '-1', '65536', '80.5', '0x50', '8080 9090']],
    [
      'DATABASE_URL',
      [
        'localhost:5432/sluice',
        'mysql://localhost/sluice',
        'postgres://user:s3cret@host:99999/sluice',
        'postgres://user:s3cret@h1:5432,h2:99999/sluice',
        'postgres://user:s3cret@h1,,h2/sluice',
        'postgres://user:s3cret@h1,/sluice',
        'postgres://user:s3cret@/sluice?host=h1,h2',
        'postgres://user:s3cret@h1/sluice?port=1,2',
        'postgres://user:s3cret@h1,h2/sluice?target_session_attrs=standby',
        'postgres://user:s3cret@h1,h2/sluice?target_session_attrs=read-only',
        'postgres://user:s3cret@h1,h2/sluice?target_session_attrs=',
        'redis://user:s3cret@h1,h2/sluice',
      ],
    ],
    [
      'REDIS_URL',
      [
        ...['a:1', ',', ', ,', 'redis://a:1,http://b:2', 'http://a', 'redis://a:1,b:x'],
        ...['127.0.0.1:6379', 'redis://127.0.0.1:6379,http://127.0.0.1:6380'],
        ...['redis+sentinel://a:x,b/main', 'http+sentinel://a,b/main'],
      ],
    ],
    ['DATABASE_POOL', ['4', '201', '10.5', 'many']],
    ['REDIS_PREFIX', ['a:b', '{a}', 'two words', 'ü', 'x'.repeat(65), 'a*', 'a/b']],
    ['ADMIN_TOKEN', ['two words', 'schlüssel', 'line\n']],
    [
      'PUBLIC_URL',
      [
        ...['sluice.example.com', 'ftp://a.example.com', 'https://a.example.com/?a=b'],
        ...['https://a.example.com/b;c', 'https://a.example.com//b', 'https://a.example.com/b&c'],
      ],
    ],
    ['ORGANIZATIONS_BY', ['everyone', 'owner', 'ANYONE']],
    [
      'ADMIN_LISTEN',
      [
        ...['9090', ':9090', '127.0.0.1', '127.0.0.1:', '127.0.0.1:65536', '127.0.0.1:9a'],
        ...['http://127.0.0.1:9090', '127.0.0.1:9090/', 'a b:9090', '[::1]', '[127.0.0.1:9090'],
        // Without brackets, and the port of the service itself.
        ...['::1:9090', '127.0.0.1:8080', '0.0.0.0:8080', '[::]:8080'],
      ],
    ],
    ['ADMIN_URL', ['ops.example.com', 'ftp://a.example.com', 'https://a.example.com/#x']],
    ['WORKERS', ['0', '65', 'many']],
    ['HTTP_ENGINE', ['uwebsockets', 'UWS', 'node:http', 'fast']],
    ['TRUST_PROXY', ['yes', '-1', '17']],
    ['LOG_LEVEL', ['loud', 'INFO']],
    ['ACCESS_LOG', ['yes', 'ON', '1']],
    ['READY_MAX_UNCONFIRMED_SECONDS', ['-1', 'off', '86401']],
    ['DRAIN_SECONDS', ['-1', '1.5', '5s', '3601']],
    ['DEVICE_RETENTION_DAYS', ['0', '36501', 'never']],
    ['ADOPTION_RETENTION_DAYS', ['0', '36501', 'never']],
    ['AUDIT_DAYS', ['0', '36501', 'never', '1.5']],
    ['DEVICE_FRESHNESS_SECONDS', ['9', '86401', '5m', '10.5']],
    ['DEVICE_HISTORY', ['0', '101', 'all', '-1']],
  ])('%s cannot be %j: one line says so, without a secret (Environment)', (variable, values) => {
    for (const value of values) {
      const read = () => readConfig({ [variable]: value });
      expect(read, value).toThrow(ConfigError);
      expect(read, value).toThrow(new RegExp(`^${variable}: [^\\n]+$`));
      expect(read, value).not.toThrow(/s3cret|two words|schlüssel/);
    }
  });

  it('PORT may have spaces around it and zeros before it (Environment)', () => {
    const ports = ['0', '65535', ' 80 ', '0080'].map((PORT) => readConfig({ PORT }).port);
    expect(ports).toEqual([0, 65_535, 80, 80]);
  });

  describe.each(['ADMIN_TOKEN', 'SECRET_KEY'])('%s', (name) => {
    const SHORT = 's3cret'.padEnd(31, 'x');
    const reason = 'must have at least 32 characters, unless the service listens on loopback only';

    it.each<NodeJS.ProcessEnv>([
      { HOST: '0.0.0.0' },
      { HOST: '::' },
      { HOST: '192.0.2.1' },
      { HOST: 'sluice.example.com' },
      { HOST: '127.0.0.1.example.com' },
      { ADMIN_LISTEN: '0.0.0.0:9090' },
      { HOST: '0.0.0.0', ADMIN_LISTEN: '127.0.0.1:9090' },
    ])('of 31 characters is refused with %j, of 32 it is taken', (environment) => {
      for (const secret of ['a', SHORT]) {
        const read = () => readConfig({ ...environment, [name]: secret });
        expect(read).toThrow(new ConfigError(`${name}: ${reason}`));
        expect(read).not.toThrow(/s3cret/);
      }
      expect(() => readConfig({ ...environment, [name]: `${SHORT}y` })).not.toThrow();
    });

    it.each<NodeJS.ProcessEnv>([
      {},
      { HOST: 'localhost' },
      { HOST: '127.0.0.2' },
      { HOST: '::1', ADMIN_LISTEN: '[::1]:9090' },
    ])('of one character is taken with %j, which only this machine can reach', (environment) => {
      expect(() => readConfig({ ...environment, [name]: 'a' })).not.toThrow();
    });

    it('may have several values of 32 characters, of which all count', () => {
      const values = ['a', 'b', 'c'].map((letter) => letter.repeat(32));
      const { adminTokens, secretKeys } = readConfig({ [name]: values.join(',') });
      expect(name === 'ADMIN_TOKEN' ? adminTokens : secretKeys).toEqual(values);
      const client = readClientConfig({ [name]: values.join(',') });
      expect(client.adminToken).toBe(name === 'ADMIN_TOKEN' ? values[0] : undefined);
    });

    it.each([
      [`${SHORT}y,${SHORT}`, 'a short one'],
      [`${SHORT},s3cret`, 'a secret from before commas had a meaning'],
      [`${SHORT}y,`, 'an empty one'],
      [Array(9).fill(`${SHORT}y`).join(','), 'too many'],
    ])('of several values cannot be %j, on loopback either: %s', (value) => {
      for (const environment of [{}, { HOST: '0.0.0.0' }]) {
        const read = () => readConfig({ ...environment, [name]: value });
        expect(read).toThrow(new RegExp(`^${name}: [^\\n]+$`));
        expect(read).not.toThrow(/s3cret/);
      }
    });

    it('is for the command line as it is: the service has decided about it', () => {
      const environment = { HOST: '0.0.0.0', [name]: 'a' };
      expect(() => readClientConfig(environment)).not.toThrow();
    });
  });

  it('SECRET_KEY takes no spaces beside commas, which would be part of a key', () => {
    const [one, other] = ['a'.repeat(32), 'b'.repeat(32)];
    expect(() => readConfig({ SECRET_KEY: `${one}, ${other}` })).toThrow(/^SECRET_KEY: .*spaces/);
    expect(readConfig({ SECRET_KEY: 'a phrase with spaces' }).secretKeys).toHaveLength(1);
  });

  describe('a setting in a file', () => {
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'sluice-config-'));
    });
    afterEach(() => rmSync(folder, { recursive: true }));

    function file(name: string, text: string): string {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    }

    it('has the text of the file, without the line end after it', () => {
      const environment = {
        ADMIN_TOKEN_FILE: file('token', `${'t'.repeat(40)}\n`),
        SECRET_KEY_FILE: file('key', 'a phrase \r\n\n'),
        DATABASE_URL_FILE: file('database', 'postgres://127.0.0.1/sluice\n'),
        REDIS_URL_FILE: file('redis', 'redis://127.0.0.1'),
        WORKERS: '2',
      };
      expect(readConfig(environment)).toMatchObject({
        adminTokens: ['t'.repeat(40)],
        secretKeys: ['a phrase '],
        databaseUrl: 'postgres://127.0.0.1/sluice',
        redisUrl: 'redis://127.0.0.1',
      });
      expect(readClientConfig(environment).adminToken).toBe('t'.repeat(40));
    });

    it('is for the command line the token alone: the others may be readable for the service only', () => {
      const away = join(folder, 'away');
      const others = { SECRET_KEY_FILE: away, DATABASE_URL_FILE: away, REDIS_URL_FILE: away };
      const environment = { ADMIN_TOKEN_FILE: file('token', 'token'), ...others };
      expect(readClientConfig(environment).adminToken).toBe('token');
      expect(() => readClientConfig({ ADMIN_TOKEN_FILE: away })).toThrow(/^ADMIN_TOKEN_FILE: /);
    });

    it.each(['ADMIN_TOKEN', 'SECRET_KEY', 'DATABASE_URL', 'REDIS_URL'])(
      '%s_FILE that cannot be used is named in one line, without what it contains',
      (name) => {
        const variable = `${name}_FILE`;
        const files = [
          join(folder, 'away'),
          folder,
          '/dev/zero',
          file('empty', '\n'),
          file('long', 's3cret'.repeat(11_000)),
          ...(name === 'SECRET_KEY' ? [] : [file('wrong', 's3cret \n s3cret')]),
        ];
        for (const path of files) {
          const read = () => readConfig({ [variable]: path });
          expect(read, path).toThrow(ConfigError);
          expect(read, path).toThrow(new RegExp(`^${variable}: [^\\n]+$`));
          expect(read, path).not.toThrow(/s3cret/);
        }
        const both = {
          [variable]: file('right', 'redis://127.0.0.1'),
          [name]: 'redis://127.0.0.1',
        };
        expect(() => readConfig(both)).toThrow(`${variable}: ${name} is set as well`);
      },
    );

    it('is taken from a parent that has read it, whatever the file contains now', () => {
      const environment = { ADMIN_TOKEN_FILE: join(folder, 'away') };
      const { files } = readConfig({ ADMIN_TOKEN_FILE: file('token', 'first') });
      expect(readConfig(environment, files).adminTokens).toEqual(['first']);
    });
  });

  it('WORKERS above 1 needs both stores, and names those that are missing (Environment)', () => {
    const redis = { REDIS_URL: 'redis://127.0.0.1' };
    const database = { DATABASE_URL: 'postgres://127.0.0.1/sluice' };
    const wanted = { WORKERS: '2' };
    expect(() => readConfig(wanted)).toThrow(/^WORKERS: .*REDIS_URL and DATABASE_URL/);
    expect(() => readConfig({ ...wanted, ...redis })).toThrow(/^WORKERS: .*needs DATABASE_URL/);
    expect(() => readConfig({ ...wanted, ...database })).toThrow(/^WORKERS: .*needs REDIS_URL/);
    expect(readConfig({ ...wanted, ...redis, ...database }).workers).toBe(2);
    expect(readConfig({ WORKERS: '1' }).workers).toBe(1);
  });

  it.each([
    [' [::1]:0 ', '::1', 0],
    ['ops.internal:8080', 'ops.internal', 8080],
  ])('ADMIN_LISTEN=%j is host %s and port %d (Environment)', (text, host, port) => {
    expect(readConfig({ ADMIN_LISTEN: text }).adminListen).toEqual({ host, port });
  });

  it('the console is at ADMIN_URL, else at PUBLIC_URL unless it has an address of its own (Environment)', () => {
    const urlOf = (environment: NodeJS.ProcessEnv) => consoleUrlOf(readConfig(environment));
    const PUBLIC_URL = 'https://updates.example.com/';
    const ADMIN_URL = 'https://ops.example.com/';
    const ADMIN_LISTEN = '127.0.0.1:9090';
    expect(urlOf({})).toBeUndefined();
    expect(urlOf({ PUBLIC_URL })).toBe('https://updates.example.com');
    expect(urlOf({ PUBLIC_URL, ADMIN_URL })).toBe('https://ops.example.com');
    expect(urlOf({ PUBLIC_URL, ADMIN_LISTEN })).toBeUndefined();
    expect(urlOf({ PUBLIC_URL, ADMIN_LISTEN, ADMIN_URL })).toBe('https://ops.example.com');
  });

  it.each([
    ['https://Updates.Example.com:443/a%2Fb', 'https://Updates.Example.com:443/a%2Fb'],
    ['https://größe.example/über/', 'https://xn--gre-6ka8i.example/%C3%BCber'],
    ['https://a.example/日本', 'https://a.example/%E6%97%A5%E6%9C%AC'],
    ['https://a.example/b//', 'https://a.example/b'],
  ])('PUBLIC_URL and ADMIN_URL of %s stand in headers as %s (Environment)', (given, told) => {
    const { publicUrl, adminUrl } = readConfig({ PUBLIC_URL: given, ADMIN_URL: given });
    expect([publicUrl, adminUrl]).toEqual([told, told]);
  });
});

describe('readClientConfig', () => {
  it.each<[environment: NodeJS.ProcessEnv, url: string, consoleUrl?: string]>([
    [{}, 'http://127.0.0.1:8080'],
    [{ HOST: '0.0.0.0', PORT: '9000' }, 'http://127.0.0.1:9000'],
    [{ HOST: '::', PORT: '9000' }, 'http://[::1]:9000'],
    [{ ADMIN_LISTEN: '[::]:9090' }, 'http://127.0.0.1:8080', 'http://[::1]:9090'],
    [
      { ADMIN_LISTEN: '127.0.0.1:9090', PORT: '81' },
      'http://127.0.0.1:81',
      'http://127.0.0.1:9090',
    ],
    [{ ADMIN_LISTEN: '127.0.0.1:9090', SLUICE_URL: 'http://a.example' }, 'http://a.example'],
    [{ HOST: 'fe80::1' }, 'http://[fe80::1]:8080'],
    [{ SLUICE_URL: 'https://sluice.example.com/base/' }, 'https://sluice.example.com/base'],
    [{ SLUICE_URL: '', PORT: '81' }, 'http://127.0.0.1:81'],
    // A setting of the service only, which may share its environment with the command.
    [{ WORKERS: '8' }, 'http://127.0.0.1:8080'],
  ])(
    '%j: publishers ask %s, operators the same unless %s (Command line)',
    (environment, url, consoleUrl = url) => {
      const config = readClientConfig(environment);
      expect([config.managementUrl, config.consoleUrl]).toEqual([url, consoleUrl]);
    },
  );

  it.each(['localhost:8080', 'ftp://a', '/sluice'])(
    'SLUICE_URL cannot be %s (Command line)',
    (url) => {
      expect(() => readClientConfig({ SLUICE_URL: url })).toThrow(/^SLUICE_URL: /);
    },
  );
});

it('a host that is called has brackets around IPv6, and is no wildcard', () => {
  const hosts = ['0.0.0.0', '::', '::1', 'localhost', '10.0.0.1'];
  const called = ['127.0.0.1', '[::1]', '[::1]', 'localhost', '10.0.0.1'];
  expect(hosts.map(reachableHost)).toEqual(called);
});
