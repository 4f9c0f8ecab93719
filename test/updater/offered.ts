// What an updater answers, without a service.

import { isFailure } from '../../src/contract/failure.ts';
import type { Candidate } from '../../src/domain/decision/catalog.ts';
import { planUpdate } from '../../src/domain/decision/plan.ts';
import type { SnapshotRelease } from '../../src/domain/decision/serving-snapshot.ts';
import type { AskingClient, Updater } from '../../src/updater/updater.ts';
import { catalog, SILENT_CLIENT, version } from '../domain/sample.ts';

/** Returns what an updater answers to a device on an old version; undefined where it offers nothing. */
export function offered<Item extends Candidate, Name extends string>(
  protocol: Updater<Item, Name>,
  segments: Readonly<Record<Name | 'channel', string>>,
  served: SnapshotRelease,
  client: AskingClient = SILENT_CLIENT,
): string | undefined {
  const question = protocol.ask(segments, client);
  if (isFailure(question)) throw new Error(question.message);
  const built = catalog([served]);
  const list = question.candidates(built);
  const [candidate] = list;
  if (candidate === undefined) return undefined;
  const plan = planUpdate(built, { ...question, version: version('0.0.1') }, list);
  return protocol.offer(plan, candidate).toString('utf8');
}
