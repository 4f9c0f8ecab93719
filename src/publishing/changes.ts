// Changes of what channels serve, as publishers make them: each is one ledger call in the mode that its call
// asks for. What was changed is propagated before the answer; what devices would get of a change that was
// tried, or that waits for an approval, is counted after the transaction, without its locks.

import type { Principal } from '../access/api-keys.ts';
import { type Effect, type Finding, type RunnerEffect, warning } from '../contract/dry-run.ts';
import { type Failure, isFailure, type Outcome } from '../contract/failure.ts';
import type { AskedOperation, Release } from '../contract/resource.ts';
import type { Catalog } from '../domain/decision/catalog.ts';
import type { SnapshotRelease } from '../domain/decision/serving-snapshot.ts';
import { servedFindings } from '../domain/release/finding/findings.ts';
import type { Catalogs } from '../serving/catalogs.ts';
import type { EffectMeter, MeasuredEffect } from '../serving/dry-run-effect.ts';
import type {
  ApprovingCall,
  ChangeCall,
  HeldSnapshot,
  RepeatableCall,
  RunChange,
  Seen,
  Waiting,
} from '../store/ledger-terms.ts';
import type { Approvals } from './approvals.ts';
import type { PropagateChange } from './propagate-change.ts';
import { type LoadedChannels, standingFindings } from './standing-findings.ts';

export type ChangesDependencies = {
  readonly catalogs: Pick<Catalogs, 'peek'> & LoadedChannels;
  readonly effects: EffectMeter;
  readonly propagate: PropagateChange;
  readonly approvals: Pick<Approvals, 'storeEffect'>;
};

/** How a change is called. */
export type Calling = {
  /** Operation by which the call is stored where it has to wait; undefined for what never waits. */
  readonly asks?: { readonly operation: AskedOperation; readonly body: object } | undefined;
  /** Request that this carries out. */
  readonly approves?: ApprovingCall | undefined;
  readonly reason?: string | undefined;
  readonly repeat?: RepeatableCall | undefined;
  /** Whether to find what speaks against the release. */
  readonly isFinding?: boolean | undefined;
};

/** A change that was made. */
export type Made<Value> = {
  readonly value: Value;
  /** Whether an earlier call with the same idempotency key made it. */
  readonly isRepeated: boolean;
  /** What speaks against the release; undefined where nobody asked, or an earlier call made it. */
  readonly findings?: readonly Finding[];
};

/** A change that was rolled back, and what it would do. */
export type Tried<Value> = {
  readonly value: Value;
  readonly seen: Seen;
  readonly findings: readonly Finding[];
  readonly effect: Effect;
  readonly runners: readonly RunnerEffect[];
};

/** App and channel that a change names; a promotion names the channel to publish on. */
type Named = { readonly app?: string; readonly channel?: string | undefined };

export class Changes {
  constructor(private readonly dependencies: ChangesDependencies) {}

  /** Makes a change; resolves once this node serves it. One that has to wait is stored as a request. */
  async make<Input extends Named, Value>(
    change: RunChange<Input, Value>,
    { scope, actor }: Principal,
    input: Input,
    { asks, approves, reason, repeat, isFinding }: Calling,
  ): Promise<Outcome<Made<Value>>> {
    const called: ChangeCall<Input> = {
      ...{ scope, input, actor, reason, repeat },
      mode: approves ? { approves } : asks ? { asks: { ...asks, reason } } : 'do',
      ...{ isSeen: isFinding, held: this.heldBy(input) },
    };
    const ran = await change(called);
    if (isFailure(ran)) return ran.approval ? this.complete(ran, change, called) : ran;
    const { value, changed, isRepeated, seen } = ran;
    await this.dependencies.propagate(changed, actor.requestId);
    return { value, isRepeated, ...(seen && { findings: findingsOf(seen) }) };
  }

  /** Makes a change, tells what it does, and takes it back. */
  async try<Input extends Named, Value>(
    change: RunChange<Input, Value>,
    { scope, actor }: Principal,
    input: Input,
  ): Promise<Outcome<Tried<Value>>> {
    const ran = await change({ scope, input, actor, mode: 'try', held: this.heldBy(input) });
    if (isFailure(ran)) return ran;
    const { value, seen } = ran;
    if (seen === undefined) throw new Error('This change has no dry run');
    const measured = await this.measure(seen, input);
    if (isFailure(measured)) return measured;
    return { value, seen, findings: findingsOf(seen), ...measured };
  }

  /** Returns what speaks against a release that was just published. */
  findStanding(release: Release): Promise<readonly Finding[]> {
    return standingFindings(this.dependencies.catalogs, release);
  }

  /** Completes the refusal of a change that waits: with its effect, and the page on which people decide. */
  private async complete<Input extends Named, Value>(
    { seen, ...refusal }: Waiting,
    change: RunChange<Input, Value>,
    call: ChangeCall<Input>,
  ): Promise<Failure> {
    const { approval } = refusal;
    if (approval === undefined) return refusal;
    const measured = seen && (await this.measure(seen, call.input));
    // Too many effects are being measured: then the request has none.
    const effect = isFailure(measured) ? undefined : measured?.effect;
    const shown = await this.dependencies.approvals.storeEffect(approval, effect);
    if (call.isSeen !== true) return { ...refusal, approval: shown };
    const found = seen ?? (await seenAgain(change, call));
    return { ...refusal, approval: shown, ...(found && { findings: findingsOf(found) }) };
  }

  private measure(seen: Seen, input: Named): Promise<Outcome<MeasuredEffect>> {
    const held = (channel: string) => this.heldOf(input, channel);
    const releaseId = changedIn(seen).id;
    return this.dependencies.effects.measure({ places: seen.places, held, releaseId });
  }

  private heldBy(input: Named): HeldSnapshot {
    return (channel) => this.heldOf(input, channel)?.snapshot;
  }

  private heldOf({ app }: Named, channel: string): Catalog | undefined {
    return app === undefined ? undefined : this.dependencies.catalogs.peek(app, channel)?.catalog;
  }
}

/** Returns what a repeated call would do, which saw nothing; undefined if it would be refused now. */
async function seenAgain<Input, Value>(
  change: RunChange<Input, Value>,
  call: ChangeCall<Input>,
): Promise<Seen | undefined> {
  const tried = await change({ ...call, mode: 'try', repeat: undefined });
  return isFailure(tried) ? undefined : tried.seen;
}

/** Returns what speaks against a release beside the others of its channel, or against its rollback. */
function findingsOf(seen: Seen): readonly Finding[] {
  const warnings = seen.concerns.map(({ path, message }) => warning(path, message));
  if (seen.start !== undefined) return warnings;
  const changed = changedIn(seen);
  const elsewhere = changed.status === 'rolled_back' ? seen.alsoOn.map(stillServed) : [];
  return [...warnings, ...elsewhere, ...servedFindings(changed, seen.places[0].after)];
}

/** Returns the release that a change is about, as its channel would serve it. */
function changedIn({ places, version }: Seen): SnapshotRelease {
  const changed = places[0].after.releases.find(
    (each) => each.version === version && !each.followed,
  );
  if (changed === undefined) throw new Error(`The release ${version} of a change is not served`);
  return changed;
}

function stillServed(channel: string): Finding {
  const told = `The channel ${channel} goes on serving this version: roll it back there as well`;
  return warning('version', told);
}
