// The snapshots on an edge's disk, as far as the index that it follows vouches for them. They are not signed
// themselves: the index is, by the key of the token, and names each channel by an id that no other service
// has. So what a directory brought along from another service is never served.

import type { ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { ChannelName } from '../store/channel-names.ts';
import type { LastGood } from '../store/last-good.ts';
import type { FollowedState } from './followed-state.ts';

/** Maximum number of channels that are looked through for one that the index names. */
const LISTED_MAX = 10_000;

export class ProvenLastGood implements LastGood {
  private readonly files: LastGood;
  private readonly state: Pick<FollowedState, 'find' | 'record'>;

  constructor(files: LastGood, state: Pick<FollowedState, 'find' | 'record'>) {
    this.files = files;
    this.state = state;
  }

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

  /** Whether the index has this channel of this app, and not just one of the same name. */
  private isNamed({ appRef, channel, channelId }: ChannelName): boolean {
    const named = this.state.find(appRef, channel);
    return typeof named === 'object' && named.channelId === channelId;
  }
}
