// Findings in the version of a release.

import type { Finding } from '../../../contract/dry-run.ts';
import { compareVersions } from '../../decision/version.ts';
import type { ExaminedRelease, FindingRule } from './examined-release.ts';

const STABLE = 'stable';

export const VERSION_RULES: readonly FindingRule[] = [belowNewest, prereleaseOnStable, fourParts];

function belowNewest({ version, newest }: ExaminedRelease): readonly Finding[] {
  if (newest === undefined || compareVersions(version, newest.version) > 0) return [];
  return warning(
    `Is below ${newest.release.version}, the newest published release of the channel: devices that ` +
      'can have that one are not offered it',
  );
}

function prereleaseOnStable({ version, channel }: ExaminedRelease): readonly Finding[] {
  if (channel !== STABLE || version.prerelease.length === 0) return [];
  return warning(`Is a prerelease, on the channel ${STABLE}`);
}

function fourParts({ version }: ExaminedRelease): readonly Finding[] {
  if (version.parts[3] === 0) return [];
  return warning(
    'Has four parts: Tauri and electron-updater cannot read it, and are offered an older release',
  );
}

function warning(message: string): readonly Finding[] {
  return [{ path: 'version', severity: 'warning', message }];
}
