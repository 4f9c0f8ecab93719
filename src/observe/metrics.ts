// Counters, gauges and histograms for `/metrics`, in Prometheus text. The hot path only adds to plain
// numbers, which are read at scrape time.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Reason } from '../contract/explanation.ts';
import { MISTAKEN_IDS, type MistakenId } from '../contract/ref.ts';
import { AppCounts } from './app-counts.ts';
import { DurationCounts } from './duration-counts.ts';
import {
  APP_OUTCOMES,
  CATALOG_SOURCES,
  CHECK_IN_OUTCOMES,
  CHECK_REASONS,
  CONNECTION_OUTCOMES,
  DDI_EXECUTIONS,
  DDI_POLL_OUTCOMES,
  DDI_REPORT_OUTCOMES,
  DDI_RESULTS,
  DDI_STATE_SOURCES,
  DELIVERY_OUTCOMES,
  DEVICE_LIMIT_OUTCOMES,
  EDGE_REFUSALS,
  FAULT_PLACES,
  FIRST_OFFER_OUTCOMES,
  type HTTP_ENGINES,
  NOTIFICATION_OUTCOMES,
  PROCESS_EVENTS,
  REWIND_EVENTS,
  SIGN_IN_OUTCOMES,
} from './label-values.ts';
import { LabelledCount, PairedCount } from './labelled-count.ts';
import { RouteCounts } from './route-counts.ts';

/** Default metrics of prom-client that break Prometheus' conventions: gauges that end in `_total`. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];
/** Upper bounds for requests and store calls, in seconds. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const CALL_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5];
/** Upper bounds around the promise: within 1 s, and 5 s if an announcement is lost. */
const PROPAGATION_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The running program: its version, and the commit that it was built from. */
export type Build = { readonly version: string; readonly commit: string };

/** The running program, and the HTTP engine of the node. */
type RunningBuild = Build & { readonly engine: (typeof HTTP_ENGINES)[number] | 'unknown' };

const UNKNOWN_BUILD: RunningBuild = { version: 'unknown', commit: 'unknown', engine: 'unknown' };

export class Metrics {
  readonly registry = new Registry();
  /** Update checks by app and by the reason of their answer. */
  readonly checks = new AppCounts<Reason>(CHECK_REASONS);
  /** Reports of devices that could not install a release, by app. */
  readonly failures = new AppCounts(['reported']);
  /** Polls of devices that speak DDI by app and outcome. */
  readonly ddiPolls = new AppCounts(DDI_POLL_OUTCOMES);
  /** Occurrences (not devices) of ids that many devices share by mistake, by app and by kind of the id. */
  readonly mistakenIds = new AppCounts<MistakenId>(MISTAKEN_IDS);
  /** Requests that were not decided checks, by surface, route and status. */
  readonly requests = this.routeCounts(
    'sluice_requests_total',
    'Requests that were not decided checks, by surface, route and status',
    ['surface', 'method', 'route', 'status'],
  );
  /** Durations of requests that may wait, from their head to their reply. */
  readonly requestSeconds = this.durations(
    'sluice_request_duration_seconds',
    'Time from the head of a request to its reply; of checks, those that waited for a store',
    ['surface'],
    REQUEST_SECONDS,
  );
  readonly storeSeconds = this.histogram(
    'sluice_store_call_duration_seconds',
    'Time of calls to a store by operation, refused and failed ones included',
    ['store', 'operation'],
    CALL_SECONDS,
  );
  /** Time from the commit of a change until a process serves it. */
  readonly propagation = this.histogram(
    'sluice_propagation_seconds',
    'Time from the commit of a change until this process serves it, by the clock of the ledger',
    [],
    PROPAGATION_SECONDS,
  );
  readonly firstOffers = this.tally('sluice_first_offers_total', 'First offers by outcome', {
    outcome: FIRST_OFFER_OUTCOMES,
  });
  readonly refreshes = this.tally('sluice_catalog_loads_total', 'Catalog loads by source', {
    source: CATALOG_SOURCES,
  });
  /** Check-ins by outcome: accepted by the engine, stored, not admitted, handed over by an edge, dropped. */
  readonly checkIns = this.tally('sluice_check_ins_total', 'Check-ins by outcome', {
    outcome: CHECK_IN_OUTCOMES,
  });
  readonly ddiReports = this.tally(
    'sluice_ddi_reports_total',
    'Reports of devices that speak DDI by what they came to',
    { outcome: DDI_REPORT_OUTCOMES },
  );
  /** Feedback of devices that speak DDI about actions and cancellations, by execution and result. */
  readonly ddiFeedback = new PairedCount(DDI_EXECUTIONS, DDI_RESULTS);
  readonly ddiStateReads = this.tally(
    'sluice_ddi_state_reads_total',
    'States of devices that speak DDI that were read from a store',
    { source: DDI_STATE_SOURCES },
  );
  readonly connections = this.tally(
    'sluice_connections_total',
    'Connections of clients by outcome',
    { outcome: CONNECTION_OUTCOMES },
  );
  readonly signIns = this.tally('sluice_sign_ins_total', 'Sign-ins by outcome', {
    outcome: SIGN_IN_OUTCOMES,
  });
  readonly deliveries = this.tally(
    'sluice_webhook_deliveries_total',
    'Webhook deliveries by outcome',
    { outcome: DELIVERY_OUTCOMES },
  );
  /** Actions of the device limit: requests refused, and requests that the engine was asked to decide. */
  readonly deviceLimit = this.tally(
    'sluice_device_limit_total',
    'Device requests refused, and decided with other processes',
    { outcome: DEVICE_LIMIT_OUTCOMES },
  );
  /** Events of child processes: restarted after an exit, killed when hung, silent when asked for metrics. */
  readonly processes = this.tally(
    'sluice_process_events_total',
    'Processes restarted, killed because they hung, and missing in the metrics without an answer',
    { event: PROCESS_EVENTS },
  );
  /** Survived faults of stores, by the place in the code that met them. */
  readonly faults = this.tally(
    'sluice_store_faults_total',
    'Survived store faults by the code that met them',
    { place: FAULT_PLACES },
  );

