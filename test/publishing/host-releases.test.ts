// Tests which release of a code host an event is about, and when it changes files and notes: late files,
// notes that are edited, releases that are deleted and made anew, and releases that are held
// (docs/contract.md 18.8, 18.14 and 18.19 to 18.23). Every order of two lives: receive-release.test.ts.

import { describe, expect, it } from 'vitest';
import { tell, tellStories } from '../support/host-story.ts';

const OFFERED = 'A device was offered it before: its files and notes stay as they were';
const OVER = 'The code host has deleted this release, or called it back since';
const ANOTHER = 'ignored: The release on stable is another one: nothing changed';
const ANEW = 'duplicate: Made anew by the code host: it has 1 artifact';
const LATER = 'A later event was taken: nothing changed';
const UNCHANGED = 'ignored: A release does not change once it is published';
const NO_FILES = 'artifacts: There are no files: no device can be offered it';
const REPLACED = 'duplicate: The notes were replaced';
const TWO = 'duplicate: Completed with 2 artifacts';
const SUMS = 'Left out, since no device installs them: SHA256SUMS';

/** The first release of the tag and its deletion, and the one that it gets afterwards. */
const OLD = 'published uploaded:1 size:1111';
const GONE = 'deleted files:';
const NEW = 'published id:102 published:2 uploaded:2 size:2222';

describe('an event of another release of the tag', () => {
  tellStories(`
    the deletion of a stray draft changes nothing (§18.20)
      | ${OLD} > deleted draft id:100 published: files: | ${ANOTHER} | published: 1111
    what was deleted before it was announced is not created (§18.21) | ${GONE} > ${OLD}
      | ignored: Action deleted announces no release > ignored: ${OVER} |
    what was deleted before it was announced is followed by the next one (§18.21)
      | ${GONE} > ${OLD} > ${NEW} | created | published: 2222
    one that is made anew takes the place of the deleted one (§18.20) | ${OLD} > ${GONE} > ${NEW}
      | ${ANEW}, and it is published again | published: 2222
    what is told late of the former one changes nothing (§18.20)
      | ${OLD} > ${NEW} > ${GONE} > ${OLD} > ${GONE}
      | ${ANOTHER} > duplicate: ${OVER}: nothing changed > ${ANOTHER} | published: 2222
    an earlier one that is told late changes nothing (§18.20, §18.22) | ${NEW} > ${OLD}
      | created > duplicate: A later release of this tag was taken: nothing changed | published: 2222
    of two it is the earlier one that was published before, whatever its id (§18.20)
      | published id:100 published:2 size:2222 > published size:1111
      | created > duplicate: A later release of this tag was taken: nothing changed | published: 2222
    of two without a time of publication it is the later one that has the higher id (§18.20)
      | published published: size:1111 > published id:102 published: size:2222
      > published published: size:1111
      | ${ANEW} > duplicate: A later release of this tag was taken: nothing changed | published: 2222
    files that a device was offered stay: with others it stays paused (§18.22)
      | ${OLD} > offer > ${GONE} > ${NEW}
      | duplicate: ${OFFERED}, and it stays paused | paused: 1111
    with the files that a device was offered it goes on (§18.22)
      | ${OLD} > offer > ${GONE} > ${NEW} > published id:103 published:2 uploaded:1 size:1111
      | ${ANEW}, and it is published again | published: 1111
    what somebody paused stays paused when it is made anew (§18.20)
      | ${OLD} > ${GONE} > pause > ${NEW} | ${ANEW}, and it stays paused | paused: 2222
    Gitea makes one anew with its id: its files tell (§18.21)
      | ${OLD} gitea > ${GONE} gitea > updated gitea uploaded:5 size:2222
      | ${ANEW}, and it is published again | published: 2222
    Gitea makes one anew with its id: its publication tells (§18.21)
      | ${OLD} gitea > ${GONE} gitea > updated gitea published:2 files: > ${GONE} gitea
      | duplicate: Made anew by the code host: it has 0 artifacts, and it is published again. ${NO_FILES}
      > ignored: A later event was taken on stable: nothing changed | published:
    a mirror's events leave the release of the other code host alone (§18.20)
      | ${OLD} > ${NEW} gitea > ${GONE} gitea
      | duplicate: Another release has this version here: nothing of it changed > ${ANOTHER}
      | published: 1111
  `);
});

