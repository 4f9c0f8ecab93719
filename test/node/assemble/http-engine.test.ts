// Tests the choice of the HTTP engine: what is refused, and what is said of the one that serves.

import { describe, expect, it } from 'vitest';
import type { EngineChoice, HttpEngine } from '../../../src/http/transport/engine.ts';
import {
  chooseHttpEngine,
  examineHttpEngine,
  tellHttpEngine,
} from '../../../src/node/assemble/http-engine.ts';
import type { Log } from '../../../src/observe/log.ts';
import { ConfigError } from '../../../src/settings/settings.ts';

const MISSING = 'uWebSockets.js has no binary for Node 24.22.3 (ABI 137) on linux x64';

/** Returns a loader of a machine on which the binary of uWebSockets.js does not load. */
function loaderWithout(canSharePort: boolean) {
  return async (choice: EngineChoice): Promise<HttpEngine> => {
    if (choice === 'uws') throw new Error(MISSING);
    const reason = choice === 'node' ? 'HTTP_ENGINE asks for it' : MISSING;
    return { name: 'node', reason, canSharePort, openApp: unopened };
  };
}

/** Loads the faster engine. */
async function loadFast(): Promise<HttpEngine> {
  return { name: 'uws', reason: 'its binary loads', canSharePort: true, openApp: unopened };
}

function unopened(): never {
  throw new Error('nothing is served here');
}

/** The figure is that of docs/benchmarks.md, and changes with it. */
const COST = expect.stringMatching(
  /^a check costs about (?:twice|[\d.]+ times) the processor time$/,
);
const ALONE = { httpEngine: 'auto', workers: 1 } as const;

it.each([
  [
    'HTTP_ENGINE=uws where its binary does not load',
    { ...ALONE, httpEngine: 'uws' },
    /^HTTP_ENGINE: uWebSockets\.js has no binary for Node [^\n]+: take Node 22 [^\n]+ HTTP_ENGINE=auto$/,
  ],
  [
    'WORKERS above 1 where the engine cannot share a port',
    { ...ALONE, workers: 2 },
    /^WORKERS: more than 1 needs [^\n]+ take Node 22\.12 or later on Linux, or WORKERS=1 and several nodes/,
  ],
] as const)('%s is refused in one line, with the remedy; so says the doctor', async (...row) => {
  const [, settings, words] = row;
  const refused = chooseHttpEngine(settings, loaderWithout(false));
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toThrow(words);
  expect(await examineHttpEngine(settings, loaderWithout(false))).toEqual({
    ...{ name: 'http-engine', ok: false, message: expect.stringMatching(words) },
  });
});

it('HTTP_ENGINE=auto takes what there is, also for several workers where it can', async () => {
  expect((await chooseHttpEngine(ALONE, loaderWithout(false))).name).toBe('node');
  for (const settings of [ALONE, { ...ALONE, workers: 2 }]) {
    expect((await chooseHttpEngine(settings, loaderWithout(true))).name).toBe('node');
    expect((await chooseHttpEngine(settings, loadFast)).name).toBe('uws');
  }
});

describe('what is said of the engine', () => {
  it.each([
    ['the faster one', ALONE, loadFast, { engine: 'uws', reason: 'its binary loads' }],
    [
      'the slower one',
      ALONE,
      loaderWithout(false),
      {
        engine: 'node',
        reason: MISSING,
        cost: COST,
        faster: expect.stringMatching(/^Node 22 on Linux with glibc has the faster one: docs/),
      },
    ],
    [
      'the slower one that is asked for, without a remedy',
      { ...ALONE, httpEngine: 'node' },
      loaderWithout(false),
      { engine: 'node', reason: 'HTTP_ENGINE asks for it', cost: COST },
    ],
  ] as const)(
    'of %s: its name, why it serves, and what it costs',
    async (_, settings, load, told) => {
      const lines: unknown[][] = [];
      const log = { info: (...line: unknown[]) => lines.push(line) } as unknown as Log;
      tellHttpEngine(await chooseHttpEngine(settings, load), settings, log);
      expect(lines).toEqual([[told, 'HTTP engine chosen']]);
      const { ok, message } = await examineHttpEngine(settings, load);
      expect(ok).toBe(true);
      expect(message.startsWith(`${told.engine}, because ${told.reason}`)).toBe(true);
      expect([message.includes('a check costs about'), message.includes('faster one')]).toEqual([
        'cost' in told,
        'faster' in told,
      ]);
    },
  );
});
