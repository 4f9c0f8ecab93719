// Traffic of this process: the number of requests in flight, so that a stop can wait for them, and for each
// route the number of replies by status and how long they took.

import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import type { RouteCount, RouteLabels, Surface } from '../observe/route-counts.ts';
import type { RequestWatch, RequestWatcher, WatchedRequest } from './request-watch.ts';

/**
 * Surfaces whose answers all carry the id of the request: those of callers who may want to know later what
 * became of a call.
 */
const IDENTIFIED: ReadonlySet<Surface> = new Set(['management', 'webhook', 'console']);
/** Status under which requests are counted whose client left before the reply. */
const CLIENT_GONE = 499;
const LOOK_INTERVAL_MS = 20;
/**
 * Time without a reply after which a stop takes the connections as ended: busy clients, told that a reply is
 * their connection's last, have sent no other request on it for this long.
 */
const QUIET_MS = 250;

export class Traffic {
  readonly log: Log;
  /** Log of outages of a store, which would otherwise write a line for every request. */
  readonly rareLog: RareLog;
  private readonly metrics: Pick<Metrics, 'requests' | 'requestSeconds'>;
  private readonly watcher: RequestWatcher | undefined;
  private inFlight = 0;
  private isDraining = false;
  private lastAnswerAt = 0;

  /** `watcher` is told of the requests to the routes that it watches. */
  constructor(
    log: Log,
    metrics: Pick<Metrics, 'requests' | 'requestSeconds'>,
    watcher?: RequestWatcher,
  ) {
    this.log = log;
    this.watcher = watcher;
    this.rareLog = new RareLog(log);
    this.metrics = metrics;
  }

  /** Returns the traffic of a route. */
  on(labels: RouteLabels): RouteTraffic {
    const { requests, requestSeconds } = this.metrics;
    const observe = (seconds: number) =>
      requestSeconds.observe({ surface: labels.surface }, seconds);
    const tellsIds = IDENTIFIED.has(labels.surface);
    const { watcher } = this;
    const watch =
      watcher !== undefined && this.isWatched(labels.surface)
        ? (asked: AskedRequest) => watcher.begin({ ...asked, labels })
        : undefined;
    return new RouteTraffic(this, requests.of(labels), { observe, tellsIds, watch });
  }

  /** Returns whether requests of a surface are watched. */
  isWatched(surface: Surface): boolean {
    return this.watcher?.watches(surface) === true;
  }

  /** Notes that the number of requests in flight has changed. */
  move(by: 1 | -1): void {
    this.inFlight += by;
  }

  /**
   * Ends each connection with its next reply from now on: a client that keeps its connection busy always has
   * a request under way, which closing the connection at any other moment would lose.
   */
  endConnections(): void {
    this.isDraining = true;
  }

  /** Returns whether the reply that is about to be written is its connection's last. */
  endsConnection(): boolean {
    if (!this.isDraining) return false;
    this.lastAnswerAt = performance.now();
    return true;
  }

  /**
   * Ends each connection with its next reply. Resolves when nothing is in flight and no last reply was
   * written for `QUIET_MS`, or after `waitMsMax`; with true when nothing is in flight.
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

/** Request before it is known to which route. */
type AskedRequest = Omit<WatchedRequest, 'labels'>;

type RouteOptions = {
  readonly observe: (seconds: number) => void;
  readonly tellsIds: boolean;
  readonly watch: ((asked: AskedRequest) => RequestWatch) | undefined;
};

/** Requests to one route. */
export class RouteTraffic {
  /** Whether every answer carries the id of its request. */
  readonly tellsIds: boolean;
  /** Takes note of a request that begins; undefined where requests are not watched. */
  readonly watch: RouteOptions['watch'];
  private readonly traffic: Traffic;
  private readonly replies: RouteCount;
  private readonly observe: (seconds: number) => void;

  constructor(traffic: Traffic, replies: RouteCount, { observe, tellsIds, watch }: RouteOptions) {
    this.traffic = traffic;
    this.replies = replies;
    this.observe = observe;
    this.tellsIds = tellsIds;
    this.watch = watch;
  }

  /** Notes that a request has begun that is not answered at once. Returns what `end` must get. */
  begin(): number {
    this.traffic.move(1);
    return performance.now();
  }

  /** Notes that a request is over which began at `beganAt`; undefined when the client had left. */
  end(status: number | undefined, beganAt: number, watch?: RequestWatch): void {
    this.traffic.move(-1);
    this.count(status ?? CLIENT_GONE);
    this.observe((performance.now() - beganAt) / 1000);
    watch?.end(status ?? CLIENT_GONE);
  }

  /** Counts a request that was answered at once. */
  count(status: number): void {
    this.replies.add(status);
  }
}