  /** Repairs of a ledger that went back, by event. */
  readonly ledgerRewinds = this.tally(
    'sluice_ledger_rewinds_total',
    'Repairs by nodes after the ledger went back',
    { event: REWIND_EVENTS },
  );

  /** Answers of the upstream that an edge refused, by reason. */
  readonly edgeRefusals = this.tally(
    'sluice_edge_refused_total',
    'Answers of the upstream that this edge refused',
    { reason: EDGE_REFUSALS },
  );

  /** Entries of the audit that were removed because they were too old. */
  readonly auditRemoved = this.counter(
    'sluice_audit_entries_removed_total',
    'Entries of the audit removed because they were older than AUDIT_DAYS',
  );

  /** Tries of notifications that delivered or failed, and messages dropped because they were too old. */
  readonly notifications = this.tally(
    'sluice_notifications_total',
    'Tries of notifications that delivered or failed, and messages dropped because they were too old',
    { outcome: NOTIFICATION_OUTCOMES },
  );

  /** By store, a function that returns 1 while the store answers, else 0. */
  readonly storeUp = this.gauges('sluice_store_up', 'Whether the store answers: 1, or 0', [
    'store',
  ]);
  /** By store, a function that returns 1 while the store answers but refuses writes, else 0. */
  readonly storeRefusingWrites = this.gauges(
    'sluice_store_refusing_writes',
    'Whether the store answers and refuses writes, for whatever reason: 1, or 0',
    ['store'],
  );
  /** By store, a function that returns 1 while it refuses writes because it is full, else 0. */
  readonly storeFull = this.gauges(
    'sluice_store_full',
    'Whether the store refuses writes because its disk or memory is full: 1, or 0',
    ['store'],
  );
  /** By state, a function that returns the number of open rollout plans. */
  readonly plans = this.gauges('sluice_plans', 'Open rollout plans of the service by state', [
    'state',
  ]);
  /** By state, a function that returns the number of connections to PostgreSQL. */
  readonly poolConnections = this.gauges(
    'sluice_database_connections',
    'Connections of this process to PostgreSQL by what they do',
    ['state'],
  );

