// What a handler of checks is asked: how a request is read, how its decision is written, and the request.

import type { Outcome } from '../../contract/failure.ts';
import type { Candidate } from '../../domain/decision/catalog.ts';
import type { CheckQuery, PlanDecision } from '../../serving/catalog-slot.ts';
import type { AskingClient } from '../../updater/updater.ts';
import type { HttpResponse } from '../transport/http-app.ts';
import type { Reply } from '../transport/reply.ts';

/**
 * Question that clients ask at an updater's addresses: how to read it and the device, and how to answer it.
 */
export type DeviceQuestion<Item extends Candidate> = {
  /** Path pattern of the addresses, for the figures. */
  readonly route: string;
  /** Returns the query of a path; 404 when it has another form, 400 naming the part at fault. */
  readonly parse: (path: string, client: AskingClient) => Outcome<CheckQuery<Item>>;
  /** Header that names the device, before the query's `device`. */
  readonly deviceHeader: string;
  /** Parameter that names the device where neither the header nor `device` does. */
  readonly deviceParameter: string | undefined;
  /** Headers that name the device where none of them does, in the order in which they are tried. */
  readonly otherDeviceHeaders: readonly string[];
  /** Parameters of the query that the answer depends on. */
  readonly parameters: readonly string[];
  /** Beginning of the User-Agent of clients that are answered otherwise; '' where there are none. */
  readonly agent: string;
  /** Whether the answer depends on `If-None-Match`. */
  readonly isConditional: boolean;
  /**
   * Returns what to wait for before a decision is written, undefined when there is nothing; undefined itself
   * where that is always so.
   */
  readonly ready: ((decision: PlanDecision<Item>) => Promise<void> | undefined) | undefined;
  /**
   * Writes a decision; `ifNoneMatch` is '' when the request has none, or the answer does not depend on it.
   */
  readonly reply: (decision: PlanDecision<Item>, ifNoneMatch: string) => Reply;
};

export type DeviceRequest = {
  readonly res: HttpResponse;
  readonly isHead: boolean;
  readonly path: string;
};
