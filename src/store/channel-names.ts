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

  /**
   * Reads the name of the record that all of the store belongs to, and the list unless its tag is `heldTag`:
   * also while the store is refused because it belongs to another record than this node's.
   */
  readShared(heldTag: string | undefined): Promise<SharedRecord>;
}

/** What a store tells of the record that it belongs to. */
export type SharedRecord = {
  /** Undefined before a node of that record has named it. */
  readonly record: string | undefined;
  /** Tag of the list; undefined when there is none. */
  readonly tag: string | undefined;
  /** Undefined when there is none, or the caller holds it. */
  readonly list: ChannelNameList | undefined;
};
