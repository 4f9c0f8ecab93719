// What a change of a release's serving would do, asked as the change is made up.

import { useEffect, useState } from 'preact/hooks';
import type { RehearsedServing } from '../../contract/rehearsed.ts';
import { ApiError } from '../api/api-error.ts';
import { call } from '../api/call.ts';

export type ServingRehearsal = {
  readonly said: RehearsedServing | undefined;
  /** Why nothing can be said; nothing is kept from being done by it. */
  readonly error: string | undefined;
};

/** Time for which a change must stay as it is before it is asked about. */
const QUIET_MS = 250;
const NOTHING: ServingRehearsal = { said: undefined, error: undefined };

/**
 * Rehearses a change; undefined asks nothing. It is asked again when `turn` changes. Both are undefined until
 * there is an answer. What is said of one change is never shown for another.
 */
export function useServingRehearsal(change: object | undefined, turn = 0): ServingRehearsal {
  const text = change && JSON.stringify(change);
  const [last, setLast] = useState<{ of: string; rehearsal: ServingRehearsal }>();
  useEffect(() => {
    if (text === undefined) return undefined;
    let isOver = false;
    const ask = async () => {
      const rehearsal = await rehearse(text);
      if (!isOver) setLast({ of: text, rehearsal });
    };
    const timer = setTimeout(() => void ask(), QUIET_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text, turn]);
  return last !== undefined && last.of === text ? last.rehearsal : NOTHING;
}

async function rehearse(text: string): Promise<ServingRehearsal> {
  try {
    const said = await call('POST', 'releases/rehearse-serving', JSON.parse(text));
    return { said, error: undefined };
  } catch (error) {
    if (error instanceof ApiError) return { said: undefined, error: error.advice };
    throw error;
  }
}
