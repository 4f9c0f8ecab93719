// Tests that events of a code host lead to the same releases in whatever order they arrive, and however
// often: two releases in the life of one tag, with stray drafts beside them (docs/contract.md 18.20 to
// 18.22). What the ledger decides and stores is the same as in PostgreSQL, which
// test/store/ledger/webhook-contract.ts tests.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WebhookProvider } from '../../src/contract/choice.ts';
import { fail, isFailure } from '../../src/contract/failure.ts';
import { type ReleaseEvent, receiveRelease } from '../../src/publishing/receive-release.ts';
import type { OpenWebhook } from '../../src/publishing/webhooks.ts';
import { HostLedger } from '../support/host-ledger.ts';

const HOUR_MS = 3_600_000;
const TAG = 'v1.0.0';

/** What becomes of one release of the tag on its code host, in this order. */
type Life = {
  readonly id: number;
  /** Name of its one file. */
  readonly name: string;
  /** Whether it begins as a pre-release. */
  readonly isPrerelease: boolean;
  /** Whether it becomes the other kind. */
  readonly isTurned: boolean;
  /** Whether its file is replaced afterwards. */
  readonly isEdited: boolean;
  /** Whether its notes are written anew afterwards. */
  readonly isReworded: boolean;
  readonly isUnpublished: boolean;
  readonly isDeleted: boolean;
};

/** End of the last life: what stands on each channel. */
type Ending = {
  readonly isOver: boolean;
  readonly isOnStable: boolean;
  readonly isOnBeta: boolean | 'perhaps';
  /** File that stands on each channel. */
  readonly stableFile: string;
  readonly betaFile: string;
  /** Notes that stand on each channel. */
  readonly stableNotes: string;
  readonly betaNotes: string;
};

function timeOf(hour: number): string {
  return new Date(Date.UTC(2026, 1, 1) + hour * HOUR_MS).toISOString();
}

/** Writes the events of a life that begins at an hour, as the code host sends them. */
class LifeWriter {
  readonly events: ReleaseEvent[] = [];
  private readonly life: Life;
  private readonly provider: WebhookProvider;
  private readonly tellsChanges: boolean;
  private readonly from: number;
  private file: string;
  private notes: string;
  private uploadedAt: string;
  private isPrerelease: boolean;
  private isDraft = false;

  constructor(life: Life, provider: WebhookProvider, tellsChanges: boolean, from: number) {
    this.life = life;
    this.provider = provider;
    this.tellsChanges = tellsChanges;
    this.from = from;
    this.file = `${from} first`;
    this.notes = `notes of ${from}`;
    this.uploadedAt = timeOf(from);
    this.isPrerelease = life.isPrerelease;
  }

  write(): Ending {
    const { isTurned, isEdited, isReworded, isUnpublished, isDeleted } = this.life;
    const isGithub = this.provider === 'github';
    const { file: first, notes: firstNotes } = this;
    const kind = () => (this.isPrerelease ? 'prereleased' : 'released');
    this.say(1, ...(isGithub ? ['created', 'published', kind()] : ['published']));
    if (isTurned) {
      this.isPrerelease = !this.isPrerelease;
      this.say(2, kind(), 'edited');
    }
    if (isEdited) {
      this.file = `${this.from} second`;
      this.uploadedAt = timeOf(this.from + 3);
    }
    // Without the time of a change, only that of a new file tells which notes are the later ones.
    const hasNewNotes = isReworded && (isEdited || this.tellsChanges);
    if (hasNewNotes) this.notes = `other notes of ${this.from}`;
    if (isEdited || hasNewNotes) this.say(3, isGithub ? 'edited' : 'updated');
    if (isUnpublished) {
      this.isDraft = true;
      this.say(4, 'unpublished');
    }
    if (isDeleted) this.say(5, 'deleted');
    const wasPrerelease = this.life.isPrerelease;
    return {
      isOver: isUnpublished || isDeleted,
      isOnStable: !this.isPrerelease,
      // What becomes a pre-release is paused on stable, and lands on beta if stable did not have it yet.
      isOnBeta: wasPrerelease || (isTurned && 'perhaps'),
      stableFile: this.file,
      betaFile: wasPrerelease && isTurned ? first : this.file,
      stableNotes: this.notes,
      betaNotes: wasPrerelease && isTurned ? firstNotes : this.notes,
    };
  }

  private say(hour: number, ...actions: readonly string[]): void {
    const isGone = actions[0] === 'deleted' && this.provider !== 'github';
    const assets = isGone ? [] : [this.asset()];
    for (const action of actions) {
      this.events.push({
        ...{ action, tag: TAG, id: this.life.id, notes: this.notes, assets },
        ...{ isDraft: this.isDraft, isPrerelease: this.isPrerelease },
        changedAt: this.tellsChanges ? timeOf(this.from + hour) : undefined,
        publishedAt: this.isDraft ? undefined : timeOf(this.from + 1),
      });
    }
  }

