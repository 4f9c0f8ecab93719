// Counters and gauges for `/metrics`, in Prometheus text. The hot path only adds to plain numbers, which
// prom-client reads at scrape time.

import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Reason } from '../contract/reason.ts';
import { LabelledCount } from './labelled-count.ts';

export class Metrics {
  readonly registry = new Registry();
  /** Update checks by the reason of their answer. */
  readonly checks = this.tally<Reason>(
    'sluice_checks_total',
    'Decided update checks of /u and /e by the reason of the answer',
    'reason',
  );
  /** Requests to all other endpoints by status. */
  readonly requests = this.tally('sluice_requests_total', 'Other requests by status', 'status');
  readonly firstOffers = this.tally(
    'sluice_first_offers_total',
    'First offers by outcome',
    'outcome',
  );
  readonly refreshes = this.tally(
    'sluice_catalog_loads_total',
    'Catalog loads by source',
    'source',
  );
  /** Check-ins by outcome: accepted by the engine, stored in the ledger, dropped at a bound. */
  readonly checkIns = this.tally('sluice_check_ins_total', 'Check-ins by outcome', 'outcome');
  /** Connections of clients by whether they were accepted. */
  readonly connections = this.tally<'accepted' | 'refused'>(
    'sluice_connections_total',
    'Connections of clients by outcome',
    'outcome',
  );
  /** Tries of accounts' passwords by outcome. */
  readonly signIns = this.tally('sluice_sign_ins_total', 'Sign-ins by outcome', 'outcome');
  /** Webhook deliveries by outcome. */
  readonly deliveries = this.tally(
    'sluice_webhook_deliveries_total',
    'Webhook deliveries by outcome',
    'outcome',
  );
  /** Actions of the device limit: requests refused, requests settled with the engine. */
  readonly deviceLimit = this.tally(
    'sluice_device_limit_total',
    'Device requests refused, and settled with other processes',
    'outcome',
  );
  /**
   * Events of child processes: restarted after they ended, hung and killed, silent when asked for their
   * metrics.
   */
  readonly processes = this.tally(
    'sluice_process_events_total',
    'Processes restarted, killed because they hung, and left out of these figures as they did not answer',
    'event',
  );
  /** Faults of stores that the service survived, by the place that met them. */
  readonly faults = this.tally(
    'sluice_store_faults_total',
    'Survived store faults by place',
    'place',
  );

  /** What a ledger that went back has cost or what was written back to it, by event. */
  readonly ledgerRewinds = this.tally(
    'sluice_ledger_rewinds_total',
    'What nodes did because the ledger had gone back',
    'event',
  );

  /** Functions that return 1 while a store is there, else 0, by the store. */
  readonly storeUp = this.leastOf('sluice_store_up', 'Whether the store answers: 1, or 0', 'store');

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /**
   * Registers a gauge whose value is read at scrape time. The value of a node is the sum of its processes,
   * unless another aggregation is named.
   */
  gauge(name: string, help: string, read: () => number, aggregator: 'sum' | 'max' = 'sum'): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      aggregator,
      collect() {
        this.set(read());
      },
    });
  }

  /** Registers a gauge of several values, read at scrape time; a node has the least of its processes. */
  private leastOf(name: string, help: string, label: string): Map<string, () => number> {
    const reads = new Map<string, () => number>();
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [this.registry],
      aggregator: 'min',
      collect() {
        for (const [value, read] of reads) this.set({ [label]: value }, read());
      },
    });
    return reads;
  }

  private tally<Label extends string>(
    name: string,
    help: string,
    label: string,
  ): LabelledCount<Label> {
    const tally = new LabelledCount<Label>();
    new Counter({
      name,
      help,
      labelNames: [label],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [value, count] of tally.counts) this.inc({ [label]: value }, count);
      },
    });
    return tally;
  }
}
