// Tests what deploy/ has beside the units of systemd: the manifests of Kubernetes against the settings of the
// service and against each other, the scripts of backups, and the caches in front of a service.

import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { load } from 'js-yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readEdgeConfig } from '../src/settings/edge-settings.ts';
import { readConfig } from '../src/settings/settings.ts';
import { readDocument, repositoryPath, sectionOf } from './docs/document.ts';
import { findNginx, findOpenssl, makeCertificate } from './support/nginx-front.ts';

type Fields = { readonly [name: string]: unknown };

const SECRET = 'f3b1c09a7d5e2846f3b1c09a7d5e2846';
/** Contents of the files that the manifests mount from the secret. */
const FILES = {
  ...{ DATABASE_URL: 'postgres://db/sluice', REDIS_URL: 'redis://cache' },
  ...{ ADMIN_TOKEN: SECRET, SECRET_KEY: SECRET },
};
const EDGE_TOKEN = 'sluice-edge_x.y';

const read = (path: string) => readDocument(path).text;
const yaml = (path: string) => load(read(path)) as Fields;

let folder = '';
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'sluice-deployment-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

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

/** Reads the manifests of a folder: each by its name and a path in it, and what their pods have. */
function manifests(place: string, workload: string) {
  const names = fs.readdirSync(join(repositoryPath, place));
  const document = (name: string, ...path: readonly (string | number)[]) =>
    at(yaml(`${place}/${name}.yaml`), ...path);
  const pod = document(workload, 'spec', 'template', 'spec');
  const container = at(pod, 'containers', 0);
  const mounted = list(container, 'volumeMounts').map(({ mountPath }) => mountPath);
  const ports = list(container, 'ports');
  return {
    ...{ names, document, pod, container, mounted },
    settings: document('config-map', 'data') as Readonly<Record<string, string>>,
    labels: document(workload, 'spec', 'template', 'metadata', 'labels'),
    ports: ports.map(({ containerPort }) => containerPort),
    portNames: ports.map(({ name }) => name),
  };
}

const service = manifests('deploy/kubernetes', 'deployment');
const edge = manifests('deploy/kubernetes-edge', 'stateful-set');

describe.each([
  ['kubernetes', service, ['service', 'admin-service']],
  ['kubernetes-edge', edge, ['service']],
] as const)('deploy/%s', (_, { document, names, labels, mounted, portNames }, services) => {
  it('lists every file once, and keeps its data where the image does', () => {
    const { resources } = document('kustomization');
    const others = names.filter((name) => name !== 'kustomization.yaml');
    expect([...(resources as string[])].sort()).toEqual(others.sort());
    expect(mounted).toEqual(['/data', '/run/secrets/sluice']);
    expect(read('Dockerfile')).toContain('DATA_DIR=/data');
  });

  it('has selectors that find the pods, and ports that they have', () => {
    for (const name of services) {
      const { selector, ports } = document(name, 'spec');
      expect(labels, name).toMatchObject(selector as object);
      expect(portNames, name).toContain((ports as Fields[])[0]?.targetPort);
    }
    const selecting = ['deployment', 'stateful-set', 'pod-disruption-budget', 'pod-monitor'];
    for (const name of selecting.filter((each) => names.includes(`${each}.yaml`))) {
      expect(labels, name).toMatchObject(document(name, 'spec', 'selector', 'matchLabels'));
    }
  });
});

