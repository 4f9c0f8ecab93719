// Device side of a node without sockets and stores: the routes of updaters, packages and downloads in front
// of one channel of the app `acme`. Tests of pure rules ask here what clients ask over HTTP.

import { expect } from 'vitest';
import { type Failure, fail, isFailure } from '../../src/contract/failure.ts';
import type {
  ServingSnapshot,
  SnapshotRelease,
} from '../../src/domain/decision/serving-snapshot.ts';
import { ADMITTED } from '../../src/domain/fleet/sliding-window-limiter.ts';
import type { DeviceRouteDependencies } from '../../src/http/device/device-route.ts';
import { downloadRoutes, packageRoute } from '../../src/http/device/download-routes.ts';
import { directHandlers } from '../../src/http/device/updater-route.ts';
import { writeAppcast } from '../../src/http/notes/feed-formats.ts';
import { RenderedAppcasts } from '../../src/http/notes/feed-routes.ts';
import { notesHtml } from '../../src/http/notes/notes-html.ts';
import { createRouter } from '../../src/http/transport/router.ts';
import { assembleUpdaters } from '../../src/node/assemble/device-side.ts';
import { AppCounts } from '../../src/observe/app-counts.ts';
import { CHECK_REASONS } from '../../src/observe/label-values.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { CatalogSlot, type CheckQuery, PlanBudget } from '../../src/serving/catalog-slot.ts';
import type { CheckDevice } from '../../src/serving/check-update.ts';
import type { Appcast } from '../../src/updater/sparkle.ts';
import { catalog, release } from '../domain/sample.ts';
import { type Asked, type FakeAnswer, requestOf, responseFor } from '../http/fake-exchange.ts';
import { silentTraffic } from './http-engines.ts';
import { artifacts } from './released.ts';

/** Releases by version, each with its artifacts as `artifacts` reads them, and with other parts. */
type Releases = Readonly<Record<string, string | readonly [string, Partial<SnapshotRelease>]>>;

/** Returns the device side of a channel with these releases. */
export function serving(releases: Releases, parts: Partial<ServingSnapshot> = {}): DeviceSide {
  const all = Object.entries(releases).map(([version, told]) => {
    const [text, more] = typeof told === 'string' ? [told, {}] : told;
    return release(version, { ...(text === '' ? {} : { artifacts: artifacts(text) }), ...more });
  });
  return new DeviceSide(all, parts);
}

/** Name of a publisher's file in an answer; a feed of Velopack has the name alone. */
const FILE = /(?:dl\.example\.com\/|"FileName":")([^\s"'<>]+)/g;

export class DeviceSide {
  /** Ids of the devices that checked, in order; undefined for a check without an id. */
  readonly checked: (string | undefined)[] = [];
  private readonly slot = new CatalogSlot(new PlanBudget(), new AppCounts(CHECK_REASONS));
  private readonly direct: ReturnType<typeof directHandlers>;
  private readonly other: ReturnType<typeof createRouter>;

  constructor(releases: readonly SnapshotRelease[], parts: Partial<ServingSnapshot> = {}) {
    this.slot.replace(catalog(releases, parts));
    const gate = { now: () => ADMITTED, network: new Int32Array(4), limitExchange: async () => {} };
    const traffic = silentTraffic();
    const dependencies = { check: this, gate, traffic } as unknown as DeviceRouteDependencies;
    const updaters = assembleUpdaters(dependencies, writtenAppcasts());
    const catalogs = { find: async (app: string, channel: string) => this.find(app, channel) };
    const ofChannel = { catalogs, gate } as unknown as Parameters<typeof packageRoute>[0];
    const routes = [packageRoute(ofChannel), ...downloadRoutes(ofChannel)];
    this.direct = directHandlers(updaters);
    this.other = createRouter(
      [...updaters.map(({ placeholder }) => placeholder), ...routes],
      traffic,
    );
  }

  /**
   * Requests an address as it is written; names of headers are in lower case. Asks twice, because an address
   * shares its plan only when it is known: the second answer must be the same.
   */
  async ask(address: string, asked: Asked = {}): Promise<FakeAnswer> {
    const answer = await this.request(address, asked);
    const count = this.checked.length;
    expect(await this.request(address, asked), address.slice(0, 100)).toEqual(answer);
    this.checked.length = count;
    return answer;
  }

  /** Returns the names of the files in an answer, each once, with blanks between; without any the status. */
  async file(address: string, asked: Asked = {}): Promise<string> {
    const { status, headers, text } = await this.ask(address, asked);
    const found = [...(headers.get('location') ?? text).matchAll(FILE)].map(([, name]) => name);
    return found.length === 0 ? String(status) : [...new Set(found)].join(' ');
  }

  /** Decides a check, in place of `CheckUpdate`. */
  now(query: CheckQuery, device: CheckDevice) {
    if (this.refused(query) !== undefined) return undefined;
    this.checked.push(device.id);
    return this.slot.planFor(query)?.decide(device);
  }

  refused({ scope: { app, channel } }: CheckQuery): Failure | undefined {
    const found = this.find(app, channel);
    return isFailure(found) ? found : undefined;
  }

  private request(address: string, asked: Asked): Promise<FakeAnswer> {
    return new Promise((resolve) => {
      const [req, res] = [requestOf(address, asked), responseFor(resolve)];
      const handlers = this.direct[`/${req.getUrl().split('/')[1]}`];
      const { method = 'GET' } = asked;
      if (method === 'HEAD') handlers?.head(res, req);
      if (method === 'GET') handlers?.get(res, req);
      const isDirect = handlers !== undefined && ['GET', 'HEAD'].includes(method);
      if (!isDirect || req.isYielded()) this.other(res, req);
    });
  }

  private find(app: string, channel: string): CatalogSlot | Failure {
    if (app !== 'acme') return fail('unknownApp');
    return channel === this.slot.catalog?.snapshot.channel ? this.slot : fail('unknownChannel');
  }
}

function writtenAppcasts(): RenderedAppcasts {
  const address = 'https://updates.example.com';
  const appcast = async (of: Appcast) => Buffer.from(writeAppcast(of, address, notesHtml));
  return new RenderedAppcasts({ appcast }, () => address, new Metrics());
}
