// Declaration of an endpoint, as the OpenAPI document describes it: what may be sent, and what is answered.

import type { z } from 'zod';
import { planWaveBody, reportFleetBody } from './fleet-body.ts';
import {
  promoteReleaseBody,
  publishReleaseBody,
  putPlanBody,
  resumeBody,
  servingControlBody,
  steerPlanBody,
  stopBody,
  withdrawReleaseBody,
} from './release-body.ts';

/** Endpoint of the management API or of devices. */
export type Operation = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with its parameters: `/api/v1/releases/:id`. */
  readonly path: string;
  /** Name that generated clients give the call. */
  readonly id: string;
  readonly tag: 'Releases' | 'Reading' | 'Fleet' | 'Devices';
  readonly summary: string;
  /** CommonMark. */
  readonly description?: string;
  /** Whether the call needs a key. */
  readonly isGuarded: boolean;
  /** Parameters in the path, where it has their names, and in the query. */
  readonly parameters?: Parameters;
  readonly headers?: Parameters;
  readonly body?: z.ZodType | undefined;
  readonly answers: Readonly<Record<number, Answer>>;
  /** Statuses that are answered with an Error body, beside those that every such call has. */
  readonly refusals: readonly number[];
};

/**
 * Shapes of parameters by name. One without a description stays out of the document, and is optional when its
 * shape is.
 */
export type Parameters = Readonly<Record<string, z.ZodType>>;

/** Answer that is no refusal: a body with its media types, or none. */
export type Answer = {
  readonly description: string;
  readonly content?: Readonly<Record<string, z.ZodType>>;
  readonly headers?: readonly string[];
};

/** Describes an answer in JSON, with the headers that it may carry. */
export function jsonAnswer(description: string, shape: z.ZodType, ...headers: string[]): Answer {
  return { description, content: { 'application/json': shape }, headers };
}

// Bodies of the management API: the shapes that check them.

/** Bodies by the names that they have in the document. */
export const BODY_SHAPES = {
  NewRelease: publishReleaseBody,
  ServingControl: servingControlBody,
  Promotion: promoteReleaseBody,
  Withdrawal: withdrawReleaseBody,
  NewStop: stopBody,
  Resumption: resumeBody,
  NewPlan: putPlanBody,
  PlanControl: steerPlanBody,
  FleetReport: reportFleetBody,
  WaveRequest: planWaveBody,
} as const;
