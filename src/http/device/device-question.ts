// Protocol of an updater, as the handlers of checks need it: how to read a request, and how to answer it.

import type { Outcome } from '../../contract/failure.ts';
import type { Candidate } from '../../domain/decision/catalog.ts';
import type { CheckQuery, PlanDecision } from '../../serving/catalog-slot.ts';
import type { AskingClient } from '../../updater/updater.ts';
import type { HttpResponse } from '../transport/http-app.ts';
import type { Reply } from '../transport/reply.ts';

/**
 * Question that clients ask at an updater's addresses: how to read it, how to find the device, how to answer.
 */
export type DeviceQuestion<Item extends Candidate> = {
  /** Path pattern of the addresses, for the metrics. */
  readonly route: string;
  /** Returns the query of a path; 404 if the path does not match, 400 that names a wrong part. */
  readonly parse: (path: string, client: AskingClient) => Outcome<CheckQuery<Item>>;
  /** Header with the device id; it takes precedence over the parameter `device`. */
  readonly deviceHeader: string;
  /** Parameter with the device id if neither the header nor `device` has one. */
  readonly deviceParameter: string | undefined;
  /** Headers with the device id if none of the above has one, in the order in which they are tried. */
  readonly otherDeviceHeaders: readonly string[];
  /** Parameters of the query that the answer depends on. */
  readonly parameters: readonly string[];
  /** Beginning of the User-Agent of clients that get a different answer; '' if there are none. */
  readonly agent: string;
  /** Whether the answer depends on `If-None-Match`. */
  readonly isConditional: boolean;
  /**
   * Returns a promise to await before the decision is written, or undefined if there is nothing to await.
   * Absent if there never is.
   */
  readonly ready: ((decision: PlanDecision<Item>) => Promise<void> | undefined) | undefined;
  /**
   * Writes a decision; `ifNoneMatch` is '' if the request has none, or the answer does not depend on it.
   */
  readonly reply: (decision: PlanDecision<Item>, ifNoneMatch: string) => Reply;
};

export type DeviceRequest = {
  readonly res: HttpResponse;
  readonly isHead: boolean;
  readonly path: string;
};