  private asset(): ReleaseEvent['assets'][number] {
    const { name } = this.life;
    const url = `https://host.example.com/${TAG}/${name}`;
    const digest = this.file;
    const createdAt = this.uploadedAt;
    return { name, url, size: 1, digest, isUploaded: true, createdAt };
  }
}

/** Deletion of a draft that electron-builder left beside the release. */
function strayDeletion(id: number, provider: WebhookProvider): ReleaseEvent[] {
  if (provider !== 'github') return [];
  return [
    {
      ...{ action: 'deleted', tag: TAG, id, notes: '', assets: [] },
      ...{ isDraft: true, isPrerelease: false, changedAt: timeOf(50), publishedAt: undefined },
    },
  ];
}

type Case = {
  readonly provider: WebhookProvider;
  readonly ending: Ending;
  readonly events: readonly ReleaseEvent[];
  /** Number of events after which devices ask; undefined for never. */
  readonly offerAfter: number | undefined;
};

function cases(provider: WebhookProvider): fc.Arbitrary<Case> {
  const isGithub = provider === 'github';
  const step = (isPossible: boolean) => (isPossible ? fc.boolean() : fc.constant(false));
  const life = (tellsChanges: boolean, ends: fc.Arbitrary<boolean>) =>
    fc.record({
      name: fc.constantFrom('notes-linux-amd64', 'notes-linux'),
      isPrerelease: fc.boolean(),
      // Without the time of a change, nobody can tell which of two kinds a release has now.
      isTurned: step(tellsChanges),
      isEdited: fc.boolean(),
      isReworded: fc.boolean(),
      isUnpublished: step(tellsChanges),
      isDeleted: ends,
    });
  return step(isGithub).chain((tellsChanges) =>
    fc
      .record({
        former: life(tellsChanges, fc.constant(true)),
        latter: life(tellsChanges, fc.boolean()),
        // A draft that is older than the other one may be published after it.
        ids: isGithub ? fc.constantFrom([11, 12], [12, 11]) : fc.constantFrom([11, 12], [11, 11]),
        offerAfter: fc.option(fc.nat(8), { nil: undefined }),
      })
      .chain(({ former, latter, ids: [one = 0, other = 0], offerAfter }) => {
        const first = new LifeWriter({ ...former, id: one }, provider, tellsChanges, 0);
        const second = new LifeWriter({ ...latter, id: other }, provider, tellsChanges, 100);
        first.write();
        const ending = second.write();
        const once = [...first.events, ...second.events, ...strayDeletion(10, provider)];
        return fc
          .subarray(once)
          .chain((again) => shuffled([...once, ...again]))
          .map((events): Case => ({ provider, ending, events, offerAfter }));
      }),
  );
}

function shuffled<Item>(items: readonly Item[]): fc.Arbitrary<Item[]> {
  return fc.shuffledSubarray([...items], { minLength: items.length });
}

async function play({ provider, events, offerAfter }: Case): Promise<HostLedger> {
  const webhook: OpenWebhook = {
    ...{ appId: 'app', provider, appRef: 'notes', organizationId: 'org' },
    ...{ enabledAt: '', secret: '', tagPrefix: null, hold: false, expect: null },
    repository: null,
  };
  // Long after everything that is told, so that only what the events say tells the lives apart.
  const host = new HostLedger(() => Date.UTC(2027, 1, 1));
  const catalogs = { findForCaller: async () => fail('unavailable') };
  const dependencies = { ledger: host.port, propagate: async () => undefined, catalogs };
  for (const [index, event] of events.entries()) {
    if (index === offerAfter) host.offer();
    const received = await receiveRelease(dependencies, webhook, event);
    if (isFailure(received)) throw new Error(received.message);
  }
  return host;
}

describe.each(['github', 'gitea'] as const)('every order of two lives, %s', (provider) => {
  it('leaves the release of today, and no other (§18.20)', async () => {
    await fc.assert(
      fc.asyncProperty(cases(provider), async (one) => {
        const { channels } = await play(one);
        const { ending } = one;
        for (const channel of ['stable', 'beta'] as const) {
          const release = channels.get(channel)?.get('1.0.0');
          const isThere = channel === 'stable' ? ending.isOnStable : ending.isOnBeta;
          const file = channel === 'stable' ? ending.stableFile : ending.betaFile;
          const present = release?.artifacts.map(({ digest }) => digest).join();
          const isServed = release?.status === 'published';
          if (isThere === 'perhaps' && !isServed) continue;
          if (release?.offered) {
            // What a device was offered never changes: it goes on only as what is there today.
            expect(isServed).toBe(
              isThere !== false && !ending.isOver && present?.startsWith('100'),
            );
          } else {
            const expected = isThere !== false && !ending.isOver ? file : undefined;
            expect(isServed ? present : undefined).toBe(expected);
            const notes = channel === 'stable' ? ending.stableNotes : ending.betaNotes;
            if (isServed) expect(release.notes).toBe(notes);
          }
        }
      }),
    );
  });
});
