// Cost of a decision on channels of one release to ten thousand, and of compiling their catalogs. Runs in
// this process, on the domain's own functions: no network, no store.

import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { TargetExpression, Targeting } from '../../src/contract/resource.ts';
import { type Catalog, candidatesFor, compileCatalog } from '../../src/domain/decision/catalog.ts';
import { hashText } from '../../src/domain/decision/cohort.ts';
import { decide } from '../../src/domain/decision/decide.ts';
import { type Plan, planUpdate } from '../../src/domain/decision/plan.ts';
import type {
  ServingSnapshot,
  SnapshotRelease,
} from '../../src/domain/decision/serving-snapshot.ts';
import type { RequestFields } from '../../src/domain/decision/targeting.ts';
import { parseVersion, type Version } from '../../src/domain/decision/version.ts';
import type { Row } from '../measure/report.ts';
import { median } from '../measure/statistics.ts';
import { seededRandom } from '../random.ts';
import { ARCHES, PLATFORMS } from '../service/fixed-channel.ts';
import type { Benchmark } from './benchmark.ts';

const SEED = 20_261_120;
const DEVICES = 4096;
const PLANS = 256;
/** Number of releases that the others are compared with: growth says that a decision looks at too many. */
const COMPARED_WITH = 10;
const LABELS = new Map([
  ['ring', 'early'],
  ['region', 'eu'],
]);

type Shape = { readonly releases: number; readonly expressions: number };

const SHAPES: readonly Shape[] = [
  { releases: 1, expressions: 0 },
  { releases: 10, expressions: 0 },
  { releases: 100, expressions: 0 },
  { releases: 1000, expressions: 0 },
  { releases: 10_000, expressions: 0 },
  { releases: 10, expressions: 2 },
  { releases: 10, expressions: 8 },
  { releases: 10, expressions: 32 },
];

export const catalog: Benchmark = {
  name: 'catalog',
  title: 'cost of a decision by the number of releases and of targeting expressions (in process)',
  explanation: [
    'warm ns: a decision on a plan that is there, as for nearly every check; cold ns: for the first version',
    'at its place among the releases, so plan and all. growth: against 10 releases without expressions.',
    'build ms and MB: to compile the catalog, and what it keeps. expressions: of each release.',
  ],
  async run({ isSmoke }) {
    const shapes = isSmoke ? SHAPES.filter(({ releases }) => releases <= 1000) : SHAPES;
    const subjects = shapes.map((shape) => prepare(shape, isSmoke ? 1 : 3));
    const rounds = isSmoke ? 3 : 15;
    // The first round, in which all is compiled, does not count.
    for (let round = -1; round < rounds; round++) {
      for (const subject of subjects) {
        const warm = timeWarm(subject, isSmoke ? 20_000 : 200_000);
        const cold = timeCold(subject, isSmoke ? 1000 : 3000);
        if (round < 0) continue;
        subject.warmNs.push(warm);
        subject.coldNs.push(cold);
      }
    }
    return rowsOf(subjects);
  },
};

type Subject = {
  readonly shape: Shape;
  readonly catalog: Catalog;
  readonly buildMs: number;
  readonly megabytes: number;
  readonly plans: readonly Plan[];
  readonly hashes: Int32Array;
  readonly warmNs: number[];
  readonly coldNs: number[];
  /** Number of cold versions asked for so far, so that none comes twice. */
  asked: number;
};

function prepare(shape: Shape, builds: number): Subject {
  const snapshot = snapshotOf(shape);
  const times: number[] = [];
  let built = compileCatalog(snapshot);
  for (let build = 0; build < builds; build++) {
    const begin = performance.now();
    built = compileCatalog(snapshot);
    times.push(performance.now() - begin);
  }
  const random = seededRandom(SEED);
  return {
    shape,
    catalog: built,
    buildMs: median(times),
    megabytes: megabytesOf(snapshot),
    plans: Array.from({ length: PLANS }, (_, index) => planOf(built, fieldsOf(index))),
    hashes: Int32Array.from({ length: DEVICES }, () => random() * 0x1_0000_0000),
    warmNs: [],
    coldNs: [],
    asked: 0,
  };
}

/** Channel with its newest release at 20 %, as while one is rolled out, and all others at 100 %. */
function snapshotOf({ releases, expressions }: Shape): ServingSnapshot {
  return {
    appId: 'app_bench',
    appRef: 'bench',
    channelId: 'chn_bench',
    channel: 'stable',
    epoch: 0,
    revision: 1,
    updateMode: 'optional',
    minimumSupportedVersion: null,
    requireSignature: false,
    follows: null,
    releases: Array.from({ length: releases }, (_, index) =>
      releaseOf(index, index === releases - 1 && releases > 1 ? 20 : 100, expressions),
    ),
  };
}

