// Counters and gauges for `/metrics`, in Prometheus text. The hot path only adds to plain numbers; the
// library reads them when somebody scrapes.

import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { Tally } from './tally.ts';

export class Metrics {
  readonly registry = new Registry();
  /** Update checks by the reason of their answer. */
  readonly checks = this.tally('sluice_checks_total', 'Update checks by reason', 'reason');
  /** Management, console and other requests by status. */
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
  /** Check-ins by what became of them: accepted by the engine, stored in the ledger, dropped at a bound. */
  readonly checkIns = this.tally('sluice_check_ins_total', 'Check-ins by outcome', 'outcome');
  /** Deliveries of release webhooks by what became of them. */
  readonly deliveries = this.tally(
    'sluice_webhook_deliveries_total',
    'Webhook deliveries by outcome',
    'outcome',
  );
  /** What the device limit did: requests refused, requests that the engine was asked about. */
  readonly deviceLimit = this.tally(
    'sluice_device_limit_total',
    'Device requests refused, and settled with other processes',
    'outcome',
  );
  /** What became of the processes that this one started: ended by themselves, did not tell their figures. */
  readonly processes = this.tally(
    'sluice_process_events_total',
    'Processes restarted, and left out of these figures because they did not answer',
    'event',
  );
  /** Faults of stores that were survived, by where they showed. */
  readonly faults = this.tally(
    'sluice_store_faults_total',
    'Survived store faults by place',
    'place',
  );

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** A gauge whose value is read at scrape time. */
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

  private tally(name: string, help: string, label: string): Tally {
    const tally = new Tally();
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
