// Names of all channels: what a node must know to tell a channel that it has not loaded from a name that
// nobody created, without asking a store about each request.

/** Every name of a channel by which a request may call it. */
export type ChannelName = {
  readonly appId: string;
  readonly appRef: string;
  readonly channelId: string;
  readonly channel: string;
};

export type ChannelNameList = {
  /** Text that differs from the tag of every other set of channels. */
  readonly tag: string;
  readonly channels: readonly ChannelName[];
  /** Whether these are all; false when there are more than were asked for. */
  readonly isComplete: boolean;
};

/**
 * Names of all channels as the ledger had them last, for a node that starts while the ledger is away. Methods
 * reject with `Unavailable`, as those of the whole engine.
 */
export interface ChannelNameStore {
  /** Stores the list in place of the stored one, unless that has the same tag. */
  putChannelNames(list: ChannelNameList): Promise<void>;

  /** Reads the stored list; undefined when there is none, or when its tag is `heldTag`. */
  getChannelNames(heldTag: string | undefined): Promise<ChannelNameList | undefined>;
}
