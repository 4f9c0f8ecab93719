// Machines as Electron's updaters name them in one segment: `darwin-arm64`, `win32-x64`.

import { type Failure, invalidField } from '../contract/failure.ts';
import { foldArch, foldPlatform, refuseArtifactName } from '../domain/decision/artifact.ts';

/** Platform and arch, both folded. */
export type Machine = { readonly platform: string; readonly arch: string };

const SEPARATOR = '-';

/** Reads `{platform}-{arch}`; 400 when it has not that form, or a part is too long. */
export function readMachine(text: string): Machine | Failure<'invalid'> {
  const end = text.indexOf(SEPARATOR);
  const [platform, arch] = [text.slice(0, end), text.slice(end + SEPARATOR.length)];
  if (end === -1 || platform === '' || arch === '') {
    return invalidField(
      'platform',
      'Expected a platform and an architecture, such as darwin-arm64',
    );
  }
  const refusal = refuseArtifactName('platform', platform) ?? refuseArtifactName('arch', arch);
  return refusal ?? { platform: foldPlatform(platform), arch: foldArch(arch) };
}
