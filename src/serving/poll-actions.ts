// Answers polls of devices that speak DDI, and tells them what to install. A poll is decided from the catalog
// in memory and the actions that the engine holds; what it changes is stored before it is answered.

import { type Failure, fail, failUntil, isFailure, type Outcome } from '../contract/failure.ts';
import type { DdiSettings } from '../contract/resource.ts';
import type { ArtifactCandidate } from '../domain/decision/catalog.ts';
import { choose } from '../domain/decision/decide.ts';
import type { Plan } from '../domain/decision/plan.ts';
import type { Device } from '../domain/decision/rule/decision-rule.ts';
import { orderOf } from '../domain/decision/serving-snapshot.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import {
  CHANNEL_TOO_OLD,
  decidePoll,
  isServedOlder,
  type ListedAction,
  type PollOutcome,
  type PollQuestion,
} from '../domain/fleet/action-poll.ts';
import { noteFetched, tellVersion } from '../domain/fleet/action-reports.ts';
import { internContext, internVersion } from '../domain/fleet/check-in-pack.ts';
import {
  type ActionRelease,
  type DeviceActions,
  isSameRelease,
  openId,
  retryTimeOf,
} from '../domain/fleet/device-actions.ts';
import type { ActionRecord, KnownActions } from '../fleet/action-record.ts';
import type { CheckInBuffer } from '../fleet/check-in-buffer.ts';
import type { DeviceLabels } from '../fleet/device-labels.ts';
import type { LedgerClock } from '../fleet/ledger-clock.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { DeviceName } from '../store/label-store.ts';
import type { CatalogSlot, PlanDecision, PreparedPlan } from './catalog-slot.ts';
import type { CheckUpdate } from './check-update.ts';
import type { DdiAsker, DdiPlace, DdiQueries } from './ddi-queries.ts';

type PollActionsDependencies = {
  readonly queries: DdiQueries;
  readonly actions: ActionRecord;
  readonly check: Pick<CheckUpdate, 'recordOffer'>;
  readonly labels: Pick<DeviceLabels, 'read'>;
  readonly checkIns: Pick<CheckInBuffer, 'add'>;
  readonly clock: Pick<LedgerClock, 'now'>;
  readonly metrics: Metrics;
};

export type PollAnswer = {
  readonly sleepSeconds: number;
  readonly listed: ListedAction | undefined;
  readonly asksAttributes: boolean;
};

/** An action as its device fetches it. */
export type FetchedAction = {
  readonly candidate: ArtifactCandidate;
  readonly appRef: string;
  /** Whether the device must install it. */
  readonly isRequired: boolean;
};

/** Maximum number of times that a request begins again because of a change meanwhile. */
const ATTEMPTS_MAX = 6;
const RETRY_MS = 1000;
const NO_LABELS: Labels = new Map();
/** Greatest part of the polling time by which a device polls earlier or later, and steps within that. */
const SPREAD = 0.1;
const SPREAD_STEPS = 1024;
const SLEEP_MAX_SECONDS = 86_399;

/** The device or the channel changed meanwhile: the request begins again. */
const AGAIN = Symbol('again');

/** A channel with its settings of DDI, as it is served now. */
type Served = {
  readonly slot: CatalogSlot;
  readonly appId: string;
  readonly place: Pick<DdiPlace, 'app' | 'channel'>;
};

export class PollActions {
  constructor(private readonly dependencies: PollActionsDependencies) {}

  /** Answers a poll. Rejects with `Unavailable` when the device's actions cannot be known or kept. */
  poll(served: Served, asker: DdiAsker): Promise<Outcome<PollAnswer>> {
    return persist(() => this.tryPoll(served, asker));
  }

  /** Returns the action that a device fetches, and notes that; 404 if it is not the device's present one. */
  fetch(served: Served, asker: DdiAsker, id: number): Promise<Outcome<FetchedAction>> {
    return persist(() => this.tryFetch(served, asker, id));
  }

  /** Returns whether the action is being withdrawn. */
  async isWithdrawing(device: DeviceName, id: number): Promise<boolean> {
    const { actions } = await this.dependencies.actions.read(device);
    return actions?.action?.state === 'withdrawing' && openId(actions) === id;
  }

