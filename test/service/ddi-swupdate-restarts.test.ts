// Runs SWUpdate, unmodified, against two nodes behind one address: it installs, is restarted with each of
// its confirmations while its action is still listed, is withdrawn, or has ended (docs/contract.md 34), and
// goes on polling.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnRealStores, realStores } from '../support/backend.ts';
import { DdiDevice, type Polled } from '../support/ddi-device.ts';
import { eventually } from '../support/eventually.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { type Exchange, startNodeTurns } from '../support/node-turns.ts';
import { storesOn } from '../support/real-node.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import {
  artifactOf,
  buildImage,
  type Confirmation,
  makeKey,
  missingProgram,
  type Swupdate,
  serveFiles,
  startSwupdate,
} from '../support/swupdate.ts';
import { createTenant, randomId } from '../support/tenant.ts';

const isSkipped = missingProgram !== undefined && process.env.SLUICE_REQUIRE_REAL !== '1';
const why = isSkipped ? ` (skipped: no ${missingProgram})` : '';
const WAIT = 150_000;
const SUITE_MS = 300_000;
/**
 * Time without a request, of which a daemon makes one every ten seconds, after which it has hung: on a busy
 * machine it can lock up when it begins to download, while one thread sends its log and another installs.
 */
const HUNG_MS = 45_000;
/** Polls after the attributes of the restart, in which a report that is repeated would show. */
const POLLS = 3;

type Row = {
  /** What its action is when SWUpdate starts again: `told` is one that the version has ended. */
  readonly action: 'listed' | 'withdrawn' | 'canceled' | 'told';
  readonly confirm: Confirmation;
  /** The version that the device tells from the restart on. */
  readonly runs: '1.0.0' | '2.0.0';
  /** What it closes, and how. */
  readonly closes: readonly string[];
  /** State of the action at the end. */
  readonly state: string;
};

const CANCELED = ['cancelAction success'];
const ROWS: readonly Row[] = [
  // An update that is yet to be tested is progress: the device installs what is listed once more.
  { action: 'listed', confirm: '1', runs: '1.0.0', closes: [], state: 'fetched' },
  {
    ...{ action: 'listed', confirm: '2', runs: '2.0.0' },
    ...{ closes: ['deploymentBase success'], state: 'succeeded' },
  },
  {
    ...{ action: 'listed', confirm: '3', runs: '1.0.0' },
    ...{ closes: ['deploymentBase failure'], state: 'failed' },
  },
  // It confirms nothing while it is asked to cancel, nor without an action: its version tells.
  { action: 'withdrawn', confirm: '1', runs: '1.0.0', closes: CANCELED, state: 'withdrawn' },
  { action: 'withdrawn', confirm: '2', runs: '2.0.0', closes: CANCELED, state: 'withdrawn' },
  { action: 'withdrawn', confirm: '3', runs: '1.0.0', closes: CANCELED, state: 'withdrawn' },
  { action: 'canceled', confirm: '1', runs: '1.0.0', closes: [], state: 'withdrawn' },
  { action: 'canceled', confirm: '2', runs: '2.0.0', closes: [], state: 'withdrawn' },
  { action: 'canceled', confirm: '3', runs: '1.0.0', closes: [], state: 'withdrawn' },
  { action: 'told', confirm: '2', runs: '2.0.0', closes: [], state: 'succeeded' },
];

type Outcome = {
  /** All that it asked, and what it asked since the restart. */
  readonly exchanges: readonly Exchange[];
  readonly since: readonly Exchange[];
  readonly fetches: number;
  readonly device: unknown;
  readonly polled: Polled;
};