describe('files that come later', () => {
  for (const action of ['published', 'released', 'edited', 'created', 'updated']) {
    tellStories(`
      ${action}: they complete the release, with its notes (§18.8, §18.23)
        | published files: notes:first > ${action} files:sum+linux notes:second
        | duplicate: Completed with 1 artifact. The notes were replaced. ${SUMS}
        | published: linux "second"
    `);
  }
  tellStories(`
    are added, and none is removed (§18.8) | published > edited files:mac > edited
      | ${TWO} > ${UNCHANGED} | published: linux mac
    replace those of the same name (§18.8)
      | published > edited files:mac > released files:mac+linux again > edited again
      | duplicate: Files were replaced: it has 2 artifacts > ${UNCHANGED} | published: linux-again mac-again
    replace none that was uploaded after them (§18.14)
      | ${OLD} > edited uploaded:2 size:2222 > ${OLD}
      | duplicate: Files were replaced: it has 1 artifact > duplicate | published: 2222
    stay out once a device was offered the release (§18.8)
      | ${OLD} > offer > released uploaded:3 size:3333 | duplicate: ${OFFERED} | published: 1111
    count when they are uploaded (§18.10) | published files: > released uploading > released
      | duplicate: Not uploaded: notes-linux-amd64. ${NO_FILES} > duplicate: Completed with 1 artifact
      | published: linux
    do not count when they are no artifacts, or those of a draft
      | published files: > released files:sum > edited draft
      | duplicate: ${SUMS}. ${NO_FILES}
      > ignored: The release is a draft | published:
    of an older event do not count, those of the same time do (§18.14)
      | published at:2 files: > edited at:1 > edited at:2
      | ignored: ${LATER} > duplicate: Completed with 1 artifact | published: linux
    of an edit that comes first are taken when the release is announced (§18.21)
      | edited at:2 notes:edited > published at:1 files: notes:first
      | ignored: An edit publishes nothing > created | published: linux "edited"
    are not those of what was rolled back (§18.8) | published files: > roll-back > released
      | duplicate: It is rolled back: nothing of it changed | rolled_back:
    leave paused what is | published files: > pause > released
      | duplicate: Completed with 1 artifact | paused: linux
  `);
});

describe('notes that are edited (§18.23)', () => {
  const second = (action: string) => `${action} at:3 notes:second`;
  for (const [action, again, outcome] of [
    ['edited', UNCHANGED, 'ignored'],
    ['released', 'duplicate', 'duplicate'],
    ['published', 'duplicate', 'duplicate'],
  ] as const) {
    tellStories(`
      ${action}: are taken once, and never the earlier ones | published at:2 notes:first
        > ${second(action)} > ${second(action)} > ${action} at:2 notes:first
        | ${REPLACED} > ${again} > ${outcome}: ${LATER} | published: linux "second"
    `);
  }
  tellStories(`
    may be none any more | published at:2 notes:first > edited at:3 | ${REPLACED} | published: linux
    stay out once a device was offered the release
      | published at:2 notes:first > offer > ${second('edited')} > ${second('released')}
      | ignored: ${OFFERED} > duplicate: ${OFFERED} | published: linux "first"
  `);

  it.each([
    ['any text', 'a+b & c=d%20 ✓\r\n"größe"', 'a+b & c=d%20 ✓\r\n"größe"', ''],
    ['what no database holds, which is replaced', 'a\u0000b\ud800c', 'a\ufffdb\ufffdc', ''],
    [
      'more than 256 KiB, cut between two characters (§18.7)',
      ...['語'.repeat(125_000), '語'.repeat(87_381), '. The notes were cut to 256 KiB'],
    ],
  ])('are %s, from the beginning and later', async (_what, told, notes, reason) => {
    const steps = 'published notes:it > published id:102 tag:v2 > edited id:102 tag:v2 notes:it';
    const { answers, host } = await tell(steps, { notes: { it: told } });
    const releases = [...(host.channels.get('stable')?.values() ?? [])];
    expect(releases.map((release) => release.notes)).toEqual([notes, notes]);
    expect(answers).toEqual([`created${reason.replace('.', ':')}`, 'created', REPLACED + reason]);
  });
});

describe('a release that is held (§18.19)', () => {
  const expected = ['linux/x86_64', 'darwin/aarch64'];
  tellStories(
    `
    is paused, takes files and notes from any event, and loses none | published notes:first
      > edited files:linux+mac notes:second > edited files:linux notes:second
      | created > ${TWO}. The notes were replaced > ${UNCHANGED} | paused: linux mac "second"
    is published by hand, and takes no files once it is offered
      | published > publish > offer > edited files:linux+mac | ignored: ${OFFERED} | published: linux
    `,
    { hold: true },
  );
  tellStories(
    `
    publishes itself once everything that is expected is there
      | published > edited files:mac | created > ${TWO} | published: linux mac
    waits while something is missing | published > edited files:windows
      | ${TWO} | paused: linux windows
    publishes itself at once when everything is there from the beginning
      | published files:linux+mac | created | published: linux mac
    waits for a person once one has paused it
      | published > pause > edited files:linux+mac | ${TWO} | paused: linux mac
    waits for a person once the code host has called it back
      | published > unpublished > published files:linux+mac
      | ignored: The release was unpublished, and is not served on stable
      > ${TWO}. The code host has called it back: it stays paused until it is published by hand
      | paused: linux mac
    `,
    { hold: true, expect: expected },
  );

  it('is the same in any order of its events', async () => {
    const steps = ['created', 'published files:linux+mac', 'released files:mac+windows', 'created'];
    const webhook = { hold: true, expect: [...expected, 'windows'] };
    for (const order of permutations(steps)) {
      const { end } = await tell(order.join(' > '), { webhook });
      const [status, ...files] = end.split(' ');
      expect([status, ...files.toSorted()]).toEqual(['published:', 'linux', 'mac', 'windows']);
    }
  });
});

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, at) =>
    permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]),
  );
}
