// Tests what the events of a code host make of releases, and what they are answered (docs/contract.md 18.4 to
// 18.8 and 18.13 to 18.17). What PostgreSQL stores of it is tested with the ledger, what the ids of releases
// and their files say in host-releases.test.ts, and every order of events in receive-release.test.ts.

import { describe, expect, it } from 'vitest';
import type { LoadedChannels } from '../../src/publishing/standing-findings.ts';
import { catalog, release } from '../domain/sample.ts';
import { HostLedger } from '../support/host-ledger.ts';
import { tell, tellStories } from '../support/host-story.ts';

const NO_FILES = 'artifacts: There are no files: no device can be offered it';
const API = 'It came through the API: nothing of it changed';
const DRAFT = 'ignored: The release is a draft';
const KEPT = 'The code host has called it back: it stays paused until it is published by hand';
const NOTHING = 'announces no release';
const PRERELEASED = 'ignored: The release was prereleased: it is paused on stable';

describe('an announcement', () => {
  for (const action of ['published', 'created', 'released', 'prereleased', 'updated']) {
    tellStories(`
      ${action}: publishes once (§18.5, §18.17) | ${action} > ${action}
        | created > duplicate | published: linux
    `);
  }
  tellStories(`
    of one click: every event but the first is a duplicate, in whatever spelling (§18.5)
      | created tag:v1.2 > released tag:1.2.0 > published tag:V1.2 > prereleased tag:1.2.0.0
      | created > duplicate > duplicate > duplicate | stable 1.2 published: linux
    of a pre-release goes to beta, by its flag and not by its tag (§6.1, §18.7)
      | published beta tag:2.0.0 > published tag:2.0.0-rc.1
      | created > created: version: Is a prerelease, on the channel stable
      | stable 2.0.0-rc.1 published: linux, beta 2.0.0 published: linux
    of a pre-release that is promoted goes to stable as well (§18.7) | prereleased beta > released
      | created > created | published: linux, beta 1.0.0 published: linux
    of what a key has published changes nothing (§18.8, §18.22)
      | by-key > published > edited notes:other
      | duplicate: ${API}. ${NO_FILES} > ignored: ${API} | published: "of-a-key"
    of a draft is ignored, until it is published: Gitea says updated (§6.1, §18.5, §18.17)
      | created draft > published draft > edited draft > updated gitea
      | ${DRAFT} > ${DRAFT} > ${DRAFT} > created | published: linux
    of a tag that is no version is ignored (§18.6) | published tag:nightly
      | ignored: The tag nightly is no version |
    is no edit, and nothing else that is done to a release (§18.5) | edited > archived > reviewed
      | ignored: An edit publishes nothing > ignored: Action archived ${NOTHING}
      > ignored: Action reviewed ${NOTHING} |
    is followed by edits and others that change nothing (§18.5)
      | published > edited > archived notes:other
      | ignored: A release does not change once it is published > ignored: Action archived ${NOTHING}
      | published: linux
    of a private repository is ignored (§18.15) | published private
      | ignored: The repository is private: no device could fetch its files |
  `);

  it('of an app without the channel is ignored, as is what calls it back there (§18.7)', async () => {
    const host = new HostLedger(() => 0, ['stable']);
    const { answers } = await tell('published beta > deleted beta', { host });
    expect(answers).toEqual([
      'ignored: The app has no channel beta',
      'ignored: Action deleted announces no release',
    ]);
  });

  it('is answered with what was left out, and what a dry run would find (§18.4, §23.3)', async () => {
    const newer = release('2.0.0', { artifacts: [{ platform: 'windows', arch: 'x86_64' }] });
    const host = new HostLedger(() => 0);
    const catalogs: LoadedChannels = {
      findForCaller: async () => {
        const artifacts = host.channels.get('stable')?.get('1.5.0')?.artifacts ?? [];
        return { catalog: catalog([newer, release('1.5.0', { artifacts })]) };
      },
    };
    const event =
      'published tag:v1.5.0 files:a-linux-quux.zip+A.Notes.AppImage+b-linux-arm64.deb+sum';
    const { answers } = await tell(`${event} > ${event}`, { host, catalogs });
    const [created = '', again = ''] = answers;
    expect(created.split('. ')).toEqual([
      'created: Left out, since no device installs them: SHA256SUMS',
      expect.stringMatching(/^version: Is below 2\.0\.0, the newest published release /),
      'a-linux-quux.zip: arch: Is not known: only devices that tell quux are offered this file',
      expect.stringMatching(
        /^A\.Notes\.AppImage: arch: Is missing, while other artifacts for linux /,
      ),
      'artifacts: windows/x86_64 has no file, but 2.0.0 had one',
    ]);
    expect(again).toBe(created.replace('created', 'duplicate'));
  });
});

describe('a call-back', () => {
  for (const action of ['deleted', 'unpublished']) {
    const was = `The release was ${action}`;
    tellStories(`
      ${action}: pauses it on every channel, a draft as well (§18.13)
        | published beta > released > ${action}${action === 'unpublished' ? ' draft' : ''} > ${action}
        | ignored: ${was}: it is paused on stable. ${was}: it is paused on beta
        > ignored: ${was}, and is not served on stable. ${was}, and is not served on beta
        | paused: linux, beta 1.0.0 paused: linux
      ${action}: brings no files (§18.8, §18.13) | published files: > ${action}
        | ignored: ${was}: it is paused on stable | paused:
      ${action}: never touches what a key has published (§18.13) | by-key > ${action}
        | ignored: Action ${action} ${NOTHING} | published: "of-a-key"
      ${action}: leaves rolled back what is | published > roll-back > ${action}
        | ignored: ${was}, and is not served on stable | rolled_back: linux
    `);
  }
  tellStories(`
    prereleased: pauses what becomes a pre-release (§18.13) | published > prereleased beta
      | ${PRERELEASED} | paused: linux
    updated: pauses what becomes a pre-release (§18.17) | published > updated beta
      | ${PRERELEASED} | paused: linux
    is none when it always was a pre-release (§18.17) | updated beta > deleted beta
      | created > ignored: The release was deleted: it is paused on beta | beta 1.0.0 paused: linux
    is none when the events of a pre-release come in another order
      | prereleased beta > published beta > created beta > prereleased beta
      | created > duplicate > duplicate > duplicate | beta 1.0.0 published: linux
    renamed: pauses what gets another tag, under which it is not published (§18.13)
      | published > edited tag:v2.0.1 from:v1.0.0
      | ignored: The release was renamed: it is paused on stable | paused: linux
    is undone by no later event, be it of other files (§18.13, §18.22) | published > deleted
      > published files:linux+mac > released files:linux+mac > edited files:linux+mac
      | duplicate: ${KEPT} > duplicate: ${KEPT} > ignored: ${KEPT} | paused: linux
    is not undone by files that are taken (§18.13, §18.22)
      | published > unpublished > released files:linux+mac > created files:linux+mac
      | duplicate: Completed with 2 artifacts. ${KEPT} > duplicate: ${KEPT} | paused: linux mac
    is undone by hand, for good (§18.13) | published > deleted > publish > published
      | duplicate: The code host has deleted this release, or called it back since: nothing changed
      | published: linux
    changes nothing when a later event was taken (§18.14)
      | published at:2 > unpublished at:1 > deleted at:2
      | ignored: A later event was taken on stable: nothing changed
      > ignored: The release was deleted: it is paused on stable | paused: linux
    does not come again for what was promoted since (§18.14)
      | prereleased beta at:1 > released at:2 > prereleased beta at:1
      | created > created > duplicate | published: linux, beta 1.0.0 published: linux
  `);
});
