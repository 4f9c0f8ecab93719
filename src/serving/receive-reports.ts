// Receives what devices that speak DDI report: attributes, the end of an action, the answer to a
// cancellation. No report is refused because of its text.

import { type Failure, failUntil } from '../contract/failure.ts';
import { refuseArtifactName } from '../domain/decision/artifact/artifact.ts';
import { parseVersion } from '../domain/decision/version.ts';
import { closeAction, endCancelled, tellAttributes } from '../domain/fleet/action-reports.ts';
import type { CheckIn } from '../domain/fleet/check-in.ts';
import { internContext, internVersion } from '../domain/fleet/check-in-pack.ts';
import type { DeviceActions, ToldByAttributes } from '../domain/fleet/device-actions.ts';
import { tagLabels } from '../domain/fleet/labels.ts';
import { readNetwork } from '../domain/fleet/network-words.ts';
import type { ActionRecord } from '../fleet/action-record.ts';
import type { Admission } from '../fleet/admission.ts';
import type { CheckInBuffer } from '../fleet/check-in-buffer.ts';
import type { DeviceLabels } from '../fleet/device-labels.ts';
import type { LedgerClock } from '../fleet/ledger-clock.ts';
import type { UnstoredActions } from '../fleet/unstored-actions.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { DeviceName } from '../store/label-store.ts';
import { type Feedback, readAttributes, readFeedback } from '../updater/ddi-body.ts';
import type { CatalogSlot, PreparedPlan } from './catalog-slot.ts';
import type { DdiAsker, DdiPlace, DdiQueries } from './ddi-queries.ts';

type ReceiveReportsDependencies = {
  readonly queries: DdiQueries;
  readonly actions: ActionRecord;
  readonly unstored: Pick<UnstoredActions, 'addFailure'>;
  readonly admission: Pick<Admission, 'record'>;
  readonly labels: Pick<DeviceLabels, 'store' | 'remember' | 'noteSent'>;
  readonly checkIns: Pick<CheckInBuffer, 'add'>;
  readonly clock: Pick<LedgerClock, 'now'>;
  readonly metrics: Metrics;
};

/** A device on a channel that is served. */
export type Reporter = {
  readonly place: DdiPlace;
  readonly slot: CatalogSlot;
  readonly appId: string;
  readonly appRef: string;
  readonly asker: DdiAsker;
  /** Address of the client, or the /64 of an IPv6 address. */
  readonly client: string;
  /** Whether it has shown a token of its own. */
  readonly isItself: boolean;
};

/** Executions that answer a cancellation. */
const ANSWERS: ReadonlySet<string | undefined> = new Set(['closed', 'canceled', 'rejected']);
/** Seconds after which a device that is one too many in its minute may tell its attributes again. */
const ADMISSION_MS = 60_000;
const RETRY_MS = 1000;

export class ReceiveReports {
  constructor(private readonly dependencies: ReceiveReportsDependencies) {}

  /**
   * Notes the attributes of a device, which brings it on record. Refuses a new device beyond the bounds.
   * Rejects with `Unavailable` when no store keeps them.
   */
  async attributes(reporter: Reporter, body: string): Promise<Failure | undefined> {
    const { keys } = reporter.place.settings;
    const { attributes, isReadable } = readAttributes(body, Object.values(keys));
    if (!isReadable) this.dependencies.metrics.ddiReports.add('unreadable');
    const told = toldBy(attributes, keys);
    const refusal = await this.record(reporter, attributes, told);
    if (refusal !== undefined) return refusal;
    await this.dependencies.actions.alter(deviceOf(reporter), 'change', (device, now) =>
      tellAttributes(device, told, now),
    );
    return undefined;
  }

  /**
   * Receives feedback about an action. Returns a promise where something has to be kept, which rejects with
   * `Unavailable` when a closing cannot be.
   */
  feedback(reporter: Reporter, id: number, body: string): Promise<void> | undefined {
    const report = this.read(body);
    if (report === undefined || report.result === 'progress') {
      this.dependencies.metrics.ddiReports.add(report === undefined ? 'unreadable' : 'progress');
      return undefined;
    }
    return this.close(reporter, id, report);
  }

  private async close(reporter: Reporter, id: number, report: Feedback): Promise<void> {
    const { actions, metrics } = this.dependencies;
    const result = report.result === 'failure' ? 'failed' : 'succeeded';
    const before = await actions.alter(deviceOf(reporter), 'close', (device, now) =>
      closeAction(device, id, result, now),
    );
    metrics.ddiReports.add(before === undefined ? 'ignored' : result);
    if (before !== undefined && result === 'failed') this.noteFailure(reporter, before, report);
  }