  private async tryPoll(
    served: Served,
    asker: DdiAsker,
  ): Promise<Outcome<PollAnswer> | typeof AGAIN> {
    const read = await this.read(served, asker);
    if (isFailure(read)) return read;
    const { known, prepared, settings, device } = read;
    const sleepSeconds = sleepOf(settings, asker.hash);
    if (known.actions === undefined) {
      this.count(prepared, 'unknown');
      this.checkIn(prepared, asker, undefined, undefined);
      return { sleepSeconds, listed: undefined, asksAttributes: true };
    }
    const now = this.dependencies.clock.now();
    const told = asker.version
      ? tellVersion(known.actions, asker.version.canonical, now)
      : known.actions;
    const labels = prepared.asksForLabels ? await this.dependencies.labels.read(device) : NO_LABELS;
    const decision = decide(read, asker, labels);
    const outcome = decidePoll(told, this.question(read, asker, decision, now));
    if (outcome === CHANNEL_TOO_OLD) return failUntil('unavailable', RETRY_MS);
    if (outcome.device !== known.actions) {
      const kept = await this.keep(read, known.actions, decision, outcome);
      if (kept !== undefined) return kept;
    }
    if (isUnanswered(told, outcome)) this.dependencies.metrics.ddiReports.add('unanswered');
    this.count(prepared, outcomeOf(outcome));
    const { action } = outcome.device;
    const candidate = decision.made?.candidate;
    const isOffer =
      outcome.listed?.kind === 'deployment' && action && candidate && isFor(action, candidate);
    this.checkIn(prepared, asker, outcome.device.version, isOffer ? decision.made : undefined);
    const { listed } = outcome;
    return { sleepSeconds, listed, asksAttributes: outcome.asksAttributes };
  }

  /** Reads the device's actions, and prepares its plan by the catalog that is served then. */
  private async read(
    { slot, appId, place: { app, channel } }: Served,
    asker: DdiAsker,
  ): Promise<Outcome<ReadDevice>> {
    const { actions, queries } = this.dependencies;
    const device = { appId, deviceId: asker.deviceId };
    const known = await actions.read(device);
    const settings = slot.catalog?.snapshot.ddi;
    if (settings === undefined) return failUntil('unavailable', RETRY_MS);
    if (settings === null) return fail('unknownChannel');
    const query = queries.of({ app, channel, settings }, asker, known.actions);
    const prepared = slot.planFor(query);
    if (prepared === undefined) return failUntil('unavailable', RETRY_MS);
    const isVersionKnown = query.version !== undefined || settings.unknownVersion === 'offer';
    return { device, known, settings, prepared, isVersionKnown };
  }

  private question(
    { settings, prepared }: ReadDevice,
    { version }: DdiAsker,
    { who, made }: Decided,
    now: number,
  ): PollQuestion {
    const { plan } = prepared;
    const { snapshot } = plan.catalog;
    const release = made?.candidate?.release;
    return {
      ...{ now, channelId: snapshot.channelId, order: orderOf(snapshot), rule: settings },
      decided: release && {
        number: release.source.number,
        version: release.version.canonical,
        retriedAt: retryTimeOf(release.source),
      },
      isOffered: (asked) => isOffered(plan, who, asked),
      isVersionInAddress: version !== undefined,
    };
  }

  /**
   * Keeps what a poll changes, after the first offer of the release that it opens an action for. Returns why
   * the poll cannot be answered; undefined if it can.
   */
  private async keep(
    { device, known, prepared }: ReadDevice,
    before: DeviceActions,
    { made }: Decided,
    { device: after }: PollOutcome,
  ): Promise<Failure | typeof AGAIN | undefined> {
    const { actions, check } = this.dependencies;
    const candidate = made?.candidate;
    const isOpened = after.action?.state === 'open' && after.action !== before.action;
    if (isOpened && candidate !== undefined && !candidate.release.offered) {
      const offer = await check.recordOffer(prepared.plan.catalog, candidate, true);
      if (offer === 'unavailable') return failUntil('unavailable', RETRY_MS);
      if (offer === 'stale') return AGAIN;
    }
    return (await actions.change(device, known, before, after)) ? undefined : AGAIN;
  }

