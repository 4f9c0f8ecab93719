// Look-up of channels by the names that requests use: the ref or the id of the app, and the channel's name.

import { fail, type Outcome } from '../contract/failure.ts';
import type { ChannelName } from '../store/channel-names.ts';

/** Kinds of refusal of a name that does not exist. */
export type UnknownName = 'unknownApp' | 'unknownChannel';

export class ChannelNameTable {
  /** Channels by their names, by the ref and by the id of the app. */
  private readonly apps = new Map<string, Map<string, ChannelName>>();
  private count = 0;

  /** Number of channels. */
  get size(): number {
    return this.count;
  }

  /** Adds a channel, or replaces the one with the same names. */
  add(name: ChannelName): void {
    const { appId, appRef, channel } = name;
    let channels = this.apps.get(appRef);
    if (channels === undefined) {
      channels = new Map();
      this.apps.set(appRef, channels);
    }
    // No ref equals the id of another app: the ledger refuses it.
    this.apps.set(appId, channels);
    if (!channels.has(channel)) this.count += 1;
    channels.set(channel, name);
  }

  /** Finds a channel; `app` is a ref or an id. */
  find(app: string, channel: string): Outcome<ChannelName, UnknownName> {
    const channels = this.apps.get(app);
    if (channels === undefined) return UNKNOWN_APP;
    return channels.get(channel) ?? UNKNOWN_CHANNEL;
  }

  /** Returns whether the channel of this name is the one with this id; `app` is a ref or an id. */
  hasId(app: string, channel: string, channelId: string): boolean {
    return this.apps.get(app)?.get(channel)?.channelId === channelId;
  }
}

const UNKNOWN_APP = fail('unknownApp');
const UNKNOWN_CHANNEL = fail('unknownChannel');
