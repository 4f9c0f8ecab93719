// The part of a ledger that takes events of code hosts, in memory: it reads, decides and stores as the SQL
// does under the lock of a channel, so that orders of events can be tried by the thousand.

import { fail } from '../../src/contract/failure.ts';
import type { Release } from '../../src/contract/resource.ts';
import {
  type StandingRelease,
  takeFirst,
  takeNext,
} from '../../src/domain/release/host/announcement.ts';
import {
  type HostMemory,
  type HostRelease,
  joinEvents,
} from '../../src/domain/release/host/host-release.ts';
import { judgeRetraction, rememberRetraction } from '../../src/domain/release/host/retraction.ts';
import type { Announced } from '../../src/store/console-ledger.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import type { NewArtifact, ReleaseName } from '../../src/store/ledger-terms.ts';

type Standing = StandingRelease<NewArtifact>;
type Memory = HostMemory<NewArtifact>;

/** Releases of the channels `stable` and `beta`, by version. */
export class HostLedger {
  readonly channels = new Map(
    ['stable', 'beta'].map((name) => [name, new Map<string, Standing>()] as const),
  );
  private readonly memories = new Map<string, Memory>();
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /** Marks every release that is published as offered. */
  offer(): void {
    for (const releases of this.channels.values()) {
      for (const [version, release] of releases) {
        if (release.status === 'published') releases.set(version, { ...release, offered: true });
      }
    }
  }

  /** This object in the type of the whole port. */
  get port(): Ledger {
    const { announceRelease, retractRelease } = this;
    return { announceRelease, retractRelease } as unknown as Ledger;
  }

  private readonly announceRelease: Ledger['announceRelease'] = async (_, announced) => {
    const { name, host, holdOf } = announced;
    const { canonicalVersion: version } = name;
    const releases = this.channels.get(name.channel);
    if (releases === undefined) return fail('unknownChannel');
    const key = keyOf(name, host);
    const memory = this.memories.get(key);
    const standing = releases.get(version);
    const step = standing ? takeNext(standing, memory, announced) : takeFirst(memory, announced);
    const answer = (value: Announced) => ({ value, changed: [] });
    switch (step.step) {
      case 'refuse':
        return answer({ outcome: 'over' });
      case 'remember':
        this.memories.set(key, { ...NOTHING, ...memory, files: step.files });
        return answer({ outcome: 'remembered' });
      case 'create': {
        const hold = holdOf(step.artifacts) ?? null;
        const status = hold === null ? 'published' : 'paused';
        const fresh = { isAnnounced: true, offered: false, isRetracted: false } as const;
        const { host: known, artifacts, notes } = step;
        releases.set(version, { ...fresh, status, hold, host: known, artifacts, notes });
        return answer({ outcome: 'created', release: RELEASE });
      }
      case 'leave':
        if (standing) releases.set(version, { ...standing, host: step.host });
        return answer({ outcome: 'left', release: RELEASE, left: step.left });
      case 'change': {
        const { status, isRetracted, host: known, artifacts, notes, isMadeAnew } = step;
        if (standing === undefined) throw new Error('nothing stands that could change');
        const hold = status === 'published' ? null : standing.hold;
        const content = { host: known, artifacts, notes };
        releases.set(version, { ...standing, status, hold, isRetracted, ...content });
        const before = { status: standing.status, artifacts: standing.artifacts.length };
        const { hasNewFiles, hasNewNotes } = step;
        const told = {
          release: RELEASE,
          before,
          isMadeAnew,
          isRetracted,
          hasNewFiles,
          hasNewNotes,
        };
        return answer({ outcome: 'changed', ...told });
      }
    }
  };

  private readonly retractRelease: Ledger['retractRelease'] = async (_, name, call) => {
    const releases = this.channels.get(name.channel);
    if (releases === undefined) return fail('unknownChannel');
    const key = keyOf(name, call.host);
    const memory = rememberRetraction(call, this.memories.get(key), this.now());
    if (memory !== undefined) this.memories.set(key, memory);
    const release = releases.get(name.canonicalVersion);
    if (release === undefined) return { value: undefined, changed: [] };
    const value = judgeRetraction(release, call);
    if (value === 'paused' || value === 'unserved') {
      releases.set(name.canonicalVersion, {
        ...release,
        host: joinEvents(release.host, call.host),
        isRetracted: release.isRetracted || value === 'paused' || release.hold !== null,
        status: value === 'paused' ? 'paused' : release.status,
      });
    }
    return { value, changed: [] };
  };
}

const NOTHING: Memory = { deletedAt: null, publishedAt: null, retractedAt: null, files: null };
/** Release of an answer, of which nothing is read here. */
const RELEASE: Release = {
  ...{ id: 'rel', app: 'app', channel: 'stable', version: '1.0.0', notes: '' },
  ...{ status: 'published', rolloutPct: 100, createdAt: '', artifacts: [] },
};

function keyOf({ channel, canonicalVersion }: ReleaseName, { provider, id }: HostRelease): string {
  return `${channel} ${canonicalVersion} ${provider} ${id}`;
}
