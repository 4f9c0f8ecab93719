// How the tests run, in parts; CONTRIBUTING.md says what each part holds and who runs it. `unit` needs no
// server, the others need real ones (test/support/global-setup.ts). Forked processes, because the tests open
// native handles and kill servers.

import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const SERVERS = 'test/support/global-setup.ts';
const NODES = 'test/support/shared-nodes.ts';

/** Parts that need servers, each with its folders and what starts before it; every other test is a unit test. */
const SERVER_PARTS: Readonly<Record<string, { folders: string[]; before: string[] }>> = {
  // One part: for each change of part a worker loads its modules anew.
  servers: {
    folders: ['test/store/engine', 'test/store/ledger', 'test/service', 'test/browser'],
    before: [SERVERS, NODES],
  },
  faults: { folders: ['test/faults', 'test/process'], before: [SERVERS] },
  release: { folders: ['test/release'], before: [SERVERS] },
  timed: { folders: ['test/timed'], before: [SERVERS] },
};
/**
 * Milliseconds for a test: some ten times what the slowest needs on an idle machine, for a limit shall end
 * tests that hang, and none that a busy machine keeps waiting. What starts several nodes and servers has more.
 */
const TIMEOUT_MS = 180_000;
const LONG_TIMEOUT_MS = 300_000;
/**
 * Files at a time: a file often waits for a server, so more than a small machine has processors. Six are a
 * third quicker on an idle machine; on a busy one pages then poll between two steps of a test.
 */
const FILES_AT_A_TIME = 4;

/** Files that take longest, the longest first: begun last, they would keep the next part waiting. */
const LONGEST = [
  ...['service/ddi-swupdate', 'service/ddi-swupdate-restarts'],
  ...['store/ledger/ledger', 'browser/pages', 'service/documents', 'service/check-ins'],
  ...['service/embedded', 'service/settings', 'service/http-engine', 'service/admin-address'],
  ...['service/monitoring', 'browser/rollout', 'browser/noticing'],
  ...['browser/plans', 'service/webhook-settings', 'service/tracing', 'service/approvals'],
  ...['service/oidc-sign-in', 'browser/finding', 'browser/oidc-sign-in', 'browser/publishing'],
  ...['browser/passkeys', 'browser/steering', 'updater/grammars', 'fleet/label-model'],
  ...['faults/foreign-stores', 'faults/races', 'faults/edge', 'faults/pglite-database'],
  ...['faults/stop', 'faults/static-stability', 'faults/notifications', 'faults/check-in-faults'],
  ...['faults/rollout-plans', 'faults/backup', 'faults/ledger-went-back'],
  ...['release/edge', 'release/cached-decisions', 'release/move', 'release/upgrade'],
  ...['release/broken-off-move', 'release/doctor', 'release/store-words'],
].map((name) => `/test/${name}.test.ts`);

/** Runs the parts one after the other, as they stand above, and units last; in a part the longest files first. */
class PartByPart extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const parts = [...Object.keys(SERVER_PARTS), 'unit'];
    const long = LONGEST.flatMap((end) => sorted.filter(({ moduleId }) => moduleId.endsWith(end)));
    const ordered = [...long, ...sorted.filter((file) => !long.includes(file))];
    return parts.flatMap((part) => ordered.filter(({ project }) => project.name === part));
  }
}

/**
 * Arguments of Node.js for units, which take a seventh less processor time with them: Node 20 optimizes what
 * has run sixteen times as long as by its default, and its young heap begins with 16 MB in place of 1.
 * Node 22 optimizes late by itself. Services that live as long as a run take a twelfth more with them.
 */
const UNIT_ARGUMENTS = process.version.startsWith('v20.')
  ? ['--interrupt-budget=1000000', '--min-semi-space-size=16', '--max-semi-space-size=64']
  : [];

const shared = {
  testTimeout: TIMEOUT_MS,
  hookTimeout: TIMEOUT_MS,
  expect: { poll: { timeout: 60_000 } },
  pool: 'forks',
  maxWorkers: FILES_AT_A_TIME,
  // Loading every module once for each file would cost as much as many of the tests.
  isolate: false,
} as const;

export default defineConfig({
  test: {
    sequence: { sequencer: PartByPart },
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: Object.values(SERVER_PARTS).flatMap(({ folders }) => folders.map(within)),
          env: { SLUICE_TEST_PART: 'unit' },
          execArgv: UNIT_ARGUMENTS,
          setupFiles: ['test/support/property-runs.ts'],
          // They import JSON as only bundlers do.
          server: { deps: { inline: [/@actions\/(?:workflow-parser|expressions)/] } },
        },
      },
      ...Object.entries(SERVER_PARTS).map(([name, { folders, before }]) => ({
        test: {
          ...shared,
          name,
          include: folders.map(within),
          globalSetup: before,
          ...(['faults', 'release', 'timed'].includes(name)
            ? { testTimeout: LONG_TIMEOUT_MS, hookTimeout: LONG_TIMEOUT_MS }
            : {}),
          // What measures time runs after everything else, one file at a time.
          ...(name === 'timed' ? { maxWorkers: 1, sequence: { groupOrder: 1 } } : {}),
        },
      })),
    ],
  },
});

function within(folder: string): string {
  return `${folder}/**/*.test.ts`;
}
