// What a change of a release's serving would do, asked as the change is made up.

import type { RehearsedServing } from '../../contract/rehearsed.ts';
import { call } from '../api/call.ts';
import { type Asked, useAsked } from './use-asked.ts';

export type ServingRehearsal = Asked<RehearsedServing>;

/** Rehearses a change; undefined asks nothing. It is asked again when `turn` changes. */
export function useServingRehearsal(change: object | undefined, turn = 0): ServingRehearsal {
  return useAsked(change && JSON.stringify(change), rehearse, turn);
}

function rehearse(change: object): Promise<RehearsedServing> {
  return call('POST', 'releases/rehearse-serving', change);
}
