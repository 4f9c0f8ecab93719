// How the tests run, in parts: `unit` needs no server, the others need real ones (test/support/global-setup.ts).
// Forked processes, because the tests open native handles and kill servers. Three of them wherever a node is
// started: tests often wait for a time to pass, and with more of them a time limit under test would have to wait
// for a processor.

import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const SERVERS = 'test/support/global-setup.ts';
const NODES = 'test/support/shared-nodes.ts';

/** Parts that need servers, each with its folders and what starts before it; every other test is a unit test. */
const SERVER_PARTS: Readonly<Record<string, { folders: string[]; before: string[] }>> = {
  stores: { folders: ['test/engine', 'test/ledger'], before: [SERVERS] },
  service: { folders: ['test/service'], before: [SERVERS, NODES] },
  browser: { folders: ['test/browser'], before: [SERVERS, NODES] },
  faults: { folders: ['test/faults', 'test/child-process'], before: [SERVERS] },
};

/**
 * Files that take longest, the longest first: begun last, they would run on alone. A fresh clone knows no times
 * of earlier runs.
 */
const LONGEST = [
  'device-limit',
  'check-in-faults',
  'stop',
  'foreign-database',
  'pglite-database',
  'workers',
  'static-stability',
  'propagation',
  'backup',
  'known-channels',
  'record-database',
  'ledger-went-back',
  'hung-worker',
].map((name) => `/test/faults/${name}.test.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const long = LONGEST.flatMap((end) => sorted.filter(({ moduleId }) => moduleId.endsWith(end)));
    return [...long, ...sorted.filter((file) => !long.includes(file))];
  }
}

const shared = {
  testTimeout: 30_000,
  hookTimeout: 60_000,
  pool: 'forks',
  // Loading every module once for each file would cost as much as many of the tests.
  isolate: false,
} as const;

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: Object.values(SERVER_PARTS).flatMap(({ folders }) => folders.map(within)),
          env: { SLUICE_TEST_PART: 'unit' },
          setupFiles: ['test/support/property-runs.ts'],
          maxWorkers: '100%',
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
          // After the unit tests, which take every processor and measure no time.
          sequence: { groupOrder: 1 },
          maxWorkers: 3,
        },
      })),
    ],
  },
});

function within(folder: string): string {
  return `${folder}/**/*.test.ts`;
}
