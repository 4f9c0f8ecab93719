// Findings in the file names of a release.

import { type Finding, warning } from '../../../contract/dry-run.ts';
import type { Artifact } from '../../../contract/resource.ts';
import { foldPlatform } from '../../decision/artifact/artifact.ts';
import { artifactFormat, decodedFileName } from '../../decision/artifact/artifact-format.ts';
import { foldArch, knownArch, NO_ARCH, UNIVERSAL } from '../../decision/artifact/fold-arch.ts';
import { type AssetTarget, classifyAssets } from '../asset/classify-assets.ts';
import type { NoArtifact } from '../asset/no-artifact.ts';
import { readAsset } from '../asset/read-asset.ts';
import { archesBeside, runsOnEveryArch } from '../asset/runs-on-every-arch.ts';
import type { ExaminedRelease } from './examined-release.ts';

/** Returns the findings in the file names of a release's artifacts. */
export function fileNameFindings(release: ExaminedRelease): readonly Finding[] {
  const artifacts = release.artifacts.map(({ artifact }) => artifact);
  const names = artifacts.map(({ url }) => (url === undefined ? '' : decodedFileName(url)));
  const targets = classifyAssets(names);
  return artifacts.flatMap((artifact, index): readonly Finding[] => {
    const [name = '', target] = [names[index], targets[index]];
    const none = noArtifact(artifact, name, names);
    if (none !== undefined) return [{ path: `artifacts.${index}.url`, ...none }];
    const message = archMismatch(artifact, target, artifacts);
    return message === undefined ? [] : [warning(`artifacts.${index}.arch`, message)];
  });
}

type Judgement = Pick<Finding, 'severity' | 'message'>;

const NO_ARTIFACT: Readonly<Record<NoArtifact, Judgement>> = {
  metadata: error('Is no file that devices install: it belongs to another one, by its name'),
  part: error('Is a part of a file that was split'),
  incomplete: error('Is no full package, which would be named …-full.nupkg'),
  'unknown-ending': {
    severity: 'warning',
    message: 'Has an ending that no format is known by',
  },
};

function noArtifact(
  { url, format }: Artifact,
  name: string,
  names: readonly string[],
): Judgement | undefined {
  if (url === undefined) return undefined;
  // The publisher set another format than the name shows, and knows better.
  const isOwnFormat = format !== undefined && artifactFormat({ url }) !== format.toLowerCase();
  if (isOwnFormat) return undefined;
  const reading = readAsset(name);
  const none = 'none' in reading ? reading.none : undefined;
  const hasNoEnding = 'none' in reading ? none === 'unknown-ending' : reading.ending === '';
  const [whole] = /^.*(?=\.)/s.exec(name) ?? [];
  if (hasNoEnding && whole !== undefined && names.includes(whole)) return NO_ARTIFACT.metadata;
  return none === undefined || none === 'no-platform' ? undefined : NO_ARTIFACT[none];
}

/** Returns what is wrong with an artifact's architecture; `target` is what the file names show. */
function archMismatch(
  artifact: Artifact,
  target: AssetTarget | undefined,
  artifacts: readonly Artifact[],
): string | undefined {
  const platform = foldPlatform(artifact.platform);
  const arch = foldArch(artifact.arch, platform);
  if (arch !== NO_ARCH) {
    return target?.arch === arch && knownArch(arch, platform) === undefined
      ? `Is not known: only devices that tell ${arch} are offered this file`
      : undefined;
  }
  if (target?.arch === UNIVERSAL) return undefined;
  if (target?.arch !== undefined && target.platform === platform) {
    return `Is missing, while the names of the files tell ${target.arch}: ${FOR_ALL}`;
  }
  if (runsOnEveryArch(artifact, artifacts)) return undefined;
  const named = archesBeside(platform, artifacts).join(', ');
  return `Is missing, while other artifacts for ${platform} name theirs (${named}): ${FOR_ALL}`;
}

const FOR_ALL = 'devices of every architecture are offered this file';

function error(message: string): Judgement {
  return { severity: 'error', message };
}
