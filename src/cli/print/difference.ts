// Describes how a published release differs from the one that the command was to publish.

import type { Artifact, Release } from '../../contract/resource.ts';

/** Content of the release that the command was to publish. */
type Content = {
  readonly notes: string | undefined;
  readonly artifacts: readonly Artifact[];
};

const NAMES: Readonly<Partial<Record<keyof Artifact, string>>> = {
  url: 'address',
  sha512: 'SHA-512',
  sha256: 'SHA-256',
  sha1: 'SHA-1',
};

/**
 * Returns the first difference, such as `its app.exe has another SHA-512`; undefined when the content is the
 * same. Undefined notes are not compared.
 */
export function differenceOf(
  present: Pick<Release, 'notes' | 'artifacts'>,
  { notes, artifacts }: Content,
): string | undefined {
  const published = new Map(byName(present.artifacts));
  for (const [name, artifact] of byName(artifacts)) {
    const other = published.get(name);
    if (other === undefined) return `it has no file ${name}`;
    const field = firstOther(artifact, other);
    if (field !== undefined) return `its ${name} has another ${NAMES[field] ?? field}`;
    published.delete(name);
  }
  const [more] = published.keys();
  if (more !== undefined) return `it has one file more: ${more}`;
  return notes === undefined || notes === present.notes ? undefined : 'its notes are others';
}

/** Returns artifacts with their file names; if several have the same name, with the folder before it. */
function byName(artifacts: readonly Artifact[]): readonly (readonly [string, Artifact])[] {
  const names = artifacts.map(({ url = '', platform }) => url.split('/').at(-1) || platform);
  return artifacts.map((artifact, index) => {
    const { url = '' } = artifact;
    const name = names[index] ?? '';
    const isShared = names.indexOf(name) !== names.lastIndexOf(name);
    return [isShared && url !== '' ? url.split('/').slice(-2).join('/') : name, artifact];
  });
}

/**
 * Returns the first field that differs. A checksum comes first, because its difference matters most. A SHA-1
 * that the published artifact lacks is no difference: version 0.3.0 sent it only for packages of NuGet.
 */
function firstOther(one: Artifact, published: Artifact): keyof Artifact | undefined {
  const fields = new Set([...FIRST, ...keysOf(one), ...keysOf(published)]);
  if (published.sha1 === undefined) fields.delete('sha1');
  return [...fields].find((field) => one[field] !== published[field]);
}

const FIRST: readonly (keyof Artifact)[] = ['sha512', 'size', 'platform', 'arch'];

function keysOf(artifact: Artifact): readonly (keyof Artifact)[] {
  return Object.keys(artifact) as (keyof Artifact)[];
}
