// Observation of requests: the number in flight, so that a shutdown can wait for them; per route, the replies
// by status and their duration; the access log; and spans.

import { randomUUID } from 'node:crypto';
import type { DurationCount } from '../../observe/duration-counts.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { RareLog } from '../../observe/rare-log.ts';
import type { RouteCount, RouteLabels, Surface } from '../../observe/route-counts.ts';
import type { Tracing } from '../../observe/tracing.ts';
import { clientAddress } from './client-address.ts';
import type { HeaderPair, Reply } from './reply.ts';

/**
 * Surfaces whose answers all have `X-Request-Id`: their callers may want to find a call in the log or the
 * audit later.
 */
const IDENTIFIED: ReadonlySet<Surface> = new Set(['management', 'webhook', 'console']);
/** Status by which requests are counted whose client disconnected before the reply. */
const CLIENT_GONE = 499;
const LOOK_INTERVAL_MS = 20;
/**
 * Milliseconds without a reply after which `drain` regards all connections as unused: clients that are busy
 * have received a reply with `Connection: close`, and send no further request.
 */
const QUIET_MS = 250;

export class Traffic {
  /** Log of outages of a store, which would otherwise write a line for every request. */
  readonly rareLog: RareLog;
  private readonly watcher: RequestWatcher | undefined;
  private inFlight = 0;
  private isDraining = false;
  private lastAnswerAt = 0;

  /** `watcher` observes the requests to the surfaces for which its `watches` returns true. */
  constructor(
    readonly log: Log,
    private readonly metrics: Pick<Metrics, 'requests' | 'requestSeconds'>,
    watcher?: RequestWatcher,
  ) {
    this.watcher = watcher;
    this.rareLog = new RareLog(log);
  }

  /** Returns the object that counts and observes the requests to the route with these labels. */
  on(labels: RouteLabels): RouteTraffic {
    const { requests, requestSeconds } = this.metrics;
    const durations = requestSeconds.of(labels.surface);
    const tellsIds = IDENTIFIED.has(labels.surface);
    const { watcher } = this;
    const watch = watcher?.watches(labels.surface)
      ? (asked: AskedRequest) => watcher.begin({ ...asked, labels })
      : undefined;
    return new RouteTraffic(this, requests.of(labels), { durations, tellsIds, watch });
  }

  /** Changes the number of requests in flight. */
  move(by: 1 | -1): void {
    this.inFlight += by;
  }

  /**
   * Makes every reply from now on the last of its connection. A busy client always has a request under way,
   * which would be lost if the service closed the connection at any other moment.
   */
  endConnections(): void {
    this.isDraining = true;
  }

  /** Returns whether the reply that is about to be written must be the last of its connection. */
  endsConnection(): boolean {
    if (!this.isDraining) return false;
    this.lastAnswerAt = performance.now();
    return true;
  }

  /**
   * Ends each connection with its next reply. Resolves when no request is in flight and no reply was written
   * for `QUIET_MS`, or after `waitMsMax`. The result says whether no request is in flight.
   */
  async drain(waitMsMax: number): Promise<boolean> {
    this.endConnections();
    this.lastAnswerAt = performance.now();
    const deadline = performance.now() + waitMsMax;
    const isBusy = () => this.inFlight > 0 || performance.now() - this.lastAnswerAt < QUIET_MS;
    while (isBusy() && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_INTERVAL_MS));
    }
    return this.inFlight === 0;
  }
}

/** Request to a route, without the labels of the route. */
type AskedRequest = Omit<WatchedRequest, 'labels'>;

/** Observation of one request: its notes, and its watch if requests to its route are watched. */
export type Observation = {
  readonly notes: RequestNotes;
  readonly watch: RequestWatch | undefined;
};

/** Counts and observes the requests to one route. */
export class RouteTraffic {
  /** Whether requests are watched; if not, callers may skip `observe` for answers that need no notes. */
  readonly isWatched: boolean;
  /** Whether its callers have an account, a key or a webhook's secret. */
  readonly isForOperators: boolean;

  constructor(
    private readonly traffic: Traffic,
    private readonly replies: RouteCount,
    private readonly options: {
      /** Counts the durations of requests to its surface. */
      readonly durations: DurationCount;
      /** Whether every answer has the header `X-Request-Id`. */
      readonly tellsIds: boolean;
      /** Begins to watch a request; undefined if requests are not watched. */
      readonly watch: ((asked: AskedRequest) => RequestWatch) | undefined;
    },
  ) {
    this.isWatched = options.watch !== undefined;
    this.isForOperators = options.tellsIds;
  }

  /** Begins to observe a request; `app` is the ref or id in its address. */
  observe(asked: Omit<AskedRequest, 'notes'>, app: string | undefined): Observation {
    const { tellsIds, watch } = this.options;
    const notes = new RequestNotes(asked.header('x-request-id'));
    if (tellsIds) notes.tellId();
    notes.app = app;
    return { notes, watch: watch?.({ ...asked, notes }) };
  }

  /** Counts a request that is not answered at once as in flight. Returns its start time, for `end`. */
  begin(): number {
    this.traffic.move(1);
    return performance.now();
  }

  /** Counts a request that began at `beganAt` and is over; `status`: undefined if the client disconnected. */
  end(status: number | undefined, beganAt: number, watch?: RequestWatch): void {
    this.traffic.move(-1);
    this.count(status ?? CLIENT_GONE);
    this.options.durations.observe((performance.now() - beganAt) / 1000);
    watch?.end(status ?? CLIENT_GONE);
  }

  /** Counts a request that was answered at once. */
  count(status: number): void {
    this.replies.add(status);
  }
}

