// Dry runs of changes: all that the change would do except writing. A call that would be refused is refused
// in the same way; any other gets findings and the effect on the fleet.

import type { Principal } from '../access/api-keys.ts';
import {
  type DryRunAnswer,
  type Finding,
  type PlanDryRunAnswer,
  type RunnerEffect,
  reachedBy,
  type ServingDryRunAnswer,
  type UnpublishedRelease,
} from '../contract/dry-run.ts';
import {
  type FailureKind,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../contract/failure.ts';
import type { Release } from '../contract/resource.ts';
import type { Catalog } from '../domain/decision/catalog.ts';
import type { SnapshotRelease } from '../domain/decision/serving-snapshot.ts';
import { servedFindings } from '../domain/release/findings.ts';
import { applyServingChange, type ServingChange } from '../domain/release/serving-change.ts';
import { planFindings } from '../domain/rollout/plan-findings.ts';
import type { PlanDefinition } from '../domain/rollout/plan-state.ts';
import type { Catalogs } from '../serving/catalogs.ts';
import type { MeasureEffect } from '../serving/dry-run-effect.ts';
import type { Ledger, NewPromotion, NewRelease, PublishObstacle } from '../store/ledger.ts';
import type { DryRunResult, ReleaseName } from '../store/ledger-terms.ts';
import { type LoadedChannels, standingFindings } from './standing-findings.ts';

export type DryRunDependencies = {
  readonly ledger: Pick<
    Ledger,
    'dryRunPublish' | 'dryRunPromotion' | 'dryRunServing' | 'dryRunPlan'
  >;
  readonly catalogs: Pick<Catalogs, 'peek'> & LoadedChannels;
  readonly effects: MeasureEffect;
};

export class DryRun {
  private readonly dependencies: DryRunDependencies;

  constructor(dependencies: DryRunDependencies) {
    this.dependencies = dependencies;
  }

  /** Performs a dry run of publishing a release. */
  async publish(
    { scope, actor }: Principal,
    release: NewRelease,
  ): Promise<
    Outcome<
      DryRunAnswer<UnpublishedRelease>,
      'unknownApp' | 'unknownChannel' | PublishObstacle | LostRight | 'unavailable'
    >
  > {
    const held = (channel: string) => this.heldOf(release.app, channel);
    const result = await this.tryPublishing({ scope, actor }, release);
    return isFailure(result) ? result : this.report(unpublished(result), held);
  }

  /** Returns what a dry run of publishing a release finds, without its effect. */
  async findPublishing(
    caller: Principal,
    release: NewRelease,
  ): Promise<Outcome<readonly Finding[], FailureKind>> {
    const result = await this.tryPublishing(caller, release);
    return isFailure(result) ? result : findingsOf(result);
  }

  private tryPublishing({ scope, actor }: Principal, release: NewRelease) {
    const held = (channel: string) => this.heldOf(release.app, channel)?.snapshot;
    return this.dependencies.ledger.dryRunPublish(scope, release, actor, held);
  }

  /** Performs a dry run of a promotion; warnings about its source come first. */
  async promote(
    { scope, actor }: Principal,
    promotion: NewPromotion,
  ): Promise<
    Outcome<
      DryRunAnswer<UnpublishedRelease>,
      UnknownRelease | PublishObstacle | 'notPromotable' | LostRight | 'unavailable'
    >
  > {
    const held = (channel: string) => this.heldOf(promotion.app, channel);
    const result = await this.tryPromoting({ scope, actor }, promotion);
    return isFailure(result) ? result : this.report(unpublished(result), held);
  }

  /** Returns what a dry run of a promotion finds, without its effect. */
  async findPromoting(
    caller: Principal,
    promotion: NewPromotion,
  ): Promise<Outcome<readonly Finding[], FailureKind>> {
    const result = await this.tryPromoting(caller, promotion);
    return isFailure(result) ? result : findingsOf(result);
  }

  private tryPromoting({ scope, actor }: Principal, promotion: NewPromotion) {
    const held = (channel: string) => this.heldOf(promotion.app, channel)?.snapshot;
    return this.dependencies.ledger.dryRunPromotion(scope, promotion, actor, held);
  }

  /** Returns what speaks against a release that was just published. */
  findStanding(release: Release): Promise<readonly Finding[]> {
    return standingFindings(this.dependencies.catalogs, release);
  }

  /** Performs a dry run of serving control. */
  async control(
    { scope, actor }: Principal,
    name: ReleaseName,
    change: ServingChange,
  ): Promise<
    Outcome<
      ServingDryRunAnswer,
      UnknownRelease | 'narrowing' | 'rolledBack' | LostRight | 'unavailable'
    >
  > {
    const held = (channel: string) => this.heldOf(name.app, channel);
    const result = await this.dependencies.ledger.dryRunServing(
      scope,
      name,
      (serving) => applyServingChange(serving, change),
      actor,
      (channel) => held(channel)?.snapshot,
    );
    return isFailure(result) ? result : this.report(result, held);
  }

  /** Performs a dry run of a plan up to its first raise. */
  async plan(
    { scope, actor }: Principal,
    name: ReleaseName,
    definition: PlanDefinition,
  ): Promise<
    Outcome<PlanDryRunAnswer, UnknownRelease | 'planRefused' | LostRight | 'unavailable'>
  > {
    const held = (channel: string) => this.heldOf(name.app, channel);
    const result = await this.dependencies.ledger.dryRunPlan(
      scope,
      name,
      definition,
      actor,
      (channel) => held(channel)?.snapshot,
    );
    if (isFailure(result)) return result;
    const reported = await this.report(result, held);
    if (isFailure(reported)) return reported;
    const { release: found, effect } = reported;
    const gain = reachedBy({ release: found, effect });
    const findings = planFindings(found.plan, { ...found, gain });
    return { plan: found.plan, findings: [...warningsOf(result), ...findings], effect };
  }

  private async report<Value extends { readonly version: string }>(
    result: DryRunResult<Value>,
    held: (channel: string) => Catalog | undefined,
  ): Promise<
    Outcome<DryRunAnswer<Value> & { readonly runners: readonly RunnerEffect[] }, 'unavailable'>
  > {
    const { value, places } = result;
    const releaseId = changedIn(result).id;
    const measured = await this.dependencies.effects.measure({ places, held, releaseId });
    if (isFailure(measured)) return measured;
    return { release: value, findings: findingsOf(result), ...measured };
  }

  private heldOf(app: string, channel: string): Catalog | undefined {
    return this.dependencies.catalogs.peek(app, channel)?.catalog;
  }
}

function warningsOf({ concerns }: Pick<DryRunResult<unknown>, 'concerns'>): readonly Finding[] {
  return concerns.map((each) => ({ ...each, severity: 'warning' }));
}

/** Returns what speaks against a release beside the others of its channel, or against its rollback. */
function findingsOf(result: DryRunResult<{ readonly version: string }>): readonly Finding[] {
  const changed = changedIn(result);
  const elsewhere = changed.status === 'rolled_back' ? result.alsoOn.map(stillServed) : [];
  const own = servedFindings(changed, result.places[0].after);
  return [...warningsOf(result), ...elsewhere, ...own];
}

/** Returns the release that a dry run has changed, as its channel would serve it. */
function changedIn({ value, places }: DryRunResult<{ readonly version: string }>): SnapshotRelease {
  const changed = places[0].after.releases.find(
    ({ version, followed }) => version === value.version && !followed,
  );
  if (changed === undefined)
    throw new Error(`The release ${value.version} of the dry run is not served`);
  return changed;
}

/** Returns the release without id and time of creation, which it does not have yet. */
function unpublished(result: DryRunResult<Release>): DryRunResult<UnpublishedRelease> {
  const { id: _, createdAt: __, ...release } = result.value;
  return { ...result, value: release };
}

function stillServed(channel: string): Finding {
  const message = `The channel ${channel} goes on serving this version: roll it back there as well`;
  return { path: 'version', severity: 'warning', message };
}
