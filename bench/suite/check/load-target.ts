// Puts load on a running deployment (`check --target URL`) in the open loop: requests are sent at fixed
// times, and latencies count from when a request was due. Prints a line of progress each second and a
// summary. The figures hold for that deployment and that network only.

import { LatencyHistogram } from '../../load/latency-histogram.ts';
import type { LoadRun } from '../../load/load-run.ts';
import { type LoadResult, runLoad } from '../../load/run-load.ts';
import type { Report } from '../../measure/report.ts';
import type { TargetSettings } from './target-settings.ts';

const CONNECTIONS_MAX = 64;
/**
 * Requests a second on one connection, which sends one at a time: each answer may take a tenth of a second
 * before the next request is due.
 */
const REQUESTS_PER_CONNECTION = 10;
/** Requests a minute that the service allows one device. */
const DEVICE_RATE_MAX = 120;

/** Runs the load and reports it; progress goes to standard error. */
export async function loadTarget(settings: TargetSettings): Promise<Report> {
  const { rate, seconds, devices, path } = settings;
  const perDevice = (rate * 60) / devices;
  if (perDevice > DEVICE_RATE_MAX) {
    console.error(`${Math.round(perDevice)} requests a minute per device: expect 429 above 120`);
  }
  let ending = () => {};
  const result = await runLoad(
    {
      host: settings.host,
      port: settings.port,
      isTls: settings.isTls,
      question: { paths: [path], devices },
      connections: Math.min(
        CONNECTIONS_MAX,
        Math.max(1, Math.ceil(rate / REQUESTS_PER_CONNECTION)),
      ),
      pipelining: 1,
      seconds,
      warmupSeconds: 0,
      rate,
    },
    (run) => {
      ending = showProgress(run, seconds);
    },
  );
  ending();
  return reportOf(settings, result);
}

function showProgress(run: LoadRun, seconds: number): () => void {
  const begin = performance.now();
  let before = 0;
  const timer = setInterval(() => {
    const elapsed = Math.round((performance.now() - begin) / 1000);
    const errors = [...run.errors.values()].reduce((sum, count) => sum + count, 0);
    const answers = run.responses - before;
    const p99 = run.responses === 0 ? '-' : Math.round(run.latency.percentileUs(0.99));
    console.error(`${elapsed}/${seconds} s  ${answers}/s  p99 ${p99} us  errors ${errors}`);
    before = run.responses;
  }, 1000);
  return () => clearInterval(timer);
}

function reportOf({ rate }: TargetSettings, result: LoadResult): Report {
  const latency = new LatencyHistogram(result.latency);
  const us = (share: number) => Math.round(latency.percentileUs(share));
  const rps = Math.round(result.responses / result.seconds);
  const [p50Us, p90Us, p99Us, p999Us] = [us(0.5), us(0.9), us(0.99), us(0.999)];
  const { statuses, errors } = result;
  return {
    tables: [
      {
        rows: [
          {
            'wanted/s': rate,
            'answered/s': rps,
            'p50 us': p50Us,
            'p90 us': p90Us,
            'p99 us': p99Us,
            'p99.9 us': p999Us,
          },
        ],
      },
      {
        title: 'answers by status',
        rows: Object.entries(statuses).map(([status, count]) => ({
          status,
          count,
          share: count / Math.max(1, result.responses),
        })),
      },
      {
        title: 'errors by kind',
        rows: Object.entries(errors).map(([kind, count]) => ({ kind, count })),
      },
    ],
    json: { target: { rate, rps, p50Us, p90Us, p99Us, p999Us, statuses, errors } },
    ...(result.responses === 0 ? { failure: 'no answer' } : {}),
  };
}
