// Releases that a code host announces. A release is published once, however many events announce it: GitHub
// sends up to three for one click, concurrently and in any order.

import { isFailure, type LostRight, type Outcome } from '../contract/failure.ts';
import type { Artifact } from '../contract/resource.ts';
import { foldPlatform } from '../domain/decision/artifact.ts';
import { foldArch } from '../domain/decision/fold-arch.ts';
import { type CallBack, isWithdrawal } from '../domain/release/call-back.ts';
import type { HostRelease } from '../domain/release/host-release.ts';
import { runsOnEveryArch } from '../domain/release/runs-on-every-arch.ts';
import { tagVersion } from '../domain/release/tag-version.ts';
import type { Ledger } from '../store/ledger.ts';
import {
  announce,
  callBack,
  ignored,
  type Received,
  type Receiving,
  withReason,
} from './announce.ts';
import { type AnnouncedAsset, announcedArtifacts } from './announced-artifacts.ts';
import type { SpreadChange } from './propagate-change.ts';
import type { OpenWebhook } from './webhooks.ts';

export type ReleaseEvent = {
  readonly action: string;
  readonly tag: string;
  /** Tag that the release had before this event renamed it. */
  readonly formerTag?: string | undefined;
  /** Id of the release on the code host; undefined where an event has none. */
  readonly id: number | undefined;
  /** Times of the release's last change and of its publication, RFC 3339; undefined where there are none. */
  readonly changedAt: string | undefined;
  readonly publishedAt: string | undefined;
  /** Whether the repository is private, so that no device could fetch a file of it. */
  readonly isPrivate?: boolean | undefined;
  readonly isDraft: boolean;
  readonly isPrerelease: boolean;
  readonly notes: string;
  readonly assets: readonly AnnouncedAsset[];
};

/**
 * Actions that announce a release. GitHub also sends `created` for a release that was published without a
 * draft. Gitea and Forgejo send `updated` for everything after the first event, and for a draft that is
 * published where its tag existed already.
 */
const ANNOUNCING = new Set(['published', 'created', 'released', 'prereleased', 'updated']);
/** Actions by which a release on `stable` may become a pre-release. */
const DEMOTING: ReadonlySet<string> = new Set(['prereleased', 'updated']);
const EDITING = 'edited';
const STABLE = 'stable';
const BETA = 'beta';

/**
 * Publishes the release on `stable`, a pre-release on `beta`, with the channel's default rollout. A release
 * that already exists is a duplicate and stays unchanged, unless it came from a webhook, was never offered
 * and this event has other files, or it was made anew. One that the code host has called back is paused.
 * Everything that is not a release for devices is ignored, with a reason.
 */
export async function receiveRelease(
  ledger: Ledger,
  spread: SpreadChange,
  webhook: OpenWebhook,
  event: ReleaseEvent,
): Promise<Outcome<Received, 'channelFull' | LostRight>> {
  const isEdit = event.action === EDITING;
  const way = wayOf(event);
  const isCalledBack = isWithdrawal(way);
  if (!isEdit && !isCalledBack && !ANNOUNCING.has(event.action)) {
    return ignored(`Action ${event.action.slice(0, 50)} announces no release`);
  }
  const receiving = { ledger, spread, webhook };
  const renamed = await callBackRenamed(receiving, event);
  if (renamed !== undefined) return renamed;
  if (event.isDraft && !isCalledBack) return ignored('The release is a draft');
  const found = tagVersion(event.tag, webhook.appRef, webhook.tagPrefix ?? undefined);
  if (found === undefined) return ignored(`The tag ${event.tag.slice(0, 100)} is no version`);
  const { text: version, version: parsed } = found;
  const host = hostOf(webhook, event);
  // A pre-release from the start is also announced by these actions; then nothing stands on stable.
  const isDemoted = DEMOTING.has(event.action) && event.isPrerelease;
  if (isCalledBack || isDemoted) {
    const calledBack = await callBack(receiving, {
      host,
      canonicalVersion: parsed.canonical,
      channels: isCalledBack ? [STABLE, BETA] : [STABLE],
      way,
      isDraft: way === 'deleted' && event.isDraft,
    });
    if (calledBack !== undefined) return calledBack;
    if (isCalledBack) return ignored(`Action ${event.action} announces no release`);
  }
  if (event.isPrivate) {
    return ignored('The repository is private: no device could fetch its files');
  }
  const channel = event.isPrerelease ? BETA : STABLE;
  const name = { app: webhook.appId, channel, canonicalVersion: parsed.canonical };
  const { artifacts, remarks } = announcedArtifacts(event.assets);
  const announcement = { name, version, notes: event.notes, host, artifacts, isEdit };
  const received = await announce(receiving, announcement);
  if (isFailure(received) || received.outcome === 'ignored') return received;
  return remarks.reduce(withReason, received);
}

/** Calls the release back that stood under the tag which it had before this event; undefined for none. */
async function callBackRenamed(
  receiving: Receiving,
  event: ReleaseEvent,
): Promise<Outcome<Received, LostRight> | undefined> {
  const { webhook } = receiving;
  if (event.formerTag === undefined) return undefined;
  const former = tagVersion(event.formerTag, webhook.appRef, webhook.tagPrefix ?? undefined);
  if (former === undefined) return undefined;
  return callBack(receiving, {
    host: hostOf(webhook, event),
    canonicalVersion: former.version.canonical,
    channels: [STABLE],
    way: 'renamed',
    isDraft: false,
  });
}

/** Returns the way in which an event calls a release back, if it does. */
function wayOf({ action }: ReleaseEvent): CallBack['way'] {
  return action === 'deleted' || action === 'unpublished' ? action : 'prereleased';
}

/** Returns what an event tells of the release that it is about. */
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

// Platforms and architectures for which a held release must have files before it publishes itself.

/**
 * Whether the artifacts have one for each target: `linux`, or with an architecture `linux/x86_64`. A file
 * that runs on every architecture counts for each of its platform; one that tells none does not while others
 * tell theirs, because it may be for any.
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

/** Whether a text is a target: a platform and perhaps an arch, in any spelling that artifacts may have. */
export function isTarget(text: string): boolean {
  return /^[^\s/]+(?:\/[^\s/]+)?$/.test(text);
}