describe('a pod of the service', () => {
  const { document, pod, container, settings, labels } = service;
  const config = readConfig(settings, FILES);

  it('has settings that the service takes, whose files it mounts', () => {
    expect(service.ports).toEqual([config.port, config.adminListen?.port]);
    expect([config.trustProxy, config.host]).toEqual([1, '0.0.0.0']);
    for (const name of Object.keys(FILES)) {
      expect(settings[`${name}_FILE`]).toMatch(/^\/run\/secrets\/sluice\/[a-z-]+$/);
    }
    expect(list(pod, 'volumes')[1]).toMatchObject({ secret: { secretName: 'sluice' } });
  });

  it('has the time to drain and to stop, and tells health and readiness', () => {
    const readiness = at(container, 'readinessProbe');
    const unready = Number(readiness.periodSeconds) * Number(readiness.failureThreshold);
    expect(config.drainMs / 1000).toBeGreaterThan(unready);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(config.drainMs / 1000 + 10);
    expect(container).toMatchObject({
      startupProbe: { httpGet: { path: '/healthz', port: 'admin' } },
      livenessProbe: { httpGet: { path: '/healthz', port: 'admin' } },
      readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
    });
  });

  it('runs as no root, with nothing to write to but its data, and migrates first', () => {
    const initContainer = at(pod, 'initContainers', 0);
    expect(pod.securityContext).toMatchObject({
      ...{ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    for (const each of [container, initContainer]) {
      expect(each).toMatchObject({
        image: 'sluice',
        envFrom: [{ configMapRef: { name: 'sluice' } }],
      });
      expect(each.securityContext).toEqual({
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
        capabilities: { drop: ['ALL'] },
      });
    }
    const places = list(initContainer, 'volumeMounts').map(({ mountPath }) => mountPath);
    expect(places).toEqual(service.mounted);
    expect(initContainer.command).toEqual(['node', 'dist/cli/sluice.js', 'migrate']);
    expect([pod.automountServiceAccountToken, pod.enableServiceLinks]).toEqual([false, false]);
  });

  it('is scaled and evicted one after the other, is monitored, and kept from strangers', () => {
    const scaler = document('horizontal-pod-autoscaler', 'spec');
    expect(scaler.scaleTargetRef).toMatchObject({ kind: 'Deployment', name: 'sluice' });
    expect(scaler.minReplicas).toBeGreaterThanOrEqual(2);
    expect(document('deployment', 'spec').replicas).toBeUndefined();
    expect(document('pod-disruption-budget', 'spec').maxUnavailable).toBe(1);
    for (const { labelSelector } of list(pod, 'topologySpreadConstraints')) {
      expect(labels).toMatchObject((labelSelector as { matchLabels: object }).matchLabels);
    }
    const monitored = document('service-monitor', 'spec', 'selector', 'matchLabels');
    expect(document('admin-service', 'metadata', 'labels')).toMatchObject(monitored);
    expect(document('service', 'metadata', 'labels')).not.toMatchObject(monitored);
    const policy = document('network-policy', 'spec');
    expect(labels).toMatchObject(at(policy, 'podSelector', 'matchLabels'));
    expect(policy.policyTypes).toEqual(['Ingress', 'Egress']);
    const open = list(policy, 'ingress').filter(({ from }) => from === undefined);
    expect(open.flatMap(({ ports }) => ports)).toEqual([{ port: 'http' }]);
  });
});

describe('an edge', () => {
  it('as a pod has settings that it takes, time to stop, and room for its journal', () => {
    const { settings, ports, pod, document, portNames } = edge;
    const { EDGE_TOKEN_FILE: file, ...others } = settings;
    const config = readEdgeConfig(undefined, { ...others, EDGE_TOKEN });
    expect(ports).toEqual([config.port, config.adminListen?.port]);
    expect(file).toMatch(/^\/run\/secrets\/sluice\/[a-z-]+$/);
    expect(config.drainMs / 1000 + 10).toBeLessThanOrEqual(
      Number(pod.terminationGracePeriodSeconds),
    );
    const [claim = {}] = list(document('stateful-set', 'spec'), 'volumeClaimTemplates');
    const { storage } = at(claim, 'spec', 'resources', 'requests');
    const journalMiB = Number(settings.EDGE_JOURNAL_MB);
    expect(Number.parseInt(String(storage), 10) * 1024).toBeGreaterThan(2 * journalMiB);
    const [endpoint] = list(document('pod-monitor', 'spec'), 'podMetricsEndpoints');
    expect(portNames).toContain(endpoint?.port);
  });

  it('of docker-compose.yml has settings that it takes, and a volume of its own', () => {
    const compose = yaml('docker-compose.yml');
    const shared = at(compose, 'x-edge');
    // A variable of compose has this value when nothing is set: `${NAME:-value}`.
    const settings = Object.entries(at(shared, 'environment')).map(([key, value]) => [
      ...[key, String(value).replace(/^\$\{\w+:-(.*)\}$/, '$1')],
    ]);
    const config = readEdgeConfig(undefined, { ...Object.fromEntries(settings), EDGE_TOKEN });
    expect([config.edge.upstream, config.trustProxy]).toEqual(['http://front:8080', 1]);
    expect(shared.profiles).toEqual(['edges']);
    const volumes = ['edge-1', 'edge-2'].flatMap((name) =>
      list(at(compose, 'services', name), 'volumes'),
    );
    expect(new Set(volumes).size).toBe(2);
  });
});

// As systemd reads it: lines joined, and dollars and percent signs that stand twice are one.
const [, quoted = ''] =
  /^ExecStart=\/bin\/sh -euc '\\\n([^']*)'$/m.exec(read('deploy/systemd/sluice-backup.service')) ??
  [];
const UNIT = quoted.replaceAll('\\\n', ' ').replaceAll('$$', '$').replaceAll('%%', '%');
const JOB = service.document('backup-cron-job', 'spec');
const BACKUP = at(JOB, 'jobTemplate', 'spec', 'template', 'spec');
const runs = at(BACKUP, 'containers', 0);

/**
 * Runs a script of a backup in the folder of the test, with a `pg_dump` that writes its address into the
 * file, or fails half-way for the address `broken`. Returns the files that are there then; two were there
 * before, of 15 and of 12 days ago.
 */
function runBackup(script: string, DATABASE_URL?: string) {
  const dump = '#!/bin/sh\necho "$3" >"$(echo "$2" | cut -c8-)"\n[ "$3" != broken ]\n';
  fs.writeFileSync(join(folder, 'pg_dump'), dump, { mode: 0o755 });
  for (const days of [15, 12]) {
    const path = join(folder, `sluice-${days}-days.dump`);
    fs.writeFileSync(path, '');
    const then = new Date(Date.now() - days * 86_400_000);
    fs.utimesSync(path, then, then);
  }
  fs.writeFileSync(join(folder, 'database-url'), DATABASE_URL ?? '');
  const moved = script
    .replaceAll(/\/var\/lib\/sluice-backup|\/backup|\/run\/secrets\/sluice/g, '.')
    .replaceAll('/usr/bin/node', 'echo');
  const env = {
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    ...(DATABASE_URL && { DATABASE_URL }),
  };
  const { status, stdout } = spawnSync('sh', ['-euc', moved], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  const files = fs.readdirSync(folder).filter((name) => name.startsWith('sluice-'));
  return { status, stdout, files };
}

describe.each([
  ['of systemd', UNIT],
  ['of Kubernetes', (runs.args as string[])[0] ?? ''],
])('the script of a backup %s', (_, script) => {
  it('names a file a backup when it is whole, and then removes those that are older than 14 days', () => {
    const { status, files } = runBackup(script, 'postgres://db/sluice');
    const made = expect.stringMatching(/^sluice-\d{8}T\d{6}Z\.dump$/);
    expect([status, files]).toEqual([0, ['sluice-12-days.dump', made]]);
    const content = fs.readFileSync(join(folder, files[1] ?? ''), 'utf8');
    expect(content).toBe('postgres://db/sluice\n');
  });

  it('that fails ends with an error, names nothing a backup and removes none', () => {
    const { status, files } = runBackup(script, 'broken');
    expect(status).not.toBe(0);
    const dumps = files.filter((name) => name.endsWith('.dump'));
    expect(dumps).toEqual(['sluice-12-days.dump', 'sluice-15-days.dump']);
  });
});

it('the backup of systemd asks the running service where there is no DATABASE_URL', () => {
  const command = /^\/opt\/sluice\/dist\/cli\/sluice\.js backup \.\/sluice-\w+Z\.tar\.gz\n$/;
  expect(runBackup(UNIT).stdout).toMatch(command);
});

it('the backup of Kubernetes begins once a day, one at a time, as no root, with its volume', () => {
  expect(JOB).toMatchObject({ schedule: '17 3 * * *', concurrencyPolicy: 'Forbid' });
  const { securityContext } = service.pod;
  expect(BACKUP).toMatchObject({ restartPolicy: 'Never', securityContext });
  expect(runs.securityContext).toEqual(service.container.securityContext);
  const claimName = service.document('backup-volume', 'metadata').name;
  expect(BACKUP.volumes).toMatchObject([
    ...[{ persistentVolumeClaim: { claimName } }, { secret: { secretName: 'sluice' } }],
  ]);
  const { images } = service.document('kustomization');
  expect(images).toContainEqual({ name: runs.image, newTag: '17-alpine' });
});

describe('a cache in front', () => {
  const [nginx, openssl] = [findNginx(), findOpenssl()];
  const canRun = process.getuid?.() === 0 && nginx !== undefined && openssl !== undefined;
  const skipped = canRun ? '' : ' (skipped: not root, or no nginx or openssl on this machine)';
  const shipped = read('deploy/nginx-cache.conf');
  const { content } = at(yaml('docker-compose.yml'), 'configs', 'edge-cache');
  const placeIn = (site: unknown) => /^ *proxy_cache_path (\S+) /m.exec(String(site))?.[1] ?? '';

  /** Returns what nginx complains of in a site, which is whole but for its certificate. */
  function complaintsOf(site: string): string {
    makeCertificate(String(openssl), folder);
    const whole = site
      .replaceAll('/etc/ssl/sluice/updates', join(folder, 'cert'))
      .replace(placeIn(site), join(folder, 'cache'));
    const path = join(folder, 'nginx.conf');
    fs.writeFileSync(path, `pid ${folder}/pid;\nevents {}\nhttp {\n${whole}\n}\n`);
    const args = ['-t', '-q', '-c', path, '-p', folder];
    const { status, stderr } = spawnSync(String(nginx), args, { encoding: 'utf8' });
    return status === 0 ? '' : `${status} ${stderr}`;
  }

  it.skipIf(!canRun)(`nginx takes it: shipped, of compose and for /u${skipped}`, () => {
    expect(complaintsOf(shipped)).toBe('');
    // Compose writes a dollar twice; the names are those of the containers.
    const ofCompose = String(content).replaceAll('$$', '$');
    expect(complaintsOf(ofCompose.replaceAll(/edge-\d:8080/g, '127.0.0.1:8080'))).toBe('');
    const section = sectionOf(readDocument('docs/operating/proxy.md'), 'Behind a cache');
    const [, added = ''] = /```nginx\n([^`]*)```/.exec(section) ?? [];
    expect(added).toContain('location /u/ {');
    const whole = shipped.replace('  location / {', () => `${added}\n  location / {`);
    expect(whole).toContain(added);
    expect(complaintsOf(whole)).toBe('');
  });

  it('keeps what it keeps at one place, shipped and of compose', () => {
    expect(placeIn(shipped)).toMatch(/^\/var\/cache\/[^/]+$/);
    expect(placeIn(content)).toBe(placeIn(shipped));
  });
});