// Access log: a line for each request, on every surface, when its answer is written.

/** Maximum length of a path in a line or a span; paths may have 64 KiB. */
const PATH_LENGTH_MAX = 500;

export class AccessLog implements RequestWatcher {
  /** `trustedProxies` is the number of proxies whose entries in `X-Forwarded-For` are trusted. */
  constructor(
    private readonly log: Pick<Log, 'info'>,
    private readonly trustedProxies: number,
  ) {}

  watches(): boolean {
    return true;
  }

  begin({ labels, method, path, remoteAddress, header, notes }: WatchedRequest): RequestWatch {
    const beganAt = performance.now();
    const forwarded = this.trustedProxies === 0 ? '' : header('x-forwarded-for');
    const client = clientAddress(remoteAddress, forwarded, this.trustedProxies);
    return {
      run: (work) => work(),
      end: (status) => {
        const line = {
          method,
          route: labels.route,
          path: path.slice(0, PATH_LENGTH_MAX),
          status,
          ms: Math.round((performance.now() - beganAt) * 1000) / 1000,
          client,
          requestId: notes.requestId,
          app: notes.app,
        };
        this.log.info(line, 'request');
      },
    };
  }
}

// Facts about a request that are collected while it is answered: its id, its app, and headers that are added
// to the answer, whatever it is.

/** Form of ids that callers may set; no other text gets into the log. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

export class RequestNotes {
  /** Ref or id of the app that the request names, once that is known. */
  app: string | undefined;
  /** The id that the caller set, or the random one, once it was read. */
  private id: string | undefined;
  private readonly headers: HeaderPair[] = [];
  private isIdTold = false;

  /** `givenId` is the header `X-Request-Id` of the request, if there is one. */
  constructor(givenId?: string) {
    this.id = givenId !== undefined && REQUEST_ID.test(givenId) ? givenId : undefined;
  }

  /**
   * Id of the request in the log and the audit: the caller's if it matches `REQUEST_ID`, else a random UUID,
   * which is not made for requests of which nobody reads it.
   */
  get requestId(): string {
    this.id ??= randomUUID();
    return this.id;
  }

  /** Adds headers to the answer, whether the request succeeds, is refused or fails. */
  add(...headers: readonly HeaderPair[]): void {
    this.headers.push(...headers);
  }

  /** Adds the header `X-Request-Id` to the answer. */
  tellId(): void {
    if (this.isIdTold) return;
    this.isIdTold = true;
    this.add(['X-Request-Id', this.requestId]);
  }

  /** Returns the reply with the headers that were added. */
  addTo(reply: Reply): Reply {
    if (this.headers.length === 0) return reply;
    return { ...reply, headers: [...(reply.headers ?? []), ...this.headers] };
  }
}

// Traces of the requests that change something: calls of the management API, and deliveries to the webhook.

const TRACED: ReadonlySet<Surface> = new Set(['management', 'webhook']);
/** Lowest status of a failure that is the service's own fault. */
const FAULT = 500;

export class RequestTracing implements RequestWatcher {
  constructor(private readonly tracing: Tracing) {}

  watches(surface: Surface): boolean {
    return TRACED.has(surface);
  }

  begin({ labels, method, path, header, notes }: WatchedRequest): RequestWatch {
    const span = this.tracing.begin({
      name: `${method} ${labels.route}`,
      kind: 'server',
      attributes: {
        'http.request.method': method,
        'http.route': labels.route,
        'url.path': path.slice(0, PATH_LENGTH_MAX),
        'sluice.request_id': notes.requestId,
      },
      header,
    });
    return {
      run: (work) => span.run(work),
      end(status) {
        const answered = status === CLIENT_GONE ? undefined : status;
        const attributes = { 'http.response.status_code': answered, 'sluice.app': notes.app };
        span.end(attributes, status >= FAULT ? String(status) : undefined);
      },
    };
  }
}

// Watching of requests, for the access log and for traces: what a watcher sees of a request, and of its end.
// Whether a route is watched is decided when it is built, so that requests to other routes cost nothing.

/** A request that is being watched. */
export type RequestWatch = {
  /** Runs the work that answers the request, within its span if it has one; only if the work may wait. */
  run<Value>(work: () => Promise<Value>): Promise<Value>;
  /** Called at the end, with the status of the answer, or 499 if the client disconnected. */
  end(status: number): void;
};

export type RequestWatcher = {
  /** Returns whether it watches the requests of a surface. */
  watches(surface: Surface): boolean;
  /** Begins to watch a request. */
  begin(request: WatchedRequest): RequestWatch;
};

/** Request as watchers see it. */
type WatchedRequest = {
  readonly labels: RouteLabels;
  readonly method: string;
  /** Path as sent, without the query, which may have secrets and personal data. */
  readonly path: string;
  readonly remoteAddress: string;
  /** Returns a header by its lower-case name; '' if the request has none. */
  readonly header: (name: string) => string;
  readonly notes: RequestNotes;
};

/** Returns one watcher for several; undefined for none. */
export function watchTogether(watchers: readonly RequestWatcher[]): RequestWatcher | undefined {
  if (watchers.length === 0) return undefined;
  return {
    watches: (surface) => watchers.some((each) => each.watches(surface)),
    begin(request) {
      const { surface } = request.labels;
      const watching = watchers.filter((each) => each.watches(surface));
      const begun = watching.map((each) => each.begin(request));
      return {
        run: (work) => begun.reduce((inner, watch) => () => watch.run(inner), work)(),
        end(status) {
          for (const watch of begun) watch.end(status);
        },
      };
    },
  };
}
