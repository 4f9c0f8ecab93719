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
import type { Announced, HostRepository } from '../../src/store/console-ledger.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import type { NewArtifact, ReleaseName } from '../../src/store/ledger-terms.ts';

type Standing = StandingRelease<NewArtifact> & { readonly version: string };
type Memory = HostMemory<NewArtifact>;

/** Releases of channels, by version. */
export class HostLedger {
  readonly channels: ReadonlyMap<string, Map<string, Standing>>;
  /** Repository that webhooks are bound to; undefined: each that is to be bound. */
  own: HostRepository | undefined;
  /** Repositories that were to be bound. */
  readonly bound: HostRepository[] = [];
  private readonly memories = new Map<string, Memory>();
  private readonly now: () => number;

  constructor(now: () => number, channels: readonly string[] = ['stable', 'beta']) {
    this.now = now;
    this.channels = new Map(channels.map((name) => [name, new Map<string, Standing>()]));
  }

  /** Marks every release that is published as offered. */
  offer(): void {
    this.change((release) => (release.status === 'published' ? { offered: true } : {}));
  }

  /** Changes every release on every channel. */
  change(partsOf: (release: Standing) => Partial<Standing>): void {
    for (const releases of this.channels.values()) {
      for (const [version, release] of releases) {
        releases.set(version, { ...release, ...partsOf(release) });
      }
    }
  }

  /** This object in the type of the whole port. */
  get port(): Ledger {
    const { announceRelease, retractRelease, bindRepository } = this;
    return { announceRelease, retractRelease, bindRepository } as unknown as Ledger;
  }

  private readonly bindRepository: Ledger['bindRepository'] = async (_, repository) => {
    this.bound.push(repository);
    return this.own ?? repository;
  };

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
    const store = (release: Standing): Release => {
      releases.set(version, release);
      return releaseOf(name, release);
    };
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
        const content = { version: announced.version, host: known, artifacts, notes };
        return answer({
          outcome: 'created',
          release: store({ ...fresh, status, hold, ...content }),
        });
      }
      case 'leave': {
        if (standing === undefined) throw new Error('nothing stands that could be left alone');
        const release = store({ ...standing, host: step.host });
        return answer({ outcome: 'left', release, left: step.left });
      }
      case 'change': {
        const { status, isRetracted, host: known, artifacts, notes, isMadeAnew } = step;
        if (standing === undefined) throw new Error('nothing stands that could change');
        const hold = status === 'published' ? null : standing.hold;
        const content = { host: known, artifacts, notes };
        const release = store({ ...standing, status, hold, isRetracted, ...content });
        const before = { status: standing.status, artifacts: standing.artifacts.length };
        const { hasNewFiles, hasNewNotes } = step;
        const told = { release, before, isMadeAnew, isRetracted, hasNewFiles, hasNewNotes };
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

/** Returns a release as answers contain it: without the checksums that the code host sent. */
function releaseOf({ channel }: ReleaseName, release: Standing): Release {
  const { version, notes, status } = release;
  const artifacts = release.artifacts.map(({ digest: _, ...artifact }) => artifact);
  const fixed = { id: 'rel', app: 'notes', rolloutPct: 100, createdAt: '' };
  return { ...fixed, channel, version, notes, status, artifacts };
}

function keyOf({ channel, canonicalVersion }: ReleaseName, { provider, id }: HostRelease): string {
  return `${channel} ${canonicalVersion} ${provider} ${id}`;
}
