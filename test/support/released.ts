// Artifacts of releases, and what a device was told of one.

import { expect } from 'vitest';
import type { Artifact } from '../../src/contract/resource.ts';
import type { Answer, Json } from './tenant.ts';

/** Returns the manifest that a device got, or null for 204. */
export function manifestOf({ status, text, body = {} }: Answer): Json | null {
  expect([200, 204], text).toContain(status);
  return status === 204 ? null : body;
}

/** Returns the name of the file that a device got, or null for 204. */
export function fileOf(answer: Answer): string | null {
  const manifest = manifestOf(answer);
  return manifest === null ? null : (String(manifest.url).split('/').at(-1) ?? null);
}

/** Address of a file of a publisher. */
export function at(name: string): string {
  return `https://dl.example.com/${name}`;
}

/** Checksums and size of every artifact of `artifacts`. */
export const SUMS = {
  ...{ sha1: 'ab'.repeat(20), sha256: 'cd'.repeat(32), sha512: `${'a'.repeat(86)}==` },
  size: 1234,
} as const;

/** Returns the artifacts of a text such as `darwin/arm64 a.zip, windows b.exe`, with `more` fields. */
export function artifacts(text: string, more: Partial<Artifact> = {}): Artifact[] {
  return text.split(/,\s+/).map((each) => {
    const [machine = '', name = ''] = each.trim().split(' ');
    const [platform = '', arch] = machine.split('/');
    return { platform, ...(arch && { arch }), url: at(name), ...SUMS, ...more };
  });
}