describeOnRealStores('SWUpdate on two nodes', () => {
  describe.skipIf(isSkipped)(`after a restart${why}`, () => {
    const running: Swupdate[] = [];
    const played = new Map<Row, Promise<Outcome>>();
    let stores: Awaited<ReturnType<typeof storesOn>>;
    let nodes: readonly [ServingNode, ServingNode];
    let front: Awaited<ReturnType<typeof startNodeTurns>>;
    let files: Awaited<ReturnType<typeof serveFiles>>;
    let folder: string;
    let image: Buffer;

    beforeAll(async () => {
      stores = await storesOn(realStores()?.postgresUrl ?? '');
      nodes = await Promise.all([startNode(stores.settings), startNode(stores.settings)]);
      front = await startNodeTurns(nodes, idIn);
      files = await serveFiles();
      folder = temporaryFolder('sluice-swupdate-');
      makeKey(folder);
      image = buildImage(folder, '2.0.0', 'release 2.0.0', join(folder, 'installed'));
      // All at once: they wait for their polls.
      for (const row of ROWS) played.set(row, play(row));
      await Promise.allSettled(played.values());
    }, SUITE_MS);
    afterAll(async () => {
      await Promise.all(running.map((each) => each.stop()));
      await Promise.all([front, files].map((server) => server?.close()));
      await Promise.all(nodes.map((node) => node.dispose()));
      await stores.drop();
      removeFolder(folder);
    });

    /** An app with one release, whose file is at a path of its own. */
    async function published() {
      const tenant = await createTenant(nodes[0]);
      await tenant.openDdi({ pollSeconds: 10 });
      const path = `/${tenant.app}/gateway.swu`;
      files.put(path, image);
      await tenant.release('2.0.0', { artifacts: [artifactOf(files.url + path, image)] });
      const control = (status: string) => tenant.serve('2.0.0', { status });
      return { tenant, path, control };
    }

    /** The daemon of a device, which is started again where it may be and has hung. */
    function daemonOf(id: string, app: string) {
      let present: Swupdate | undefined;
      const output = () => present?.output() ?? '';
      const stop = async () => present?.stop();
      const start = (version: string, confirm?: Confirmation) => {
        const options = { folder, url: front.url, app, channel: 'stable', id, confirm };
        present = startSwupdate({ ...options, attributes: { version } });
        running.push(present);
      };
      const until = async (what: string, check: () => boolean, startAgain?: () => void) => {
        const isQuiet = quietFor(HUNG_MS, () => front.of(id).length);
        const isSo = async () => {
          if (check()) return true;
          if (startAgain !== undefined && isQuiet()) {
            const waiting = front.waiting(id).join() || 'no answer';
            console.log(`SWUpdate of ${id} hung, waiting for ${waiting}: ${output().slice(-500)}`);
            await stop();
            startAgain();
          }
          return false;
        };
        await eventually(what, isSo, WAIT).catch((error: Error) => {
          throw new Error(`${error.message}\n${storyOf(front.of(id))}\n${output().slice(-4000)}`);
        });
      };
      return { start, stop, output, until };
    }

    async function play({ action, confirm, runs }: Row): Promise<Outcome> {
      const { tenant, path, control } = await published();
      const id = `${action}-${confirm}-${randomId()}`;
      const device = new DdiDevice(nodes[1], tenant.app, id);
      await untilAnswered(device);

      const daemon = daemonOf(id, tenant.app);
      const startOld = () => daemon.start('1.0.0');
      startOld();
      const hasInstalled = () => daemon.output().includes('SWUPDATE successful');
      await daemon.until('it has installed', hasInstalled, startOld);
      if (action === 'canceled') {
        await control('rolled_back');
        const hasAnswered = () => closingsIn(front.of(id)).length > 0;
        await daemon.until('it has answered the cancellation', hasAnswered, startOld);
      }
      await daemon.stop();
      if (action === 'withdrawn') await control('paused');
      if (action === 'told') await device.tell({ version: '2.0.0' });

      const begun = front.of(id).length;
      const since = () => front.of(id).slice(begun);
      daemon.start(runs, confirm);
      // Another start would confirm again.
      await daemon.until('it goes on polling', () => pollsAfterAttributes(since()) >= POLLS);
      await daemon.stop();
      const asked = { exchanges: front.of(id), since: since(), fetches: files.fetches(path) };
      const { body } = await tenant.manage('GET', `devices/${id}?app=${tenant.app}`);
      return { ...asked, device: body?.device, polled: await device.poll() };
    }

    const untilAnswered = (device: DdiDevice) =>
      eventually('it answers DDI', async () => (await device.ask('GET')).status === 200);

    it.each(ROWS)('$action, with -c $confirm: $state', async (row) => {
      const { closes, runs, state } = row;
      const { exchanges, since, fetches, device, polled } = await (played.get(row) ?? never());
      expect(exchanges.filter(({ status }) => status !== 200)).toEqual([]);
      expect(closingsIn(since)).toEqual(closes);
      const isListed = state === 'fetched';
      expect(fetches).toBe(isListed ? 2 : 1);
      expect(device).toMatchObject({ version: runs, action: { state } });
      expect(polled.cancel).toBeUndefined();
      expect(polled.deployment !== undefined).toBe(isListed);
    });
  });
});

/** Returns the device id in a path below `/ddi/{app}/{channel}`. */
function idIn(path: string): string {
  return path.split('/')[6] ?? '';
}

function pollsAfterAttributes(exchanges: readonly Exchange[]): number {
  const told = exchanges.findIndex(({ method }) => method === 'PUT');
  const polls = exchanges.slice(told).filter(({ path }) => path.endsWith(`/${idIn(path)}`));
  return told === -1 ? 0 : polls.length;
}

/** Tells a failed test what was asked, and how it was answered. */
function storyOf(exchanges: readonly Exchange[]): string {
  return exchanges
    .map(({ method, path, status, asked }) => `${method} ${path} ${status} ${asked}`)
    .join('\n');
}

/** Returns the closings among what was asked; the progress of an installation is left out. */
function closingsIn(exchanges: readonly Exchange[]): string[] {
  return exchanges
    .filter(({ method }) => method === 'POST')
    .map(({ path, asked }) => ({ kind: path.split('/').at(-3), ...(JSON.parse(asked) as Report) }))
    .filter(({ status }) => status.execution === 'closed')
    .map(({ kind, status }) => `${kind} ${status.result.finished}`);
}

type Report = {
  readonly status: {
    readonly execution: string;
    readonly result: { readonly finished: string };
  };
};

/** Returns a look at a number, which tells that it has not changed for so long, once each time. */
function quietFor(ms: number, read: () => number): () => boolean {
  let [last, since] = [read(), performance.now()];
  return () => {
    const [present, now] = [read(), performance.now()];
    const isQuiet = present === last && now - since > ms;
    if (present !== last || isQuiet) [last, since] = [present, now];
    return isQuiet;
  };
}

function never(): never {
  throw new Error('this row was not played');
}