  /** Receives the answer to a cancellation. */
  async cancelFeedback(reporter: Reporter, id: number, body: string): Promise<void> {
    const answer = this.read(body);
    const { actions, metrics } = this.dependencies;
    if (answer === undefined) return metrics.ddiReports.add('unreadable');
    if (!ANSWERS.has(answer.execution)) return metrics.ddiReports.add('progress');
    const before = await actions.alter(deviceOf(reporter), 'change', (device, now) =>
      endCancelled(device, id, now),
    );
    metrics.ddiReports.add(before === undefined ? 'ignored' : 'canceled');
  }

  /** Reads and counts feedback; returns undefined if it tells nothing. */
  private read(body: string): Feedback | undefined {
    const feedback = readFeedback(body);
    const { execution, finished = 'none' } = feedback;
    if (execution === undefined) return undefined;
    this.dependencies.metrics.ddiFeedback.add(execution, finished);
    return feedback;
  }

  /** Brings a device on record, and its attributes as labels. */
  private async record(
    reporter: Reporter,
    labels: ReadonlyMap<string, string>,
    told: ToldByAttributes,
  ): Promise<Failure | undefined> {
    const { actions, admission, queries, labels: store } = this.dependencies;
    const { appId, asker } = reporter;
    const { actions: known } = await actions.read({ appId, deviceId: asker.deviceId });
    const prepared = reporter.slot.planFor(queries.of(reporter.place, asker, known));
    if (prepared === undefined) return failUntil('unavailable', RETRY_MS);
    const checkIn = this.checkInOf(prepared, asker, told, known);
    if (known !== undefined) {
      // What is noted counts at once; the check-in brings it on record.
      if (labels.size > 0) await store.store({ ...checkIn, labels });
      this.checkIn(prepared, checkIn, labels, asker);
      return undefined;
    }
    const first = { ...checkIn, labels: labels.size > 0 ? labels : undefined };
    const recorded = await admission.record([first], 'awaited');
    if (recorded.unadmitted.length > 0) return failUntil('rateLimited', ADMISSION_MS);
    await store.remember(recorded.labels, [first], 'awaited');
    return undefined;
  }

  private checkInOf(
    prepared: PreparedPlan,
    { deviceId, version, network }: DdiAsker,
    told: ToldByAttributes,
    known: DeviceActions | undefined,
  ): CheckIn {
    return {
      ...prepared.undecided,
      ...{ deviceId, at: this.dependencies.clock.now(), labels: undefined },
      version: version?.canonical ?? told.version ?? known?.version,
      network: readNetwork(network, 0),
    };
  }

  /** Queues a check-in with these labels. */
  private checkIn(
    { plan, undecided }: PreparedPlan,
    { appId, deviceId, version, at }: CheckIn,
    labels: ReadonlyMap<string, string>,
    { network }: DdiAsker,
  ): void {
    const { checkIns, labels: store } = this.dependencies;
    const sent = labels.size > 0 ? labels : undefined;
    const context = internContext(undecided);
    const isTaken = checkIns.add(context, internVersion(version), deviceId, at, sent, network);
    if (!isTaken || sent === undefined) return;
    store.noteSent({ appId, deviceId }, tagLabels(sent), plan.catalog.asksForLabels);
  }

  /** Notes that a device failed to install the release of the action that it has closed. */
  private noteFailure(
    { place, appId, appRef, asker, client, isItself }: Reporter,
    { action, last, version }: DeviceActions,
    { reason }: Feedback,
  ): void {
    const canonicalVersion = (action ?? last)?.version ?? '';
    const { unstored, metrics } = this.dependencies;
    unstored.addFailure({
      ...{
        appId,
        channel: place.channel,
        deviceId: asker.deviceId,
        runs: version,
        canonicalVersion,
      },
      ...{ reason, network: isItself ? undefined : client },
    });
    metrics.failures.of(appRef).reported.count += 1;
  }
}

function deviceOf({ appId, asker: { deviceId } }: Reporter): DeviceName {
  return { appId, deviceId };
}

function toldBy(
  attributes: ReadonlyMap<string, string>,
  keys: DdiPlace['settings']['keys'],
): ToldByAttributes {
  const name = (path: 'platform' | 'arch' | 'bundle') => {
    const text = attributes.get(keys[path]) ?? '';
    return text === '' || refuseArtifactName(path, text) !== undefined ? {} : { [path]: text };
  };
  const version = parseVersion(attributes.get(keys.version) ?? '')?.canonical;
  return {
    ...name('platform'),
    ...name('arch'),
    ...name('bundle'),
    ...(version === undefined ? {} : { version }),
  };
}
