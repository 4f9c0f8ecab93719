// Description of an endpoint, as the OpenAPI document has it: what may be sent, and what is answered.

import type { z } from 'zod';
import { planWaveBody, reportFleetBody } from './fleet-body.ts';
import {
  promoteReleaseBody,
  publishReleaseBody,
  putPlanBody,
  servingControlBody,
  steerPlanBody,
  withdrawReleaseBody,
} from './release-body.ts';

/** Endpoint of the management API or of devices. */
export type Operation = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Path with its parameters in braces: `/api/v1/releases/{id}`. */
  readonly path: string;
  /** Name that generated clients give the call. */
  readonly id: string;
  readonly tag: 'Releases' | 'Reading' | 'Fleet' | 'Devices';
  readonly summary: string;
  /** CommonMark. */
  readonly description?: string;
  /** Whether the call needs a key. */
  readonly isGuarded: boolean;
  readonly inPath?: Parameters;
  readonly inQuery?: Parameters;
  readonly inHeaders?: Parameters;
  readonly body?: z.ZodType;
  readonly answers: Readonly<Record<number, Answer>>;
  /** Statuses that are answered with an Error body, beside those that every call has. */
  readonly refusals: readonly number[];
};

/** Parameters by name; one is optional when its shape is. */
export type Parameters = Readonly<Record<string, Parameter>>;

type Parameter = { readonly shape: z.ZodType; readonly description: string };

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
  NewPlan: putPlanBody,
  PlanControl: steerPlanBody,
  FleetReport: reportFleetBody,
  WaveRequest: planWaveBody,
} as const;
