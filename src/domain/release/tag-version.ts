// The version that a release's tag tells, without what repositories put before it.

import { parseVersion, type Version } from '../decision/version.ts';

/** Beginnings of tags that are understood for every app: tauri-action's own default is `app-v`. */
const USUAL = ['app-v', 'v', ''];

/**
 * Parses a tag: a prefix, then the version. `prefix` is the app's own, if it has one; an app that shares its
 * repository with others is often named by its ref (`notes-v1.2.0`, `notes@1.2.0`). Undefined when what is
 * left is no version, such as after `vv1.0.0`.
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
