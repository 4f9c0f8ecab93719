// What an edge knows of its upstream's channels: the newest index that it accepted. An index belongs to one
// record, and only moves forward: by epochs, then by the channels' revisions. An older index comes from a
// service that is behind: it missed announcements, its ledger went back, or it is another copy.

import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { EdgeIndexAnswer, EdgeIndexEntry } from '../contract/edge.ts';
import { indexKinship, isIndexAhead } from '../domain/decision/ledger-record.ts';
import {
  compareServing,
  orderOf,
  type ServingOrder,
  type ServingSnapshot,
} from '../domain/decision/serving-snapshot.ts';
import type { DiskSnapshots } from '../store/disk-snapshots.ts';
import type { Announcement, ChannelName } from '../store/engine.ts';

/** Why an index is refused: it is of another record, or older than the known one. */
export type IndexRefusal = 'foreign' | 'replayed';

export class FollowedState {
  private index: EdgeIndexAnswer | undefined;
  private byId = new Map<string, EdgeIndexEntry>();
  private byName = new Map<string, EdgeIndexEntry>();
  private apps = new Set<string>();
  /** States of channels that are newer than in the index; at most one for each channel of the index. */
  private readonly seen = new Map<string, ServingOrder>();

  /** Tag of the index; undefined before the first. */
  get tag(): string | undefined {
    return this.index?.tag;
  }

  /** Epoch of the upstream's ledger; 0 before the first index. */
  get epoch(): number {
    return this.index?.epoch ?? 0;
  }

  /** Name of the record; undefined until an index contains it. */
  get record(): string | undefined {
    return this.index?.record ?? undefined;
  }

  /** Whether the index has all channels. */
  get isComplete(): boolean {
    return this.index?.isComplete === true;
  }

  /** Names of all channels. */
  get names(): readonly ChannelName[] {
    return [...this.byId.values()].map(nameOf);
  }

  /** Returns why an index is refused; undefined if it is accepted. */
  refusalOf(index: EdgeIndexAnswer): IndexRefusal | undefined {
    const held = this.index;
    if (held === undefined) return undefined;
    const { record, epoch, line } = index;
    const revisions = new Map(index.channels.map((each) => [each[CHANNEL_ID], each[REVISION]]));
    const present = { record, epoch, line, revisionOf: (id: string) => revisions.get(id) };
    if (indexKinship(held, present) === 'other') return 'foreign';
    return isIndexAhead(held, present) ? 'replayed' : undefined;
  }

  /** Adopts an accepted index; returns its changes as announcements. */
  adopt(index: EdgeIndexAnswer): readonly Announcement[] {
    const before = this.byId;
    const formerEpoch = this.index?.epoch;
    // During an update of the service, a node of an earlier version sends no `record`.
    this.index = { ...index, record: index.record ?? this.record };
    this.byId = new Map(index.channels.map((entry) => [entry[CHANNEL_ID], entry]));
    this.byName = new Map();
    this.apps = new Set();
    for (const entry of index.channels) {
      const [appId, appRef, , channel] = entry;
      this.byName.set(`${appRef}/${channel}`, entry).set(`${appId}/${channel}`, entry);
      this.apps.add(appId).add(appRef);
    }
    for (const channelId of this.seen.keys()) {
      if (!this.byId.has(channelId)) this.seen.delete(channelId);
    }
    // Nothing is loaded before the first index, so it need not announce its channels.
    if (formerEpoch === undefined) return [];
    return index.channels.flatMap((entry) => {
      const known = formerEpoch === index.epoch ? before.get(entry[CHANNEL_ID]) : undefined;
      return announcementOf(entry, known, index.epoch);
    });
  }

  /** Finds a channel by the ref or id of its app; says which of the two does not exist. */
  find(app: string, channel: string): ChannelName | 'unknown-app' | 'unknown-channel' {
    const entry = this.byName.get(`${app}/${channel}`);
    if (entry !== undefined) return nameOf(entry);
    return this.apps.has(app) ? 'unknown-channel' : 'unknown-app';
  }

  /** Finds a channel by its id. */
  findById(channelId: string): ChannelName | undefined {
    const entry = this.byId.get(channelId);
    return entry && nameOf(entry);
  }

  /** Returns the present revisions of these channels, without those that do not exist. */
  revisionsOf(channelIds: readonly string[]): ReadonlyMap<string, number> {
    const revisions = new Map<string, number>();
    for (const channelId of channelIds) {
      const entry = this.byId.get(channelId);
      if (entry === undefined) continue;
      const seen = this.seen.get(channelId);
      const isSeen = seen?.epoch === this.epoch && seen.revision > entry[REVISION];
      revisions.set(channelId, isSeen ? seen.revision : entry[REVISION]);
    }
    return revisions;
  }

  /** Returns the newest known state of a channel; callers accept no older one. */
  newestOf(channelId: string): ServingOrder {
    const revision = this.byId.get(channelId)?.[REVISION] ?? 0;
    const order = { epoch: this.epoch, revision };
    const seen = this.seen.get(channelId);
    return seen !== undefined && compareServing(seen, order) > 0 ? seen : order;
  }

  /** Records a channel's state from the upstream; only the index may bring another epoch. */
  see(channelId: string, order: ServingOrder): void {
    if (order.epoch !== this.epoch) return;
    if (!this.byId.has(channelId) || compareServing(order, this.newestOf(channelId)) <= 0) return;
    this.seen.set(channelId, orderOf(order));
  }
}

