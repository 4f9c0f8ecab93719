// Form in which the protocol of an updater is described: the addresses that its clients request, what an
// address asks, and how the decision is written. One route serves every updater by its description
// (http/device/updater-route.ts).

import type { DeviceClient } from '../contract/device-client.ts';
import type { Failure, Outcome } from '../contract/failure.ts';
import type { Candidate, Catalog } from '../domain/decision/catalog.ts';
import type { Plan } from '../domain/decision/plan.ts';
import type { Version } from '../domain/decision/version.ts';

/** Kinds of refusal of segments to which there can be no answer. */
export type UpdaterFailureKind = 'invalid' | 'unknownFile';

/**
 * Description of one protocol. `Item` is what it offers, `Name` the names of the segments that its addresses
 * have between the channel and the version.
 */
export type Updater<Item extends Candidate, Name extends string> = {
  /**
   * Pattern of the addresses. The first segment belongs to updaters alone, and those that share it have
   * patterns of which one address fits one at most. Segments that begin with `:` are parameters. `:version`
   * is the version that the device runs, and has to be one; only texts may follow it. Without it the client
   * compares versions itself.
   */
  readonly path: `/${string}/:appRef/:channel/${string}`;
  /**
   * Headers that name the device where neither `X-Service-Device` nor `device` in the query does, in the
   * order in which they are tried.
   */
  readonly deviceHeaders: readonly string[];
  /** Parameter of the query that names the device where `X-Service-Device` and `device` do not. */
  readonly deviceParameter?: string;
  /** Names of the query's parameters that the answer depends on; of a repeated one the last value counts. */
  readonly parameters?: readonly string[];
  /** Beginning of the User-Agent of clients that are answered otherwise than the rest, if there are any. */
  readonly agent?: string;
  /**
   * Reads the decoded segments, none of which is empty, and what the client tells beside them; a refusal
   * where there can be no answer to them.
   */
  readonly ask: (
    segments: Readonly<Record<Name | 'channel', string>>,
    client: AskingClient,
  ) => Outcome<Question<Item>, UpdaterFailureKind>;
  readonly mediaType: string;
  /** Whether clients may keep a document and ask by its entity tag whether it is still valid. */
  readonly isConditional: boolean;
  /**
   * Returns the document that offers a candidate. It is called for every check, so that an updater writes a
   * document once and keeps it with the candidate.
   */
  readonly offer: (plan: Plan<Item>, candidate: Item) => Buffer;
  /**
   * Returns what to wait for before `offer` is called, undefined when there is nothing. Absent where
   * documents are written in passing. It must neither reject nor take long.
   */
  readonly ready?: (plan: Plan<Item>, candidate: Item) => Promise<void> | undefined;
  /** Answer when nothing is offered: none at all (204), a refusal, or a document that offers nothing. */
  readonly nothing: 'no-content' | Failure | ((plan: Plan<Item>) => Buffer);
};

/** What a request tells beside its path. */
export type AskingClient = {
  /** Values of the updater's `parameters`, as far as the query has them. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Whether its User-Agent begins with the updater's `agent`. */
  readonly hasAgent: boolean;
};

/** Question that clients with the same platform and arch ask a channel, whatever their version. */
export type Question<Item extends Candidate> = {
  /** Folded platform. */
  readonly platform: string;
  /** Folded arch; `NO_ARCH` where the clients have no arch in common. */
  readonly arch: string;
  /** Way to ask, as the record of the device keeps it. */
  readonly client: DeviceClient;
  /** Kind of installation that the answer can replace; absent when the client tells none. */
  readonly bundle?: string;
  /** Version that the device runs, where it is not told in the address. */
  readonly version?: Version;
  /**
   * Key of the plans: questions to a channel with the same key share their plans. It begins with the
   * updater's name and contains everything else that `candidates`, `client` and `bundle` depend on.
   */
  readonly planKey: string;
  /**
   * Returns the releases that such clients can take, highest version first; mostly a list of `candidatesBy`.
   */
  readonly candidates: (catalog: Catalog) => readonly Item[];
};
