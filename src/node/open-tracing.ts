// Tracing as the settings ask for it.

import type { Log } from '../observe/log.ts';
import { RareLog } from '../observe/rare-log.ts';
import type { Tracing } from '../observe/tracing.ts';
import type { Config } from '../settings/settings.ts';

/** Starts tracing for a serving process; undefined, and nothing is loaded, unless traces are asked for. */
export async function openTracing(
  { tracing }: Config,
  log: Log,
  worker: number | undefined,
): Promise<Tracing | undefined> {
  if (tracing === undefined) return undefined;
  const { startOtelTracing } = await import('../observe/otel-tracing.ts');
  const process = worker === undefined ? 'main' : `worker-${worker}`;
  const resource = { 'sluice.process': process };
  return startOtelTracing({ ...tracing, resource, log: new RareLog(log) });
}
