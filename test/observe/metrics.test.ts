// Tests what the metrics of a process have before anything has happened: an alert asks for an increase, which
// Prometheus sees only in a series that was there before.

import { describe, expect, it } from 'vitest';
import { AppCounts } from '../../src/observe/app-counts.ts';
import * as values from '../../src/observe/label-values.ts';
import { Metrics } from '../../src/observe/metrics.ts';

/** Counters with a label whose values are all known, by name. */
const KNOWN = {
  sluice_checks_total: ['reason', values.CHECK_REASONS],
  sluice_first_offers_total: ['outcome', values.FIRST_OFFER_OUTCOMES],
  sluice_catalog_loads_total: ['source', values.CATALOG_SOURCES],
  sluice_check_ins_total: ['outcome', values.CHECK_IN_OUTCOMES],
  sluice_ddi_reports_total: ['outcome', values.DDI_REPORT_OUTCOMES],
  sluice_ddi_state_reads_total: ['source', values.DDI_STATE_SOURCES],
  sluice_connections_total: ['outcome', values.CONNECTION_OUTCOMES],
  sluice_sign_ins_total: ['outcome', values.SIGN_IN_OUTCOMES],
  sluice_webhook_deliveries_total: ['outcome', values.DELIVERY_OUTCOMES],
  sluice_device_limit_total: ['outcome', values.DEVICE_LIMIT_OUTCOMES],
  sluice_process_events_total: ['event', values.PROCESS_EVENTS],
  sluice_store_faults_total: ['place', values.FAULT_PLACES],
  sluice_ledger_rewinds_total: ['event', values.REWIND_EVENTS],
  sluice_edge_refused_total: ['reason', values.EDGE_REFUSALS],
  sluice_notifications_total: ['outcome', values.NOTIFICATION_OUTCOMES],
} as const;
/** Counters whose labels name what publishers make, or routes. */
const OPEN = [
  'sluice_requests_total',
  'sluice_app_checks_total',
  'sluice_app_failures_total',
  'sluice_ddi_polls_total',
  'sluice_ddi_feedback_total',
  'sluice_mistaken_device_ids_total',
];

async function linesOf(metrics: Metrics): Promise<readonly string[]> {
  return (await metrics.registry.metrics()).split('\n');
}

describe('the metrics of a new process', () => {
  it.each(Object.entries(KNOWN))(
    '%s has every value of its label at 0',
    async (name, [label, all]) => {
      const lines = await linesOf(new Metrics('worker-1'));
      for (const value of all) {
        expect(lines).toContain(`${name}{${label}="${value}",process="worker-1"} 0`);
      }
    },
  );

  it('feedback is counted by its words, and by `other` for words that clients do not send', async () => {
    const metrics = new Metrics();
    metrics.ddiFeedback.add('closed', 'failure');
    metrics.ddiFeedback.add('dancing', 'none');
    metrics.ddiFeedback.add('dancing', '1/2');
    const lines = await linesOf(metrics);
    const counted = (execution: string, result: string) =>
      lines.find((line) =>
        line.startsWith(`sluice_ddi_feedback_total{execution="${execution}",result="${result}"`),
      );
    expect(counted('closed', 'failure')).toMatch(/ 1$/);
    expect(counted('other', 'none')).toMatch(/ 1$/);
    expect(counted('other', 'other')).toMatch(/ 1$/);
    expect(counted('rejected', 'success')).toMatch(/ 0$/);
  });

  it('have no other counter with labels', async () => {
    const lines = await linesOf(new Metrics());
    const counters = lines.flatMap((line) => /^# TYPE (sluice_\w+) counter$/.exec(line)?.[1] ?? []);
    const plain = ['sluice_audit_entries_removed_total'];
    expect(counters.toSorted()).toEqual([...Object.keys(KNOWN), ...OPEN, ...plain].toSorted());
  });

  it('have a declared route with the statuses that alerts ask for', async () => {
    const metrics = new Metrics();
    metrics.requests.of({ surface: 'management', method: 'GET', route: '/api/v1/apps' });
    const lines = await linesOf(metrics);
    const labels = 'surface="management",method="GET",route="/api/v1/apps"';
    for (const status of [500, 503]) {
      expect(lines).toContain(
        `sluice_requests_total{${labels},status="${status}",process="main"} 0`,
      );
    }
  });
});

describe('counts by app', () => {
  it('tell an app from another, and what its checks came to', async () => {
    const metrics = new Metrics();
    const { offered } = metrics.checks.of('notes');
    offered.count += 2;
    metrics.checks.of('notes')['up-to-date'].count += 1;
    metrics.checks.of('notes')['outside-cohort'].count += 1;
    metrics.checks.of('mail')['first-offer-unavailable'].count += 1;
    const lines = await linesOf(metrics);
    for (const [app, outcome, count] of [
      ['notes', 'offered', 2],
      ['notes', 'nothing', 2],
      ['notes', 'unavailable', 0],
      ['mail', 'unavailable', 1],
    ]) {
      const labels = `app="${app}",outcome="${outcome}",process="main"`;
      expect(lines).toContain(`sluice_app_checks_total{${labels}} ${count}`);
    }
    expect(lines).toContain('sluice_checks_total{reason="offered",process="main"} 2');
  });

  it('are bounded: apps beyond the first hundred are counted together', () => {
    const counts = new AppCounts(['reported']);
    for (let app = 0; app < 150; app++) counts.of(`app-${app}`).reported.count += 1;
    const listed = counts.list();
    expect(listed).toHaveLength(101);
    expect(listed.find(({ app }) => app === 'other')?.count).toBe(50);
    expect(counts.sums.get('reported')).toBe(150);
  });
});