function releaseOf(index: number, rolloutPct: number, expressions: number): SnapshotRelease {
  const version = `2.${Math.floor(index / 100)}.${index % 100}`;
  return {
    id: `rel_${index}`,
    edition: `edition-${index}`,
    version,
    notes: 'Fixes a crash at start. '.repeat(10),
    status: 'published',
    rolloutPct,
    targets: expressions === 0 ? null : targetingOf(expressions),
    offered: true,
    followed: false,
    createdAt: '2026-01-01T00:00:00.000Z',
    artifacts: PLATFORMS.flatMap((platform) =>
      ARCHES.map((arch) => ({
        platform,
        arch,
        url: `https://downloads.example.com/${platform}/${arch}/${version}.tar.gz`,
      })),
    ),
  };
}

/** Targeting of which half looks at fields of the request and half at labels; every expression holds. */
function targetingOf(count: number): Targeting {
  const matchExpressions = Array.from({ length: count }, (_, index): TargetExpression => {
    if (index % 2 === 0) return { key: '$version', operator: 'VersionGte', values: ['0.0.1'] };
    return { key: 'ring', operator: 'NotIn', values: [`frozen-${index}`] };
  });
  return { matchLabels: {}, matchExpressions };
}

/** Plan of an update check with these fields. */
function planOf(served: Catalog, fields: RequestFields): Plan {
  return planUpdate(served, fields, candidatesFor(served, fields.platform, fields.arch));
}

function fieldsOf(index: number) {
  return {
    version: versionOf(`1.${index >> 4}.${index & 15}`),
    platform: PLATFORMS[index % PLATFORMS.length] ?? 'linux',
    arch: ARCHES[index % ARCHES.length] ?? 'x86_64',
  };
}

function versionOf(text: string): Version {
  const version = parseVersion(text);
  if (version === undefined) throw new Error(`${text} is no version`);
  return version;
}

function timeWarm({ plans, hashes }: Subject, count: number): number {
  let offered = 0;
  const begin = performance.now();
  for (let index = 0; index < count; index++) {
    const hash = hashes[index & (DEVICES - 1)] as number;
    const plan = plans[index & (PLANS - 1)] as Plan;
    if (decide(plan, { hash, labels: LABELS }).candidate !== undefined) offered += 1;
  }
  return perItemNs(begin, count, offered);
}

function timeCold(subject: Subject, count: number): number {
  const { hashes } = subject;
  let offered = 0;
  const begin = performance.now();
  for (let index = 0; index < count; index++) {
    const version = versionOf(`1.99.${subject.asked}`);
    subject.asked += 1;
    const plan = planOf(subject.catalog, { version, platform: 'linux', arch: 'x86_64' });
    const hash = hashes[index & (DEVICES - 1)] as number;
    if (decide(plan, { hash, labels: LABELS }).candidate !== undefined) offered += 1;
  }
  return perItemNs(begin, count, offered);
}

function perItemNs(begin: number, count: number, offered: number): number {
  const ns = ((performance.now() - begin) * 1e6) / count;
  // Checked, which also keeps the decisions from being optimised away.
  if (offered === 0) throw new Error('no device was offered anything');
  return ns;
}

function rowsOf(subjects: readonly Subject[]): Row[] {
  const base = subjects.find(
    ({ shape }) => shape.releases === COMPARED_WITH && shape.expressions === 0,
  );
  return subjects.map((subject) => ({
    releases: String(subject.shape.releases),
    expressions: subject.shape.expressions,
    'warm ns': Math.round(median(subject.warmNs)),
    growth: median(subject.warmNs) / median(base?.warmNs ?? []),
    'cold ns': Math.round(median(subject.coldNs)),
    'cold growth': median(subject.coldNs) / median(base?.coldNs ?? []),
    'build ms': subject.buildMs,
    MB: subject.megabytes,
    checksum: checksumOf(subject),
  }));
}

/** Checksum of what a fixed sequence of devices is offered. */
function checksumOf({ plans }: Subject): string {
  const hash = createHash('sha256');
  for (let index = 0; index < DEVICES; index++) {
    const device = { hash: hashText(`device-${index}`), labels: LABELS };
    const { candidate, reason } = decide(plans[index % PLANS] as Plan, device);
    hash.update(`${reason} ${candidate?.release.version.canonical}\n`);
  }
  return hash.digest('hex').slice(0, 12);
}

/** Memory that a compiled catalog keeps, beside its snapshot, once every platform and arch was asked for. */
function megabytesOf(snapshot: ServingSnapshot): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  const compiled = compileCatalog(snapshot);
  for (let index = 0; index < 6; index++) planOf(compiled, fieldsOf(index));
  collect();
  const bytes = process.memoryUsage().heapUsed - before;
  // The catalog is read after the measurement, so that it is alive until then.
  return compiled.published.length === 0 ? 0 : Math.max(0, bytes / 2 ** 20);
}
