// Reads text pasted into the form of a new release: a release or its artifacts as JSON, as the management API
// takes them, or the addresses of its files, one per line.

import type { Targeting } from '../../contract/resource.ts';
import { classifyAssets } from '../../domain/release/asset/classify-assets.ts';
import { type ArtifactDraft, NEW_ARTIFACT } from './artifact-draft.ts';

export type PastedRelease = {
  readonly artifacts: readonly ArtifactDraft[];
  /** Fields found in the text, in the form's own format. */
  readonly fields: Readonly<Partial<Record<'version' | 'notes' | 'rollout', string>>>;
  readonly targets?: Targeting | null;
};

const FIELDS = ['version', 'notes', 'rollout'] as const;
/** Fields of the management API that the page itself sets. */
const SAID_BY_PAGE: ReadonlySet<string> = new Set(['app', 'channel', 'status']);
const FILES_MAX = 100;

/** Returns the release in the text, or a sentence that says why there is none. */
export function readPasted(text: string): PastedRelease | string {
  const trimmed = text.trim();
  if (trimmed === '') return 'Nothing was pasted.';
  return /^[[{]/.test(trimmed) ? readJson(trimmed) : readAddresses(trimmed);
}

function readAddresses(text: string): PastedRelease | string {
  const lines = text.split(/\s+/);
  if (lines.length > FILES_MAX) return `More than ${FILES_MAX} addresses.`;
  const wrong = lines.find((line) => !/^https?:\/\/\S+$/i.test(line));
  if (wrong !== undefined) return `“${wrong.slice(0, 80)}” is no http(s) address.`;
  return { artifacts: artifactsAt(lines), fields: {} };
}

/** Returns rows of addresses, with platform and architecture from the file names where possible. */
function artifactsAt(urls: readonly string[]): readonly ArtifactDraft[] {
  const targets = classifyAssets(urls.map((url) => new URL(url).pathname.split('/').at(-1) ?? ''));
  return urls.map((url, index) => {
    const target = targets[index];
    return { ...NEW_ARTIFACT, url, platform: target?.platform ?? '', arch: target?.arch ?? '' };
  });
}

function readJson(text: string): PastedRelease | string {
  const value = parse(text);
  if (value === undefined) return 'Not valid JSON.';
  const release: Record<string, unknown> = Array.isArray(value)
    ? { artifacts: value }
    : { ...(value as object) };
  const { artifacts = [], targets, ...others } = release;
  const unknown = Object.keys(others).find((name) => !SAID_BY_PAGE.has(name) && !isField(name));
  if (unknown !== undefined) return `“${unknown}” is no field of a release.`;
  if (!Array.isArray(artifacts) || artifacts.length > FILES_MAX || !artifacts.every(isObject)) {
    return `“artifacts” must be a list of at most ${FILES_MAX} objects.`;
  }
  if (targets !== undefined && targets !== null && !isObject(targets)) {
    return '“targets” must be an object.';
  }
  return {
    artifacts: artifacts.map(draftOf),
    fields: Object.fromEntries(
      FIELDS.filter((name) => others[name] !== undefined).map((name) => [
        name,
        String(others[name]),
      ]),
    ),
    ...(targets === undefined ? {} : { targets: targets as Targeting | null }),
  };
}

/** Returns a row with the pasted values unchanged; the service checks them. */
function draftOf(artifact: Record<string, unknown>): ArtifactDraft {
  const names = Object.keys(NEW_ARTIFACT) as (keyof ArtifactDraft)[];
  const values = names.map((name) => [name, artifact[name] ?? '']);
  return Object.fromEntries(values.map(([name, value]) => [name, String(value)])) as ArtifactDraft;
}

function isField(name: string): boolean {
  return FIELDS.some((field) => field === name);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
