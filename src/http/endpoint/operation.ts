// Declaration of an endpoint for the OpenAPI document: its parameters, bodies and answers.

import type { z } from 'zod';
import { deviceTokensBody, planWaveBody, reportFleetBody } from './fleet-body.ts';
import {
  promoteReleaseBody,
  publishReleaseBody,
  putPlanBody,
  resumeBody,
  retryReleaseBody,
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
  /** Id of the operation, from which generated clients derive the method's name. */
  readonly id: string;
  readonly tag: 'Releases' | 'Reading' | 'Fleet' | 'Devices';
  readonly summary: string;
  /** Text in CommonMark. */
  readonly description?: string;
  /** Whether the call needs a key. */
  readonly isGuarded: boolean;
  /** Parameters: those that the path names are in the path, all others in the query. */
  readonly parameters?: Parameters;
  readonly headers?: Parameters;
  readonly body?: z.ZodType | undefined;
  readonly answers: Readonly<Record<number, Answer>>;
  /** Statuses of its refusals, beside those that all calls of its kind have. */
  readonly refusals: readonly number[];
};

/**
 * Shapes of parameters by name. A parameter without a description is left out of the document; one whose
 * shape accepts undefined is optional.
 */
export type Parameters = Readonly<Record<string, z.ZodType>>;

/** Answer that is no refusal: its body by media types, or no body. */
export type Answer = {
  readonly description: string;
  readonly content?: Readonly<Record<string, z.ZodType>>;
  readonly headers?: readonly string[];
};

/** Describes an answer in JSON, with the headers that it may have. */
export function jsonAnswer(description: string, shape: z.ZodType, ...headers: string[]): Answer {
  return { description, content: { 'application/json': shape }, headers };
}

// Bodies of the management API: the shapes that validate them.

/** Shapes of bodies by their names in the document. */
export const BODY_SHAPES = {
  NewRelease: publishReleaseBody,
  ServingControl: servingControlBody,
  Promotion: promoteReleaseBody,
  Withdrawal: withdrawReleaseBody,
  Retry: retryReleaseBody,
  NewStop: stopBody,
  Resumption: resumeBody,
  NewPlan: putPlanBody,
  PlanControl: steerPlanBody,
  FleetReport: reportFleetBody,
  WaveRequest: planWaveBody,
  DeviceTokenRequest: deviceTokensBody,
} as const;