  private async tryFetch(
    served: Served,
    asker: DdiAsker,
    id: number,
  ): Promise<Outcome<FetchedAction> | typeof AGAIN> {
    const read = await this.read(served, asker);
    if (isFailure(read)) return read;
    const { known, prepared, device } = read;
    const { action } = known.actions ?? {};
    if (known.actions === undefined || action === undefined) return fail('unknownAction');
    if (action.state === 'withdrawing' || openId(known.actions) !== id)
      return fail('unknownAction');
    const { plan } = prepared;
    const candidate = plan.list.find((each) => isFor(action, each));
    if (candidate === undefined) {
      const { snapshot } = plan.catalog;
      const served = { channelId: snapshot.channelId, order: orderOf(snapshot) };
      return isServedOlder(served, action)
        ? failUntil('unavailable', RETRY_MS)
        : fail('unknownAction');
    }
    const fetched = noteFetched(known.actions, id, this.dependencies.clock.now());
    if (fetched !== known.actions) {
      const isKept = await this.dependencies.actions.change(device, known, known.actions, fetched);
      if (!isKept) return AGAIN;
    }
    return { candidate, appRef: plan.catalog.snapshot.appRef, isRequired: plan.isRequired };
  }

  private count(
    { plan }: PreparedPlan,
    outcome: 'nothing' | 'offer' | 'cancel' | 'barred' | 'unknown',
  ) {
    this.dependencies.metrics.ddiPolls.of(plan.catalog.snapshot.appRef)[outcome].count += 1;
  }

  private checkIn(
    prepared: PreparedPlan,
    { deviceId, network, version }: DdiAsker,
    known: string | undefined,
    decision: PlanDecision<ArtifactCandidate> | undefined,
  ): void {
    const { checkIns, clock } = this.dependencies;
    const context = decision?.context ?? internContext(prepared.undecided);
    const runs = internVersion(known ?? version?.canonical);
    checkIns.add(context, runs, deviceId, clock.now(), undefined, network);
  }
}

type ReadDevice = {
  readonly device: DeviceName;
  readonly known: KnownActions;
  readonly settings: DdiSettings;
  readonly prepared: PreparedPlan<ArtifactCandidate>;
  readonly isVersionKnown: boolean;
};

type Decided = {
  readonly who: Device;
  /** Undefined while nothing can be decided. */
  readonly made: PlanDecision<ArtifactCandidate> | undefined;
};

/** Decides for a device; for none while its version is not known and it has to wait for that. */
function decide(
  { prepared, isVersionKnown }: ReadDevice,
  { hash }: DdiAsker,
  labels: Labels,
): Decided {
  const who: Device = { hash, labels, slice: undefined };
  return { who, made: isVersionKnown ? prepared.decide(who) : undefined };
}

/** Repeats work until what it read does not change meanwhile. */
async function persist<Value>(
  work: () => Promise<Outcome<Value> | typeof AGAIN>,
): Promise<Outcome<Value>> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const outcome = await work();
    if (outcome !== AGAIN) return outcome;
  }
  return failUntil('unavailable', RETRY_MS);
}

/** Returns whether a plan would offer a release if there were none above; undefined for an unknown one. */
function isOffered(
  plan: Plan<ArtifactCandidate>,
  who: Device,
  asked: ActionRelease,
): boolean | undefined {
  const place = plan.list.findIndex((candidate) => isFor(asked, candidate));
  if (place === -1) {
    const { releases } = plan.catalog.snapshot;
    const isKnown = releases.some(({ number }) => number === asked.number);
    return isKnown ? false : undefined;
  }
  if (place < plan.from || place >= plan.to) return false;
  return typeof choose({ ...plan, from: place, to: place + 1 }, who) !== 'string';
}

function isFor(asked: ActionRelease, { release }: ArtifactCandidate): boolean {
  const { source, version } = release;
  return isSameRelease(asked, { number: source.number, version: version.canonical });
}

/** Returns whether a poll ended a cancellation that the device did not answer. */
function isUnanswered({ action }: DeviceActions, { device }: PollOutcome): boolean {
  return action?.state === 'withdrawing' && device.action !== action;
}

function outcomeOf({ listed, isBarred }: PollOutcome) {
  if (listed === undefined) return isBarred ? 'barred' : 'nothing';
  return listed.kind === 'cancel' ? 'cancel' : 'offer';
}

/** Returns the seconds until a device polls again: those of the channel, moved by a hash of its id. */
function sleepOf({ pollSeconds }: DdiSettings, hash: number): number {
  const step = (Math.abs(hash) % (SPREAD_STEPS + 1)) / SPREAD_STEPS;
  const seconds = Math.round(pollSeconds * (1 - SPREAD + 2 * SPREAD * step));
  return Math.min(seconds, SLEEP_MAX_SECONDS);
}
