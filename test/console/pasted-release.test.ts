// Tests what the form of a new release takes from a pasted text, and from the release before.

import { describe, expect, it } from 'vitest';
import {
  NEW_ARTIFACT,
  nextArtifact,
  withVersion,
} from '../../src/console/format/artifact-draft.ts';
import { readPasted } from '../../src/console/format/pasted-release.ts';

describe('readPasted', () => {
  it('takes addresses, one a line, and tells from the names of the files what they are for', () => {
    const text = `
      https://dl.example/App-1.2.0-arm64.dmg
      https://dl.example/App-1.2.0-x64-setup.exe?token=a
      https://dl.example/unknown.bin`;
    expect(readPasted(text)).toEqual({
      fields: {},
      artifacts: [
        {
          ...NEW_ARTIFACT,
          ...{ url: 'https://dl.example/App-1.2.0-arm64.dmg', platform: 'darwin', arch: 'aarch64' },
        },
        {
          ...NEW_ARTIFACT,
          ...{ url: 'https://dl.example/App-1.2.0-x64-setup.exe?token=a' },
          ...{ platform: 'windows', arch: 'x86_64' },
        },
        { ...NEW_ARTIFACT, url: 'https://dl.example/unknown.bin' },
      ],
    });
  });

  it('takes a release as the management API takes it', () => {
    const release = {
      ...{ app: 'notes', channel: 'stable', version: '1.2.0', notes: 'Faster', rollout: 5 },
      targets: { matchLabels: { ring: ['early'] } },
      artifacts: [{ platform: 'linux', url: 'https://x.example/a', size: 12 }],
    };
    expect(readPasted(JSON.stringify(release))).toEqual({
      fields: { version: '1.2.0', notes: 'Faster', rollout: '5' },
      targets: release.targets,
      artifacts: [{ ...NEW_ARTIFACT, platform: 'linux', url: 'https://x.example/a', size: '12' }],
    });
    expect(readPasted(JSON.stringify(release.artifacts))).toMatchObject({ fields: {} });
  });

  it.each([
    ['', 'Nothing was pasted.'],
    ['javascript:alert(1)', '“javascript:alert(1)” is no http(s) address.'],
    ['{"version": "1.0.0",', 'Not valid JSON.'],
    ['{"verison": "1.0.0"}', '“verison” is no field of a release.'],
    ['[1]', '“artifacts” must be a list of at most 100 objects.'],
    ['{"targets": []}', '“targets” must be an object.'],
    [`${'https://x.example/a\n'.repeat(101)}`, 'More than 100 addresses.'],
  ])('says why %j says nothing', (text, reason) => {
    expect(readPasted(text)).toBe(reason);
  });

  it('keeps a name that JSON objects have by themselves out of the row', () => {
    const text = '[{"platform": "linux", "__proto__": {"url": "https://evil.example"}}]';
    expect(readPasted(text)).toMatchObject({ artifacts: [{ platform: 'linux', url: '' }] });
  });
});

it('the next release has the targets and addresses of the last one, under its own version', () => {
  const url = 'https://x.example/1.1.0/notes-1.1.0.zip';
  const last = { platform: 'linux', url, size: 12, signature: 'c2ln', sha512: 'aGFzaA' };
  const [next] = withVersion([nextArtifact(last)], '1.1.0', '1.2.0');
  const moved = 'https://x.example/1.2.0/notes-1.2.0.zip';
  expect(next).toEqual({ ...NEW_ARTIFACT, platform: 'linux', url: moved });
});
