// Tests the parent of a child process that is kept running: calls in both directions, starts, ends and
// restarts.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ChildEnd, ChildService } from '../../src/process/child-process.ts';
import { eventually, sleep } from '../support/eventually.ts';

type Down = {
  readonly call: {
    readonly kind: 'double' | 'wait' | 'ask parent' | 'process id';
    readonly value?: unknown;
  };
  readonly answer: unknown;
};
type Up = { readonly call: unknown; readonly answer: unknown };

const PROGRAM = fileURLToPath(new URL('child-program.mjs', import.meta.url));

const PARENT = fileURLToPath(new URL('parent-program.mjs', import.meta.url));

const services: ChildService<Down, Up>[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(services.splice(0).map((service) => service.stop()));
});

function create(behaviour: string, { startMsMax = 20_000, stopMsMax = 5000 } = {}) {
  const ends: ChildEnd[] = [];
  let lives = 0;
  const service = new ChildService<Down, Up>({
    name: 'the child',
    program: {
      modulePath: PROGRAM,
      args: [behaviour],
      options: { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
    },
    startMsMax,
    stopMsMax,
    answer: async (call) => `you said ${call}`,
    onReady: () => {
      lives += 1;
    },
    onEnd: (end) => ends.push(end),
  });
  services.push(service);
  return { service, ends, lives: () => lives };
}

describe('calls', () => {
  it('each get their own answer, those of the child too', async () => {
    const { service } = create('work');
    await service.start();
    const { child } = service;
    const answers = [1, 2, 3].map((value) => child?.call({ kind: 'double', value }));
    expect(await Promise.all(answers)).toEqual([2, 4, 6]);
    expect(await child?.call({ kind: 'ask parent', value: 'hello' })).toBe('you said hello');
  });

  it('get no answer when the child ends first, nor after that; the next life answers', async () => {
    const { service, ends, lives } = create('work');
    await service.start();
    const { child } = service;
    const waiting = child?.call({ kind: 'wait' });
    child?.kill();
    expect(await waiting).toBeUndefined();
    expect(await child?.call({ kind: 'double', value: 1 })).toBeUndefined();
    await eventually('it is ready again', () => lives() === 2);
    expect(await service.child?.call({ kind: 'double', value: 2 })).toBe(4);
    expect(ends).toEqual([{ how: 'SIGKILL', startError: undefined, restartInMs: 100 }]);
  });
});

describe('a start', () => {
  it('that the child refuses rejects with its reason, and is tried again', async () => {
    const { service, ends, lives } = create('refuse');
    await expect(service.start()).rejects.toThrow(/^it does not want to$/);
    await eventually('two attempts have failed', () => ends.length >= 2);
    expect(ends.slice(0, 2)).toMatchObject([
      { how: 'code 1', startError: { message: 'it does not want to' }, restartInMs: 100 },
      { how: 'code 1', startError: { message: 'it does not want to' }, restartInMs: 200 },
    ]);
    expect(lives()).toBe(0);
  });

  it('of a program that is not there rejects too', async () => {
    const { service } = create('work');
    const missing = vi.spyOn(process, 'execPath', 'get').mockReturnValue('/no/such/program');
    const start = service.start();
    missing.mockRestore();
    await expect(start).rejects.toThrow('ENOENT');
  });

  it.each([
    ['that takes too long is killed', 'hang', 300, 'SIGKILL'],
    ['that the child does not survive rejects with how it ended', 'crash', undefined, 'code 3'],
  ])('%s', async (_, behaviour, startMsMax, how) => {
    const { service } = create(behaviour, startMsMax === undefined ? {} : { startMsMax });
    await expect(service.start()).rejects.toThrow(`the child ended before it was ready (${how})`);
  });
});

describe('a restart', () => {
  it('comes later after each short life, and soon again after one of 30 s', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0);
    const { service, ends, lives } = create('work');
    await service.start();
    for (const [index, livedMs] of [5, 29_999, 30_000, 5].entries()) {
      await eventually('it is ready', () => lives() === index + 1);
      now.mockReturnValue(now() + livedMs);
      service.child?.kill();
      await eventually('it has ended', () => ends.length === index + 1);
    }
    expect(ends.map(({ restartInMs }) => restartInMs)).toEqual([100, 200, 100, 200]);
  });
});

describe('a stop', () => {
  it('lets the child finish, and is the end: it is not started again', async () => {
    const { service, ends, lives } = create('work');
    await service.start();
    const { child } = service;
    expect(await service.stop()).toBe(true);
    expect(await child?.ended).toBe('code 0');
    expect(service.child).toBeUndefined();
    expect(ends).toEqual([]);
    expect(lives()).toBe(1);
  });

  it('of a child that is not ready yet is no failure of its start', async () => {
    const { service, ends, lives } = create('hang');
    const start = service.start();
    expect(await service.stop()).toBe(true);
    await expect(start).resolves.toBeUndefined();
    expect([ends, lives()]).toEqual([[], 0]);
  });

  it('kills a child that does not finish in time', async () => {
    const { service } = create('stay', { stopMsMax: 300 });
    await service.start();
    const { child } = service;
    expect(await service.stop()).toBe(false);
    expect(await child?.ended).toBe('SIGKILL');
  });

  it('between two lives ends the wait for the next one', async () => {
    const { service, ends } = create('refuse');
    await expect(service.start()).rejects.toThrow();
    await eventually('three attempts have failed', () => ends.length === 3);
    const next = sleep(ends.at(-1)?.restartInMs ?? 0).then(() => 'its next life was due');
    expect(await Promise.race([service.stop().then(() => 'it was over'), next])).toBe(
      'it was over',
    );
    expect(service.child).toBeUndefined();
  });
});

describe('the child', () => {
  it('started by hand says so and ends', async () => {
    const child = spawn(process.execPath, [PROGRAM, 'work'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const [code] = await once(child, 'close');
    expect(code).toBe(2);
    expect(text).toBe('sluice: this part of the service is started by the service itself\n');
  });

  it('ends with its parent, also while it is blocked', async () => {
    const parent = spawn(process.execPath, [PARENT], { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    parent.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    const [code] = await once(parent, 'exit');
    expect([code, Number(printed) > 1]).toEqual([0, true]);
    onTestFinished(
      () => void (isAlive(Number(printed)) && process.kill(Number(printed), 'SIGKILL')),
    );
    await eventually('it has ended', () => !isAlive(Number(printed)));
  });

  it('does not end by signals to the group', async () => {
    const { service } = create('work');
    await service.start();
    const pid = await service.child?.call({ kind: 'process id' });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.kill(Number(pid), signal);
    expect(await service.child?.call({ kind: 'double', value: 1 })).toBe(2);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
