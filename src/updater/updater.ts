// Description of an updater's protocol: the URLs that its clients request, the question of a URL, and the
// form of the answer. One route serves every updater by its description (http/device/updater-route.ts).

import type { Failure, Outcome } from '../contract/failure.ts';
import type { DeviceClient } from '../contract/resource.ts';
import type { Candidate, Catalog } from '../domain/decision/catalog.ts';
import type { Plan } from '../domain/decision/plan.ts';
import type { Version } from '../domain/decision/version.ts';

/**
 * Description of one protocol. `Item` is what it offers, `Name` the names of the segments between the channel
 * and the version.
 */
export type Updater<Item extends Candidate, Name extends string> = {
  /**
   * Pattern of the URLs; no URL fits two updaters, and the router handles URLs that fit none. A segment may
   * have one parameter, `:name`, with text around it. `:version` is a segment of its own, the version of the
   * device, and must be valid; only fixed segments may follow it. Without it the client compares versions
   * itself.
   */
  readonly path: `/${string}/:appRef/:channel/${string}`;
  /** Headers that name the device if neither `X-Service-Device` nor `device` in the query does, in order. */
  readonly deviceHeaders: readonly string[];
  /** Parameter of the query that names the device if `X-Service-Device` and `device` do not. */
  readonly deviceParameter?: string;
  /** Parameters of the query that the answer depends on; of a repeated one the last value counts. */
  readonly parameters?: readonly string[];
  /** Beginning of the User-Agent of clients that need another answer, if there are any. */
  readonly agent?: string;
  /**
   * Reads the decoded segments, none empty, and the rest of the request; a refusal if they have no answer.
   */
  readonly ask: (
    segments: Readonly<Record<Name | 'channel', string>>,
    client: AskingClient,
  ) => Outcome<Question<Item>>;
  readonly mediaType: string;
  /** Whether clients may keep a document and ask by its entity tag whether it is still valid. */
  readonly isConditional: boolean;
  /**
   * Returns the document that offers a candidate. Called for every check, so an updater writes a document
   * once and keeps it with the candidate.
   */
  readonly offer: (plan: Plan<Item>, candidate: Item) => Buffer;
  /**
   * Returns what to await before `offer`; undefined if nothing. Absent if documents need no waiting. Must
   * neither reject nor take long.
   */
  readonly ready?: (plan: Plan<Item>, candidate: Item) => Promise<void> | undefined;
  /** Answer without an offer: 204, a refusal, or a document that offers nothing. */
  readonly nothing: 'no-content' | Failure | ((plan: Plan<Item>) => Buffer);
};

/** Request of a client, apart from its path. */
export type AskingClient = {
  /** Values of the updater's `parameters` in the query. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Whether its User-Agent begins with the updater's `agent`. */
  readonly hasAgent: boolean;
};

/** Question that clients with the same platform and arch ask a channel, whatever their version. */
export type Question<Item extends Candidate> = {
  /** Folded. */
  readonly platform: string;
  /** Folded; `NO_ARCH` if the clients have no arch in common. */
  readonly arch: string;
  /** Client, as the device's record stores it. */
  readonly client: DeviceClient;
  /** Kind of installation that the answer can replace; absent if the client reports none. */
  readonly bundle?: string;
  /** Version of the device if the URL does not contain it. */
  readonly version?: Version;
  /**
   * Key of the plans: questions to a channel with the same key share their plans. It begins with the
   * updater's name and contains all else that `candidates`, `client` and `bundle` depend on.
   */
  readonly planKey: string;
  /** Returns the releases that clients can take, highest first; usually a list of `candidatesBy`. */
  readonly candidates: (catalog: Catalog) => readonly Item[];
};
