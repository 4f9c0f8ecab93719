// Receives events of a code host about its releases. A release is published once, however many events
// announce it: GitHub sends up to three for one click, concurrently and in any order.

import { isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type { Artifact, Release } from '../contract/resource.ts';
import { storableText } from '../contract/text.ts';
import { foldPlatform } from '../domain/decision/artifact/artifact.ts';
import { foldArch } from '../domain/decision/artifact/fold-arch.ts';
import { runsOnEveryArch } from '../domain/release/asset/runs-on-every-arch.ts';
import type { LeftAlone, ReleaseHold } from '../domain/release/host/announcement.ts';
import type { HostRelease } from '../domain/release/host/host-release.ts';
import {
  isWithdrawal,
  type Retraction,
  type RetractionOutcome,
} from '../domain/release/host/retraction.ts';
import { tagVersion } from '../domain/release/host/tag-version.ts';
import type { Announced, HostRepository, NewAnnouncement } from '../store/console-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { NewArtifact } from '../store/ledger-terms.ts';
import { findingText } from '../words/finding.ts';
import { countWords } from '../words/name.ts';
import { type AnnouncedAsset, announcedArtifacts } from './announced-artifacts.ts';
import type { PropagateChange } from './propagate-change.ts';
import { type LoadedChannels, standingFindings } from './standing-findings.ts';
import { integrationOf, type OpenWebhook } from './webhooks.ts';

export type ReceiveDependencies = {
  readonly ledger: Ledger;
  readonly propagate: PropagateChange;
  readonly catalogs: LoadedChannels;
};

/** Maximum number of findings in an answer, and of characters of each. */
const FINDINGS_MAX = 50;
const FINDING_LENGTH_MAX = 400;

export type ReleaseEvent = {
  readonly action: string;
  readonly tag: string;
  /** Tag of the release before this event renamed it. */
  readonly formerTag?: string | undefined;
  /** Id of the release on the code host; undefined if an event has none. */
  readonly id: number | undefined;
  /** Times of the release's last change and of its publication, RFC 3339; undefined if the event has none. */
  readonly changedAt: string | undefined;
  readonly publishedAt: string | undefined;
  /** Whether the repository is private, so that no device can download its files. */
  readonly isPrivate?: boolean | undefined;
  /** Repository of the release; undefined if an event names none. */
  readonly repository?: HostRepository | undefined;
  readonly isDraft: boolean;
  readonly isPrerelease: boolean;
  readonly notes: string;
  readonly assets: readonly AnnouncedAsset[];
};

/**
 * Actions that announce a release. GitHub also sends `created` for a release published without a draft. Gitea
 * and Forgejo send `updated` for all but the first event, and for a published draft whose tag existed.
 */
const ANNOUNCING = new Set(['published', 'created', 'released', 'prereleased', 'updated']);
/** Actions that may turn a release on `stable` into a pre-release. */
const DEMOTING: ReadonlySet<string> = new Set(['prereleased', 'updated']);
const EDITING = 'edited';
const STABLE = 'stable';
const BETA = 'beta';

/**
 * Creates an announced release on `stable`, a pre-release on `beta`, with the channel's default rollout:
 * paused if the webhook holds it or the channel asks for approvals, else published. If the channel has the
 * version already, the answer is `duplicate`. Such an announcement, or an edit, changes files and notes only
 * of a release that came from a webhook and was never offered; `takeNext` decides. Pauses a release that the
 * code host retracts. Ignores all other events, with a reason.
 */
export async function receiveRelease(
  dependencies: ReceiveDependencies,
  webhook: OpenWebhook,
  event: ReleaseEvent,
): Promise<Outcome<Received>> {
  const isEdit = event.action === EDITING;
  const way = wayOf(event);
  const isRetracted = isWithdrawal(way);
  if (!isEdit && !isRetracted && !ANNOUNCING.has(event.action)) {
    return ignored(`Action ${event.action.slice(0, 50)} announces no release`);
  }
  const foreign = await refuseRepository(dependencies, webhook, event.repository);
  if (foreign !== undefined) return foreign;
  const receiving = { ...dependencies, webhook };
  const renamed = await retractRenamed(receiving, event);
  if (renamed !== undefined) return renamed;
  if (event.isDraft && !isRetracted) return ignored('The release is a draft');
  const found = tagVersion(event.tag, webhook.appRef, webhook.tagPrefix ?? undefined);
  if (found === undefined) return ignored(`The tag ${event.tag.slice(0, 100)} is no version`);
  const { text: version, version: parsed } = found;
  const host = hostOf(webhook, event);
  // These actions also announce a release that always was a pre-release; then it is not on `stable`.
  const isDemoted = DEMOTING.has(event.action) && event.isPrerelease;
  if (isRetracted || isDemoted) {
    const retracted = await retract(receiving, {
      host,
      canonicalVersion: parsed.canonical,
      channels: isRetracted ? [STABLE, BETA] : [STABLE],
      way,
      isDraft: way === 'deleted' && event.isDraft,
    });
    if (retracted !== undefined) return retracted;
    if (isRetracted) return ignored(`Action ${event.action} announces no release`);
  }
  if (event.isPrivate) {
    return ignored('The repository is private: no device could fetch its files');
  }
  const channel = event.isPrerelease ? BETA : STABLE;
  const name = { app: webhook.appId, channel, canonicalVersion: parsed.canonical };
  // An edit must not bind the repository: it may concern a release that no event has announced here.
  const late = isEdit ? undefined : await bindRepository(dependencies, webhook, event.repository);
  if (late !== undefined) return late;
  const { artifacts, remarks } = announcedArtifacts(event.assets);
  const announcement = { name, version, notes: event.notes, host, artifacts, isEdit };
  const received = await announce(receiving, announcement);
  if (isFailure(received) || received.outcome === 'ignored') return received;
  const doubts = await findingTexts(dependencies, received.release);
  return [...remarks, ...doubts].reduce(withReason, received);
}

// The repository of a webhook is that of its first delivery which pings or announces a release. Deliveries
// from another repository with the same secret, such as those of an organization's webhook, are ignored.

type RepositoryLedger = { readonly ledger: Pick<Ledger, 'bindRepository'> };

/** Returns the answer to a delivery from another repository than the webhook's; undefined to go on. */
async function refuseRepository(
  dependencies: RepositoryLedger,
  webhook: OpenWebhook,
  repository: HostRepository | undefined,
): Promise<Received | undefined> {
  if (webhook.repository === null) return undefined;
  return bindRepository(dependencies, webhook, repository);
}

/** Stores the webhook's repository, or its new name; returns the answer to a delivery from another one. */
export async function bindRepository(
  { ledger }: RepositoryLedger,
  webhook: OpenWebhook,
  repository: HostRepository | undefined,
): Promise<Received | undefined> {
  if (repository === undefined) return undefined;
  const known = webhook.repository;
  if (known !== null && isSame(known, repository) && known.name === repository.name) {
    if (known.id !== null || repository.id === null) return undefined;
  }
  const bound = await ledger.bindRepository(webhook, repository);
  return bound === null || isSame(bound, repository)
    ? undefined
    : ignored(otherText(repository, bound));
}

/** Returns whether two repositories are the same: by their ids, or by their names if one has no id. */
function isSame(one: HostRepository, other: HostRepository): boolean {
  return one.id === null || other.id === null
    ? one.name.toLowerCase() === other.name.toLowerCase()
    : one.id === other.id;
}

function otherText(from: HostRepository, own: HostRepository): string {
  const names =
    from.name === own.name
      ? [`${from.name} (${from.id})`, `${own.name} (${own.id})`]
      : [from.name, own.name];
  return `It is of ${names[0]}, and this webhook takes ${names[1]}: enable the webhook again to change that`;
}

/** Returns the findings in the release after the event, as a dry run words them; at most `FINDINGS_MAX`. */
async function findingTexts(
  { catalogs }: ReceiveDependencies,
  release: Release | undefined,
): Promise<readonly string[]> {
  if (release === undefined) return [];
  const findings = await standingFindings(catalogs, release);
  return findings
    .slice(0, FINDINGS_MAX)
    .map((finding) =>
      storableText(findingText(finding, release.artifacts).slice(0, FINDING_LENGTH_MAX)),
    );
}

/** If the event renamed its release, retracts the former tag from `stable`; undefined if nothing changed. */
async function retractRenamed(
  receiving: Receiving,
  event: ReleaseEvent,
): Promise<Outcome<Received> | undefined> {
  const { webhook } = receiving;
  if (event.formerTag === undefined) return undefined;
  const former = tagVersion(event.formerTag, webhook.appRef, webhook.tagPrefix ?? undefined);
  if (former === undefined) return undefined;
  return retract(receiving, {
    host: hostOf(webhook, event),
    canonicalVersion: former.version.canonical,
    channels: [STABLE],
    way: 'renamed',
    isDraft: false,
  });
}

/** Returns how an event would retract a release; `receiveRelease` decides whether it does. */
function wayOf({ action }: ReleaseEvent): Retraction['way'] {
  return action === 'deleted' || action === 'unpublished' ? action : 'prereleased';
}

/** Returns the release as the event describes it. */
function hostOf({ provider }: OpenWebhook, event: ReleaseEvent): HostRelease {
  const { id, tag, changedAt, publishedAt, assets } = event;
  const uploads = assets.flatMap(({ createdAt }) => msOf(createdAt) ?? []);
  return {
    provider,
    id: id ?? null,
    tag,
    changedAt: msOf(changedAt),
    publishedAt: msOf(publishedAt),
    filesFrom: uploads.length === 0 ? null : uploads.reduce((one, other) => Math.min(one, other)),
    filesTo: uploads.length === 0 ? null : uploads.reduce((one, other) => Math.max(one, other)),
  };
}

function msOf(time: string | undefined): number | null {
  return time === undefined ? null : Date.parse(time);
}

// Targets: platforms and architectures for which a held release needs files before it is published.

/**
 * Returns whether there is an artifact for each target: `linux`, or with an architecture `linux/x86_64`. An
 * artifact that runs on every architecture counts for each. One that names no architecture does not count if
 * other artifacts name theirs, because it may be for any.
 */
export function isExpected(
  targets: readonly string[],
  artifacts: readonly Pick<Artifact, 'platform' | 'arch' | 'url' | 'format'>[],
): boolean {
  return targets.every((target) => {
    const [name = '', arch] = target.split('/');
    const platform = foldPlatform(name);
    return artifacts.some((artifact) => {
      if (foldPlatform(artifact.platform) !== platform) return false;
      if (arch === undefined) return true;
      const isWanted = foldArch(artifact.arch, platform) === foldArch(arch, platform);
      return isWanted || runsOnEveryArch(artifact, artifacts);
    });
  });
}

/** Returns whether a text is a target: a platform, or `platform/arch`, spelled as in artifacts. */
export function isTarget(text: string): boolean {
  return /^[^\s/]+(?:\/[^\s/]+)?$/.test(text);
}

// Effect of an event on a release, and the answer to its sender.

/**
 * Creates the release, changes the existing one, or leaves it unchanged with a reason. An edit announces
 * nothing: it is ignored unless it changes a release.
 */
async function announce(
  { ledger, propagate, webhook }: Receiving,
  announcement: Omit<NewAnnouncement, 'holdOf' | 'isComplete'>,
): Promise<Outcome<Received>> {
  const { name, isEdit } = announcement;
  const notes = cutNotes(announcement.notes);
  const announced = await ledger.announceRelease(
    webhook.organizationId,
    {
      ...announcement,
      notes,
      holdOf: (artifacts) => holdOf(webhook, artifacts),
      isComplete: (artifacts) => isExpected(webhook.expect ?? [], artifacts),
    },
    integrationOf(webhook),
  );
  if (isFailure(announced)) {
    const { failure, message } = announced;
    if (failure === 'versionWithdrawn' || failure === 'appArchived') return ignored(message);
    if (failure === 'unknownChannel') return ignored(`The app has no channel ${name.channel}`);
    return { ...announced, failure };
  }
  await propagate(announced.changed, webhook.requestId);
  const { value } = announced;
  const received = receivedOf(value, notes, isEdit);
  const isTaken = value.outcome === 'created' || (value.outcome === 'changed' && value.hasNewNotes);
  return isTaken && notes.length < announcement.notes.length
    ? withReason(received, 'The notes were cut to 256 KiB')
    : received;
}

function receivedOf(announced: Announced, notes: string, isEdit: boolean): Received {
  switch (announced.outcome) {
    case 'created':
      return { outcome: 'created', release: announced.release };
    case 'changed':
      return {
        outcome: 'duplicate',
        reason: changeText(announced, notes),
        release: announced.release,
      };
    case 'left':
      return leftAlone(announced, isEdit);
    case 'over':
      return ignored('The code host has deleted this release, or called it back since');
    case 'remembered':
      return ignored('An edit publishes nothing');
  }
}

function leftAlone(
  { release, left }: Extract<Announced, { readonly outcome: 'left' }>,
  isEdit: boolean,
): Received {
  if (left === undefined) {
    if (isEdit) return ignored('A release does not change once it is published');
    return { outcome: 'duplicate', release };
  }
  const isOffered = left === 'offered' && release.status === 'paused';
  const reason = `${LEFT_ALONE[left]}${isOffered ? ', and it stays paused' : ''}`;
  return isEdit ? ignored(reason) : { outcome: 'duplicate', reason, release };
}

const LEFT_ALONE: Readonly<Record<LeftAlone, string>> = {
  api: 'It came through the API: nothing of it changed',
  'rolled-back': 'It is rolled back: nothing of it changed',
  another: 'Another release has this version here: nothing of it changed',
  earlier: 'A later release of this tag was taken: nothing changed',
  older: 'A later event was taken: nothing changed',
  over: 'The code host has deleted this release, or called it back since: nothing changed',
  approved:
    'The channel asks for approvals, and it is published: its files and notes stay as they were',
  offered: 'A device was offered it before: its files and notes stay as they were',
  retracted: 'The code host has called it back: it stays paused until it is published by hand',
};

/** Says what changed in a release, and what did not. */
function changeText(
  changed: Extract<Announced, { readonly outcome: 'changed' }>,
  notes: string,
): string {
  const { release, before, hasNewFiles, hasNewNotes, isMadeAnew, isRetracted } = changed;
  const artifacts = countWords(release.artifacts.length, 'artifact');
  if (!isMadeAnew) {
    const isMore = release.artifacts.length > before.artifacts;
    const taken = isMore ? 'Completed with' : 'Files were replaced: it has';
    return [
      hasNewFiles ? `${taken} ${artifacts}` : undefined,
      hasNewNotes ? 'The notes were replaced' : undefined,
      isRetracted ? LEFT_ALONE.retracted : undefined,
    ]
      .filter((each) => each !== undefined)
      .join('. ');
  }
  const isPublished = before.status !== 'published' && release.status === 'published';
  const isPaused = release.status === 'paused';
  return [
    `Made anew by the code host: it has ${artifacts}`,
    isPublished ? ', and it is published again' : isPaused ? ', and it stays paused' : '',
    release.notes === notes ? '' : '. The notes stay as they were',
  ].join('');
}

/** Returns what a new release waits for; undefined if webhooks hold none, or it has all expected files. */
function holdOf(
  { hold, expect }: OpenWebhook,
  artifacts: readonly NewArtifact[],
): ReleaseHold | undefined {
  if (!hold) return undefined;
  if (expect === null) return 'by-hand';
  return isExpected(expect, artifacts) ? undefined : 'expecting';
}

/**
 * Cuts notes to 256 KiB, because publishing a release with cut notes is better than refusing it: GitHub
 * limits characters, which take up to four bytes each. Replaces characters that PostgreSQL cannot store.
 */
function cutNotes(notes: string): string {
  const text = storableText(notes);
  const bytes = Buffer.from(text);
  if (bytes.length <= LIMIT.notesBytesMax) return text;
  // Without the character that the cut has split.
  return bytes
    .subarray(0, LIMIT.notesBytesMax)
    .toString('utf8')
    .replace(/\ufffd$/, '');
}

// Releases that a code host retracts: it deletes or unpublishes them, turns a release on `stable` into a
// pre-release, or gives it another tag.

type Receiving = Pick<ReceiveDependencies, 'ledger' | 'propagate'> & {
  readonly webhook: OpenWebhook;
};

/** Retraction of a version on some channels. */
type VersionRetraction = Retraction & {
  readonly canonicalVersion: string;
  readonly channels: readonly string[];
};

/**
 * Pauses the release on these channels if a webhook created it there. Returns the answer to the event;
 * undefined if there is nothing to report, so that the event may still announce a release.
 */
async function retract(
  { ledger, propagate, webhook }: Receiving,
  { canonicalVersion, channels, ...call }: VersionRetraction,
): Promise<Outcome<Received> | undefined> {
  const reasons: string[] = [];
  for (const channel of channels) {
    const name = { app: webhook.appId, channel, canonicalVersion };
    const called = await ledger.retractRelease(
      webhook.organizationId,
      name,
      { ...call, reason: `${call.way} by the code host` },
      integrationOf(webhook),
    );
    if (isFailure(called)) {
      const { failure } = called;
      if (failure === 'unknownChannel') continue;
      return { ...called, failure };
    }
    await propagate(called.changed, webhook.requestId);
    const { value } = called;
    if (value === undefined) continue;
    const isSaid = isWithdrawal(call.way) || value === 'paused' || value === 'unserved';
    const said = isSaid ? SAID[value](channel, call.way) : undefined;
    if (said !== undefined) reasons.push(said);
  }
  return reasons.length === 0 ? undefined : ignored(reasons.join('. '));
}

const SAID: Readonly<
  Record<RetractionOutcome, (channel: string, way: string) => string | undefined>
> = {
  paused: (channel, way) => `The release was ${way}: it is paused on ${channel}`,
  unserved: (channel, way) => `The release was ${way}, and is not served on ${channel}`,
  older: (channel) => `A later event was taken on ${channel}: nothing changed`,
  another: (channel) => `The release on ${channel} is another one: nothing changed`,
  'not-announced': () => undefined,
};

// Answer to the sender of an event.

export type Received = {
  readonly outcome: 'created' | 'duplicate' | 'ignored';
  readonly reason?: string;
  readonly release?: Release;
};

function ignored(reason: string): Received {
  return { outcome: 'ignored', reason };
}

/** Appends a sentence to the reason. */
function withReason(received: Received, reason: string): Received {
  const reasons = received.reason === undefined ? [reason] : [received.reason, reason];
  return { ...received, reason: reasons.join('. ') };
}
