// Tests what deploy/ has for service managers: the units of systemd by systemd's own programs, and the
// manifests of Kubernetes against the settings of the service and against each other.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { readEdgeConfig } from '../src/settings/edge-settings.ts';
import { readConfig } from '../src/settings/settings.ts';
import { readDocument, sectionOf } from './docs/document.ts';
import { findBinary } from './support/find-binary.ts';
import { findNginx, findOpenssl, makeCertificate } from './support/nginx-front.ts';

type Fields = { readonly [name: string]: unknown };

const DEPLOY = join(import.meta.dirname, '..', 'deploy');
/** Exposure of ten that systemd finds in a service at most, in tenths. */
const EXPOSURE_MAX = 20;
const SECRET = 'f3b1c09a7d5e2846f3b1c09a7d5e2846';
/** Contents of the files that the manifests mount from the secret. */
const FILES = {
  DATABASE_URL: 'postgres://db/sluice',
  REDIS_URL: 'redis://cache',
  ADMIN_TOKEN: SECRET,
  SECRET_KEY: SECRET,
};

describe.each([
  ['sluice', 'dist/main.js', '-/etc/sluice/sluice.env'],
  ['sluice-edge', 'dist/cli/sluice.js edge', '/etc/sluice/edge.env'],
])('deploy/systemd/%s.service', (name, program, settings) => {
  const unit = readFileSync(join(DEPLOY, `systemd/${name}.service`), 'utf8');

  it('starts the service with the flags of npm start, as its account, and leaves it time to stop', () => {
    const { scripts } = JSON.parse(readFileSync(join(DEPLOY, '../package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const start = scripts.start
      ?.replace(/^node /, '')
      .replace('dist/main.js', `/opt/sluice/${program}`);
    expect(unit).toContain(`ExecStart=/usr/bin/node ${start}\n`);
    for (const line of [
      ...[`User=${name}`, `StateDirectory=${name}`, 'StateDirectoryMode=0700', 'UMask=0077'],
      ...[`WorkingDirectory=/var/lib/${name}`, `EnvironmentFile=${settings}`],
      `Environment=NODE_ENV=production DATA_DIR=/var/lib/${name}`,
      ...[
        'NoNewPrivileges=yes',
        'ProtectSystem=strict',
        'CapabilityBoundingSet=',
        'KillMode=mixed',
      ],
      ...['ExecReload=/bin/kill -HUP $MAINPID', 'Restart=always', 'TimeoutStopSec=15'],
    ]) {
      expect(unit.split('\n')).toContain(line);
    }
  });

  itAnalyzes(`${name}.service`);
});

describe('deploy/systemd/sluice-backup', () => {
  const unit = readFileSync(join(DEPLOY, 'systemd/sluice-backup.service'), 'utf8');

  itAnalyzes('sluice-backup.service', 'sluice-backup.timer');

  it('runs as the account of the service, which it reads the settings of', () => {
    const service = readFileSync(join(DEPLOY, 'systemd/sluice.service'), 'utf8').split('\n');
    const lines = unit.split('\n');
    expect(lines).toContain('User=sluice');
    const shared = service.filter((line) => /^(Environment|EnvironmentFile|UMask)=/.test(line));
    expect(shared).toHaveLength(3);
    expect(lines).toEqual(expect.arrayContaining(shared));
  });

  // As systemd reads it: lines joined, and dollars and percent signs that stand twice are one.
  const [, quoted = ''] = /^ExecStart=\/bin\/sh -euc '\\\n([^']*)'$/m.exec(unit) ?? [];
  const script = quoted.replaceAll('\\\n', ' ').replaceAll('$$', '$').replaceAll('%%', '%');
  const places = { '/var/lib/sluice-backup': '.', '/usr/bin/node': 'echo' } as const;
  itBacksUp(script, places, (url) => ({ DATABASE_URL: url }));

  it('asks the running service where there is no DATABASE_URL', () => {
    const { printed } = runBackup(script, places, {});
    expect(printed).toMatch(
      /^\/opt\/sluice\/dist\/cli\/sluice\.js backup \.\/sluice-\w+Z\.tar\.gz\n$/,
    );
  });
});

/** Declares that systemd takes the units of deploy/systemd, the first of which is a service. */
function itAnalyzes(...names: readonly [string, ...string[]]): void {
  const analyze = findBinary('systemd-analyze');
  const title = 'is what systemd takes without a word, and hardly exposed';
  const missing = analyze === undefined ? ' (skipped: no systemd-analyze on this machine)' : '';
  it.skipIf(analyze === undefined)(`${title}${missing}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-unit-'));
    try {
      const paths = names.map((name) => {
        const unit = readFileSync(join(DEPLOY, 'systemd', name), 'utf8');
        writeFileSync(join(folder, name), unit.replaceAll('/usr/bin/node', process.execPath));
        return join(folder, name);
      });
      const verified = spawnSync(analyze ?? '', ['verify', '--man=no', ...paths], {
        encoding: 'utf8',
      });
      expect([verified.status, complaintsIn(verified.stderr, names)]).toEqual([0, []]);
      const limits = [`--threshold=${EXPOSURE_MAX}`, '--offline=true', '--no-pager'];
      const args = ['security', ...limits, paths[0] ?? ''];
      const told = execFileSync(analyze ?? '', args, { encoding: 'utf8' });
      console.info(told.trim().split('\n').at(-1));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

/** What a script of a backup replaces of its places, so that it runs in a folder of a test. */
type Places = Readonly<Record<string, string>>;

/**
 * Runs a script with a `pg_dump` that writes its address into the file, or fails half-way for the address
 * `broken`. Returns the files that are there then; two were there before, of 15 and of 12 days ago.
 */
function runBackup(script: string, places: Places, env: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-backup-'));
  try {
    const dump = '#!/bin/sh\necho "$3" >"$(echo "$2" | cut -c8-)"\n[ "$3" != broken ]\n';
    writeFileSync(join(folder, 'pg_dump'), dump, { mode: 0o755 });
    for (const days of [15, 12]) {
      const path = join(folder, `sluice-${days}-days.dump`);
      writeFileSync(path, '');
      const at = new Date(Date.now() - days * 86_400_000);
      utimesSync(path, at, at);
    }
    writeFileSync(join(folder, 'database-url'), env.DATABASE_URL ?? '');
    const moved = Object.entries(places).reduce(
      (text, [place, other]) => text.replaceAll(place, other),
      script,
    );
    const PATH = `${folder}${delimiter}${process.env.PATH}`;
    const { status, stdout } = spawnSync('sh', ['-euc', moved], {
      cwd: folder,
      env: { ...env, PATH },
      encoding: 'utf8',
    });
    const files = readdirSync(folder).filter((name) => name.startsWith('sluice-'));
    const contents = files.map((name) => readFileSync(join(folder, name), 'utf8').trim());
    return { status, printed: stdout, files, contents };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Declares what a script of a backup does; `envOf` has the settings by which it gets an address. */
function itBacksUp(
  script: string,
  places: Places,
  envOf: (url: string) => Readonly<Record<string, string>>,
): void {
  it('names a file a backup when it is whole, and then removes those that are older than 14 days', () => {
    const { status, files, contents } = runBackup(script, places, envOf('postgres://db/sluice'));
    expect([status, files]).toEqual([
      0,
      ['sluice-12-days.dump', expect.stringMatching(/^sluice-\d{8}T\d{6}Z\.dump$/)],
    ]);
    expect(contents[1]).toBe('postgres://db/sluice');
  });

  it('that fails ends with an error, names nothing a backup and removes none', () => {
    const { status, files } = runBackup(script, places, envOf('broken'));
    expect(status).not.toBe(0);
    expect(files.filter((name) => name.endsWith('.dump'))).toEqual([
      'sluice-12-days.dump',
      'sluice-15-days.dump',
    ]);
  });
}

/** Returns what is said of the units themselves: systemd also reads, and judges, the units of the machine. */
function complaintsIn(output: string, names: readonly string[]): string[] {
  return output.split('\n').filter((line) => names.some((name) => line.includes(name)));
}

describe('deploy/kubernetes', () => {
  const folder = join(DEPLOY, 'kubernetes');
  const documents = new Map(
    readdirSync(folder).map((name) => [name, load(readFileSync(join(folder, name), 'utf8'))]),
  );
  const document = (name: string): Fields => documents.get(name) as Fields;
  const pod = at(document('deployment.yaml'), 'spec', 'template', 'spec');
  const labels = at(document('deployment.yaml'), 'spec', 'template', 'metadata', 'labels');
  const container = at(pod, 'containers', 0);
  const initContainer = at(pod, 'initContainers', 0);
  const settings = at(document('config-map.yaml'), 'data') as unknown as Record<string, string>;

  it('lists every file once', () => {
    const { resources } = document('kustomization.yaml');
    const others = [...documents.keys()].filter((name) => name !== 'kustomization.yaml');
    expect([...(resources as string[])].sort()).toEqual(others.sort());
  });

  it('has settings that the service takes, whose files the pod mounts', () => {
    const config = readConfig(settings, FILES);
    const ports = list(container, 'ports').map(({ containerPort }) => containerPort);
    expect(ports).toEqual([config.port, config.adminListen?.port]);
    expect([config.trustProxy, config.host]).toEqual([1, '0.0.0.0']);
    const mounted = list(container, 'volumeMounts').find(({ name }) => name === 'secrets');
    const files = Object.keys(FILES).map((name) => settings[`${name}_FILE`]);
    for (const file of files) expect(file).toMatch(new RegExp(`^${mounted?.mountPath}/[a-z-]+$`));
    expect(at(list(pod, 'volumes')[1] ?? {}, 'secret')).toMatchObject({ secretName: 'sluice' });
  });

  it('gives a pod the time to drain and to stop', () => {
    const { drainMs } = readConfig(settings, FILES);
    const readiness = at(container, 'readinessProbe') as Record<string, number>;
    const unready = Number(readiness.periodSeconds) * Number(readiness.failureThreshold);
    expect(drainMs / 1000).toBeGreaterThan(unready);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drainMs / 1000 + 10);
  });

  it('asks for health on the admin port, and for readiness on the port of the service', () => {
    const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((name) => {
      const { path, port } = at(container, name, 'httpGet');
      return [path, port];
    });
    expect(probes).toEqual([
      ['/healthz', 'admin'],
      ['/healthz', 'admin'],
      ['/readyz', 'http'],
    ]);
  });

  it('runs as no root, with nothing to write to but its data, and migrates first', () => {
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const each of [container, initContainer]) {
      expect(each.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(each.image).toBe('sluice');
      expect(each.envFrom).toEqual([{ configMapRef: { name: 'sluice' } }]);
      const places = list(each, 'volumeMounts').map(({ mountPath }) => mountPath);
      expect(places).toEqual(['/data', '/run/secrets/sluice']);
    }
    expect(initContainer.command).toEqual(['node', 'dist/cli/sluice.js', 'migrate']);
    expect([pod.automountServiceAccountToken, pod.enableServiceLinks]).toEqual([false, false]);
    const image = readFileSync(join(DEPLOY, '../Dockerfile'), 'utf8');
    expect(image).toContain('DATA_DIR=/data');
  });

  it('has selectors that find the pods, and ports that they have', () => {
    const named = list(container, 'ports').map(({ name }) => name);
    for (const name of ['service.yaml', 'admin-service.yaml']) {
      const { selector, ports } = at(document(name), 'spec');
      expect(labels, name).toMatchObject(selector as object);
      expect(named, name).toContain((ports as Fields[])[0]?.targetPort);
    }
    for (const [name, path] of [
      ['deployment.yaml', 'selector'],
      ['pod-disruption-budget.yaml', 'selector'],
      ['network-policy.yaml', 'podSelector'],
    ] as const) {
      expect(labels, name).toMatchObject(at(document(name), 'spec', path, 'matchLabels'));
    }
    for (const { labelSelector } of list(pod, 'topologySpreadConstraints')) {
      expect(labels).toMatchObject((labelSelector as { matchLabels: object }).matchLabels);
    }
    const monitor = at(document('service-monitor.yaml'), 'spec');
    expect(at(document('admin-service.yaml'), 'metadata', 'labels')).toMatchObject(
      at(monitor, 'selector', 'matchLabels'),
    );
    expect(at(document('service.yaml'), 'metadata', 'labels')).not.toMatchObject(
      at(monitor, 'selector', 'matchLabels'),
    );
  });

  describe('the CronJob of the backup', () => {
    const job = at(document('backup-cron-job.yaml'), 'spec');
    const backup = at(job, 'jobTemplate', 'spec', 'template', 'spec');
    const runs = at(backup, 'containers', 0);

    it('begins one at a time, once a day, as no root, with its volume to write to', () => {
      expect(job).toMatchObject({ schedule: '17 3 * * *', concurrencyPolicy: 'Forbid' });
      expect(backup).toMatchObject({
        restartPolicy: 'Never',
        securityContext: pod.securityContext,
      });
      expect(runs.securityContext).toEqual(container.securityContext);
      const [claim = {}, secret = {}] = list(backup, 'volumes');
      const volume = at(document('backup-volume.yaml'), 'metadata').name;
      expect(at(claim, 'persistentVolumeClaim').claimName).toBe(volume);
      expect(at(secret, 'secret').secretName).toBe('sluice');
      const { images } = document('kustomization.yaml');
      expect(images).toContainEqual({ name: runs.image, newTag: '17-alpine' });
    });

    const places = { '/backup': '.', '/run/secrets/sluice': '.' };
    itBacksUp((runs.args as string[])[0] ?? '', places, (url) => ({ DATABASE_URL: url }));
  });

  it('scales and evicts one pod after the other, and keeps strangers from the admin port', () => {
    const scaler = at(document('horizontal-pod-autoscaler.yaml'), 'spec');
    expect(scaler.scaleTargetRef).toMatchObject({ kind: 'Deployment', name: 'sluice' });
    expect(scaler.minReplicas).toBeGreaterThanOrEqual(2);
    expect(at(document('deployment.yaml'), 'spec').replicas).toBeUndefined();
    expect(at(document('pod-disruption-budget.yaml'), 'spec').maxUnavailable).toBe(1);
    const policy = at(document('network-policy.yaml'), 'spec');
    expect(policy.policyTypes).toEqual(['Ingress', 'Egress']);
    const open = list(policy, 'ingress').filter(({ from }) => from === undefined);
    expect(open.flatMap(({ ports }) => ports)).toEqual([{ port: 'http' }]);
  });
});

describe('deploy/kubernetes-edge', () => {
  const folder = join(DEPLOY, 'kubernetes-edge');
  const documents = new Map(
    readdirSync(folder).map((name) => [name, load(readFileSync(join(folder, name), 'utf8'))]),
  );
  const document = (name: string): Fields => documents.get(name) as Fields;
  const set = at(document('stateful-set.yaml'), 'spec');
  const pod = at(set, 'template', 'spec');
  const container = at(pod, 'containers', 0);
  const settings = at(document('config-map.yaml'), 'data') as unknown as Record<string, string>;

  it('lists every file once', () => {
    const { resources } = document('kustomization.yaml');
    const others = [...documents.keys()].filter((name) => name !== 'kustomization.yaml');
    expect([...(resources as string[])].sort()).toEqual(others.sort());
  });

  it('has settings that an edge takes, whose file the pod mounts', () => {
    const { EDGE_TOKEN_FILE: file, ...others } = settings;
    const config = readEdgeConfig(undefined, { ...others, EDGE_TOKEN: 'sluice-edge_x.y' });
    const ports = list(container, 'ports').map(({ containerPort }) => containerPort);
    expect(ports).toEqual([config.port, config.adminListen?.port]);
    const mounted = list(container, 'volumeMounts').find(({ name }) => name === 'secrets');
    expect(file).toMatch(new RegExp(`^${mounted?.mountPath}/[a-z-]+$`));
    expect(config.drainMs / 1000 + 10).toBeLessThanOrEqual(
      Number(pod.terminationGracePeriodSeconds),
    );
  });

  it('keeps the journal on a volume of each pod, and has room for it', () => {
    const [claim = {}] = list(set, 'volumeClaimTemplates');
    const { storage } = at(claim, 'spec', 'resources', 'requests');
    expect(Number.parseInt(String(storage), 10) * 1024).toBeGreaterThan(
      2 * Number(settings.EDGE_JOURNAL_MB),
    );
    const places = list(container, 'volumeMounts').map(({ mountPath }) => mountPath);
    expect(places).toEqual(['/data', '/run/secrets/sluice']);
  });

  it('has selectors that find the pods, and ports that they have', () => {
    const labels = at(set, 'template', 'metadata', 'labels');
    const { selector, ports } = at(document('service.yaml'), 'spec');
    expect(labels).toMatchObject(selector as object);
    const named = list(container, 'ports').map(({ name }) => name);
    expect(named).toContain((ports as Fields[])[0]?.targetPort);
    const others = ['stateful-set.yaml', 'pod-disruption-budget.yaml', 'pod-monitor.yaml'];
    for (const name of others) {
      expect(labels, name).toMatchObject(at(document(name), 'spec', 'selector', 'matchLabels'));
    }
    const [endpoint] = list(at(document('pod-monitor.yaml'), 'spec'), 'podMetricsEndpoints');
    expect(named).toContain(endpoint?.port);
  });
});

describe('the profile `edges` of docker-compose.yml', () => {
  const compose = load(readFileSync(join(DEPLOY, '../docker-compose.yml'), 'utf8')) as Fields;

  it('has settings that an edge takes, and a volume for each edge', () => {
    const shared = at(compose, 'x-edge');
    const environment = at(shared, 'environment') as Readonly<Record<string, string>>;
    const settings = Object.fromEntries(
      Object.entries(environment).map(([key, value]) => [key, defaultOf(value)]),
    );
    const config = readEdgeConfig(undefined, { ...settings, EDGE_TOKEN: 'sluice-edge_x.y' });
    expect([config.edge.upstream, config.trustProxy]).toEqual(['http://front:8080', 1]);
    expect(shared.profiles).toEqual(['edges']);
    const edges = ['edge-1', 'edge-2'].map((name) => at(compose, 'services', name));
    const volumes = edges.flatMap((edge) => edge.volumes as string[]);
    expect(new Set(volumes).size).toBe(2);
  });

  const nginx = findNginx();
  const missing = nginx === undefined ? ' (skipped: no nginx on this machine)' : '';
  it.skipIf(nginx === undefined)(`has a cache in front that nginx takes${missing}`, () => {
    const { content } = at(compose, 'configs', 'edge-cache');
    const folder = mkdtempSync(join(tmpdir(), 'sluice-edge-cache-'));
    try {
      // Compose writes a dollar twice; the names are those of the containers.
      const site = String(content)
        .replaceAll('$$', '$')
        .replaceAll(/edge-\d:8080/g, '127.0.0.1:8080')
        .replace('/var/cache/nginx-sluice', join(folder, 'cache'));
      const path = join(folder, 'nginx.conf');
      writeFileSync(path, `pid ${folder}/pid;\nevents {}\nhttp {\n${site}\n}\n`);
      const { status, stderr } = spawnSync(nginx ?? '', ['-t', '-q', '-c', path, '-p', folder], {
        encoding: 'utf8',
      });
      expect(status, stderr).toBe(0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('deploy/nginx-cache.conf', () => {
  const [nginx, openssl] = [findNginx(), findOpenssl()];
  const isRoot = process.getuid?.() === 0;
  const canRun = isRoot && nginx !== undefined && openssl !== undefined;
  const missing = canRun ? '' : ' (skipped: not root, or no nginx or openssl on this machine)';
  const shipped = readFileSync(join(DEPLOY, 'nginx-cache.conf'), 'utf8');

  /** Returns what nginx complains of in a site, which is whole but for its certificate. */
  function complaintsOf(site: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-cache-'));
    const [, cache = ''] = /^proxy_cache_path (\S+) /m.exec(site) ?? [];
    const wasThere = existsSync(cache);
    try {
      makeCertificate(openssl ?? '', folder);
      const certified = site.replaceAll('/etc/ssl/sluice/updates', join(folder, 'cert'));
      const path = join(folder, 'nginx.conf');
      writeFileSync(path, `pid ${folder}/pid;\nevents {}\nhttp {\n${certified}\n}\n`);
      const args = ['-t', '-q', '-c', path, '-p', folder];
      const { status, stderr } = spawnSync(nginx ?? '', args, { encoding: 'utf8' });
      return status === 0 && existsSync(cache) ? '' : `${status} ${stderr}`;
    } finally {
      rmSync(folder, { recursive: true, force: true });
      if (!wasThere) rmSync(cache, { recursive: true, force: true });
    }
  }

  it.skipIf(!canRun)(`is what nginx takes as it stands, but for the certificate${missing}`, () => {
    expect(complaintsOf(shipped)).toBe('');
  });

  it.skipIf(!canRun)(`takes what the manual adds for /u${missing}`, () => {
    const section = sectionOf(readDocument('docs/operating/proxy.md'), 'Behind a cache');
    const [, added = ''] = /```nginx\n([^`]*)```/.exec(section) ?? [];
    expect(added).toContain('location /u/ {');
    const whole = shipped.replace('  location / {', () => `${added}\n  location / {`);
    expect(whole).toContain(added);
    expect(complaintsOf(whole)).toBe('');
  });

  it('keeps what it keeps where the cache of docker-compose.yml does', () => {
    const [path, other] = ['deploy/nginx-cache.conf', 'docker-compose.yml'].map((name) => {
      const text = readFileSync(join(DEPLOY, '..', name), 'utf8');
      return /proxy_cache_path (\S+) /.exec(text)?.[1];
    });
    expect([path, other]).toEqual([expect.stringMatching(/^\/var\/cache\/[^/]+$/), path]);
  });
});

/** Value that a variable of compose has when nothing is set: `${NAME:-value}`. */
function defaultOf(value: string): string {
  return value.replace(/^\$\{\w+:-(.*)\}$/, '$1');
}

/** Returns what stands below a path of names and positions; throws when nothing does. */
function at(value: Fields, ...path: readonly (string | number)[]): Fields {
  return path.reduce<Fields>((inner, name) => {
    const next = inner[name];
    if (typeof next !== 'object' || next === null) throw new Error(`nothing at ${path.join('.')}`);
    return next as Fields;
  }, value);
}

function list(value: Fields, name: string): readonly Fields[] {
  return at(value, name) as unknown as readonly Fields[];
}