const [CHANNEL_ID, REVISION] = [2, 4] as const;

function nameOf([appId, appRef, channelId, channel]: EdgeIndexEntry): ChannelName {
  return { appId, appRef, channelId, channel };
}

/** Returns the changes of an entry since the previous index. */
function announcementOf(
  entry: EdgeIndexEntry,
  known: EdgeIndexEntry | undefined,
  epoch: number,
): readonly Announcement[] {
  const [, appRef, channelId, channel, revision, offered] = entry;
  const state = { appRef, channel, channelId, epoch, revision };
  const isSame = known?.[REVISION] === revision;
  const told = isSame ? known[5] : [];
  const offers = offered
    .filter((offeredReleaseId) => !told.includes(offeredReleaseId))
    .map((offeredReleaseId) => ({ ...state, offeredReleaseId }));
  return isSame ? offers : [state, ...offers];
}

/** Returns whether the properties of a parsed value have the types of an index. */
export function isIndex(index: Readonly<Partial<EdgeIndexAnswer>>): index is EdgeIndexAnswer {
  const { record, line, epoch, at, tag, channels, isComplete } = index;
  return (
    [epoch, at].every(Number.isSafeInteger) &&
    [record ?? '', line ?? ''].every((name) => typeof name === 'string') &&
    typeof tag === 'string' &&
    typeof isComplete === 'boolean' &&
    Array.isArray(channels) &&
    channels.every(isEntry)
  );
}

function isEntry(entry: unknown): boolean {
  if (!Array.isArray(entry)) return false;
  const [appId, appRef, channelId, channel, revision, offered] = entry as unknown[];
  return (
    [appId, appRef, channelId, channel].every((text) => typeof text === 'string') &&
    Number.isSafeInteger(revision) &&
    Array.isArray(offered) &&
    offered.every((id) => typeof id === 'string')
  );
}

// File with the newest accepted index on an edge's disk, and its proof: a restarted edge knows the channels'
// names from it, and still accepts nothing older.

export type KeptIndex = { readonly bytes: Buffer; readonly proof: string };

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

export class FollowedFile {
  private next: KeptIndex | undefined;
  private writing: Promise<void> | undefined;

  /** `onFault` gets write errors; the next index is written all the same. */
  constructor(
    private readonly path: string,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /** Reads the file; undefined if there is none. Rejects if it cannot be read. */
  async read(): Promise<KeptIndex | undefined> {
    let content: Buffer;
    try {
      content = await readFile(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    const end = content.indexOf('\n');
    const proof = content.toString('latin1', 0, Math.max(0, end));
    return { proof, bytes: content.subarray(end + 1) };
  }

  /** Schedules a write. If several are scheduled before it begins, only the last index is written. */
  keep(index: KeptIndex): void {
    this.next = index;
    this.writing ??= this.writeAll().finally(() => {
      this.writing = undefined;
    });
  }

  /** Waits until scheduled writes have ended. */
  async flush(): Promise<void> {
    while (this.writing !== undefined) await this.writing;
  }

  private async writeAll(): Promise<void> {
    for (let index = this.next; index !== undefined; index = this.next) {
      this.next = undefined;
      await this.write(index).catch((error: unknown) => this.onFault(error));
    }
  }

  /** Writes beside the file and renames: a reader finds the old one or the new one. */
  private async write({ bytes, proof }: KeptIndex): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: FOLDER_MODE });
    const draft = `${this.path}.new`;
    const file = await open(draft, 'w', FILE_MODE);
    try {
      await file.writeFile(Buffer.concat([Buffer.from(`${proof}\n`), bytes]));
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, this.path);
  }
}

// Snapshots on an edge's disk that the followed index confirms. They are not signed, but the index is, by the
// key of the token, and it names each channel by an id that no other service has. So the edge never serves a
// snapshot of another service that is left in its directory.

/** Maximum number of channels that `hasAny` reads. */
const LISTED_MAX = 10_000;

export class ProvenDiskSnapshots implements DiskSnapshots {
  constructor(
    private readonly files: DiskSnapshots,
    private readonly state: Pick<FollowedState, 'find' | 'record'>,
  ) {}

  keep(snapshot: ServingSnapshot): void {
    this.files.keep(snapshot);
  }

  async find(appRef: string, channel: string): Promise<ServingSnapshot | undefined> {
    const found = await this.files.find(appRef, channel);
    return found !== undefined && this.isNamed(found) ? found : undefined;
  }

  async readRecord(): Promise<string | undefined> {
    return this.state.record;
  }

  /** Does nothing: the index has the name. */
  keepRecord(): void {}

  forget(appRef: string, channel: string): void {
    this.files.forget(appRef, channel);
  }

  async list(countMax: number): Promise<readonly ChannelName[]> {
    return (await this.files.list(countMax)).filter((each) => this.isNamed(each));
  }

  async hasAny(): Promise<boolean> {
    return (await this.list(LISTED_MAX)).length > 0;
  }

  async flush(): Promise<void> {
    await this.files.flush();
  }

  /** Returns whether the index has this channel of this app, not just one of the same name. */
  private isNamed({ appRef, channel, channelId }: ChannelName): boolean {
    const named = this.state.find(appRef, channel);
    return typeof named === 'object' && named.channelId === channelId;
  }
}