  /** `process` labels the series of this process among those of the node. */
  constructor(process = 'main', build: RunningBuild = UNKNOWN_BUILD) {
    this.registry.setDefaultLabels({ process });
    collectDefaultMetrics({ register: this.registry });
    for (const name of MISNAMED) this.registry.removeSingleMetric(name);
    this.build(
      'sluice_build_info',
      'Version and commit of the service, and its HTTP engine',
      ['version', 'commit', 'engine'],
      build,
    );
    this.counts(
      'sluice_checks_total',
      'Decided update checks by the reason of the answer',
      ['reason'],
      () => [...this.checks.sums].map(([reason, count]) => ({ labels: { reason }, count })),
    );
    this.counts(
      'sluice_app_checks_total',
      'Update checks by app and by what they came to',
      ['app', 'outcome'],
      () => outcomesOf(this.checks),
    );
    this.counts(
      'sluice_ddi_polls_total',
      'Polls of devices that speak DDI by app and by what they came to',
      ['app', 'outcome'],
      () =>
        this.ddiPolls
          .list()
          .map(({ app, label: outcome, count }) => ({ labels: { app, outcome }, count })),
    );
    this.counts(
      'sluice_ddi_feedback_total',
      'Feedback of devices that speak DDI by what it says',
      ['execution', 'result'],
      () =>
        this.ddiFeedback.list().map(({ values: [execution, result], count }) => ({
          labels: { execution, result },
          count,
        })),
    );
    this.counts(
      'sluice_app_failures_total',
      'Reports of devices that could not install a release',
      ['app'],
      () => this.failures.list().map(({ app, count }) => ({ labels: { app }, count })),
    );
    this.counts(
      'sluice_mistaken_device_ids_total',
      'Devices named by an id that many share by mistake, which are decided without one',
      ['app', 'kind'],
      () =>
        this.mistakenIds
          .list()
          .map(({ app, label: kind, count }) => ({ labels: { app, kind }, count })),
    );
  }

  /** Registers a gauge whose value is read at scrape time. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** Registers a gauge with one label, whose values are read at scrape time. */
  private gauges(
    name: string,
    help: string,
    [label]: readonly [string],
  ): Map<string, () => number> {
    const reads = new Map<string, () => number>();
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [this.registry],
      collect() {
        for (const [value, read] of reads) this.set({ [label]: value }, read());
      },
    });
    return reads;
  }

  /** Registers a counter without a label, which begins at 0. */
  private counter(name: string, help: string): Counter {
    return new Counter({ name, help, registers: [this.registry] });
  }

  private histogram<const Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    buckets: number[],
  ): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets, registers: [this.registry] });
  }

  /** Registers a histogram that every request may add to. */
  private durations(
    name: string,
    help: string,
    [label]: readonly [string],
    bounds: readonly number[],
  ): DurationCounts {
    return new DurationCounts(this.registry, { name, help, label, bounds });
  }

  private routeCounts(name: string, help: string, labelNames: readonly string[]): RouteCounts {
    const routes = new RouteCounts();
    this.counts(name, help, labelNames, () => routes.list());
    return routes;
  }

  /** Registers a counter whose series are read at scrape time. */
  private counts(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => readonly Counted[],
  ): void {
    new Counter({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        this.reset();
        for (const { labels, count } of read()) this.inc(labels, count);
      },
    });
  }

  /** Registers a gauge that is always 1, and whose labels say which program runs. */
  private build(
    name: string,
    help: string,
    labelNames: readonly string[],
    build: RunningBuild,
  ): void {
    new Gauge({ name, help, labelNames, registers: [this.registry] }).set(build, 1);
  }

  /** Registers a counter with one label, of these values. */
  private tally<Label extends string>(
    name: string,
    help: string,
    labelled: Readonly<Record<string, readonly Label[]>>,
  ): LabelledCount<Label> {
    const [[label, values] = ['', []]] = Object.entries(labelled);
    const tally = new LabelledCount(values);
    this.counts(name, help, [label], () =>
      [...tally.counts].map(([value, count]) => ({ labels: { [label]: value }, count })),
    );
    return tally;
  }
}

/** One series of a counter. */
type Counted = { readonly labels: Readonly<Record<string, string>>; readonly count: number };

/** Returns the checks of each app by outcome. */
function outcomesOf(checks: AppCounts<Reason>): readonly Counted[] {
  const sums = new Map<string, Map<string, number>>();
  for (const { app, label, count } of checks.list()) {
    const outcomes = sums.get(app) ?? new Map(APP_OUTCOMES.map((outcome) => [outcome, 0]));
    const outcome = outcomeOf(label);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + count);
    sums.set(app, outcomes);
  }
  return [...sums].flatMap(([app, outcomes]) =>
    [...outcomes].map(([outcome, count]) => ({ labels: { app, outcome }, count })),
  );
}

function outcomeOf(reason: Reason): (typeof APP_OUTCOMES)[number] {
  if (reason === 'offered') return 'offered';
  return reason === 'first-offer-unavailable' ? 'unavailable' : 'nothing';
}
