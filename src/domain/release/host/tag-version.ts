// The version in a release's tag, without the prefix of the repository.

import { parseVersion, type Version } from '../../decision/version.ts';

/** Prefixes that are accepted for every app: tauri-action's default is `app-v`. */
const USUAL = ['app-v', 'v', ''];

/**
 * Parses a tag: a prefix, then the version. `prefix` is the app's own, if it has one; an app in a shared
 * repository often has its ref as prefix (`notes-v1.2.0`, `notes@1.2.0`). Undefined if the rest is no
 * version, as in `vv1.0.0`.
 */
export function tagVersion(
  tag: string,
  appRef: string,
  prefix: string | undefined,
): { readonly text: string; readonly version: Version } | undefined {
  const own = prefix === undefined ? [] : [`${prefix}v`, prefix];
  for (const beginning of [...own, `${appRef}-v`, `${appRef}@`, ...USUAL]) {
    if (!tag.toLowerCase().startsWith(beginning.toLowerCase())) continue;
    const text = tag.slice(beginning.length);
    const version = /^\d/.test(text) ? parseVersion(text) : undefined;
    if (version !== undefined) return { text, version };
  }
  return undefined;
}
