// The protocol of hawkBit's Direct Device Integration API, as SWUpdate, rauc-hawkbit-updater and Zephyr speak
// it: the addresses below a device's base, the question that a poll asks, and the documents of the answers.
// Written from the sources of these clients and hawkBit's description of the API.

import { ddiArtifact } from '../domain/decision/artifact/ddi-artifact.ts';
import type { ArtifactCandidate } from '../domain/decision/catalog.ts';
import type { ListedAction } from '../domain/fleet/action-poll.ts';
import { ddiCandidates } from './ddi-candidates.ts';
import type { Machine } from './machine.ts';
import type { Question } from './updater.ts';

/** Parts of an address, still percent-encoded. */
export type DdiAddress = {
  readonly app: string;
  readonly channel: string;
  /** What the address says of the device, if it does: platform, architecture and perhaps the version. */
  readonly machine: readonly string[];
  readonly controllerId: string;
  /** Path of the base, which all links begin with. */
  readonly base: string;
  /** What is asked for below the base; undefined for a file that is not served. */
  readonly resource: DdiResource | undefined;
};

export type DdiResource =
  | { readonly kind: 'poll' | 'attributes' }
  | { readonly kind: 'action' | 'feedback' | 'cancel' | 'cancelFeedback'; readonly id: number };

/** Place of the first segment that says what the device is, or of `controller`. */
const MACHINE_AT = 4;
/** Places of `controller`, after none, two or three segments that say what the device is. */
const MARK_PLACES: readonly number[] = [MACHINE_AT, MACHINE_AT + 2, MACHINE_AT + 3];
const ID = /^\d{1,15}$/;
/** The part of a chunk that Zephyr installs. */
const PART = 'bApp';
/** Form of the User-Agent of rauc-hawkbit-updater, which sends no kind. */
export const RAUC_AGENT = 'rauc-hawkbit';

/** Reads the path of an address that begins with `/ddi/`; undefined if it is none of a device. */
export function readDdiAddress(path: string): DdiAddress | undefined {
  const segments = path.split('/');
  const at = MARK_PLACES.find(
    (each) => segments[each] === 'controller' && segments[each + 1] === 'v1',
  );
  if (at === undefined) return undefined;
  const [, , app = '', channel = ''] = segments;
  const machine = segments.slice(MACHINE_AT, at);
  const controllerId = segments[at + 2] ?? '';
  if (app === '' || channel === '' || controllerId === '' || machine.includes('')) return undefined;
  const below = segments.slice(at + 3);
  const base = below.length === 0 ? path : path.slice(0, -below.join('/').length - 1);
  return { app, channel, machine, controllerId, base, resource: resourceOf(below) };
}

function resourceOf([name, id = '', tail, ...more]: readonly string[]): DdiResource | undefined {
  if (more.length > 0) return undefined;
  if (name === undefined) return { kind: 'poll' };
  if (name === 'configData')
    return id === '' && tail === undefined ? { kind: 'attributes' } : undefined;
  if (!ID.test(id) || (tail !== undefined && tail !== 'feedback')) return undefined;
  const isFeedback = tail !== undefined;
  if (name === 'deploymentBase')
    return { kind: isFeedback ? 'feedback' : 'action', id: Number(id) };
  if (name === 'cancelAction')
    return { kind: isFeedback ? 'cancelFeedback' : 'cancel', id: Number(id) };
  return undefined;
}

/** Returns the question of the clients of a machine; `bundle` is the kind that they install, if known. */
export function ddiQuestion(
  machine: Machine,
  bundle: string | undefined,
): Question<ArtifactCandidate> {
  const { platform, arch } = machine;
  return {
    ...{ client: 'ddi', platform, arch },
    ...(bundle === undefined ? {} : { bundle }),
    // All three may contain any character: the lengths separate them.
    planKey: `ddi ${platform.length} ${arch.length} ${platform}${arch}${bundle ?? ''}`,
    candidates: (catalog) => ddiCandidates(catalog, machine, bundle),
  };
}

type PollDocument = {
  /** Seconds until the next poll. */
  readonly sleepSeconds: number;
  readonly listed: ListedAction | undefined;
  readonly asksAttributes: boolean;
};

/** Writes the answer to a poll; `base` is the absolute address of the device's base. */
export function pollDocument(
  base: string,
  { sleepSeconds, listed, asksAttributes }: PollDocument,
): string {
  const href = (path: string) => ({ href: `${base}/${path}` });
  const links = {
    ...(listed?.kind === 'deployment' && { deploymentBase: href(`deploymentBase/${listed.id}`) }),
    ...(listed?.kind === 'cancel' && { cancelAction: href(`cancelAction/${listed.id}`) }),
    ...(asksAttributes && { configData: href('configData') }),
  };
  return JSON.stringify({ config: { polling: { sleep: clockText(sleepSeconds) } }, _links: links });
}

/** Returns a time below a day as `HH:MM:SS`. */
function clockText(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

/** Writes the action that installs a candidate, which must fit DDI clients. */
export function actionDocument(
  id: number,
  { release, artifact }: ArtifactCandidate,
  { appRef, isRequired }: { readonly appRef: string; readonly isRequired: boolean },
): string {
  const file = ddiArtifact(artifact);
  if (file === undefined)
    throw new Error(`Release ${release.source.id} has no file for DDI clients`);
  const { url, fileName: filename, size, sha1, sha256 } = file;
  const way = isRequired ? 'forced' : 'attempt';
  const link = { href: url };
  const hashes = { sha1, ...(sha256 === undefined ? {} : { sha256 }) };
  const artifacts = [{ filename, hashes, size, _links: { download: link, 'download-http': link } }];
  const chunk = { part: PART, version: release.source.version, name: appRef, artifacts };
  return JSON.stringify({
    id: String(id),
    deployment: { download: way, update: way, chunks: [chunk] },
  });
}

/** Writes the cancellation of an action. */
export function cancelDocument(id: number): string {
  return JSON.stringify({ id: String(id), cancelAction: { stopId: String(id) } });
}
