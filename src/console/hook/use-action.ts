// Something a person asks for: runs once at a time, and what went wrong stays where it was asked for.

import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/api-error.ts';

export type Action = {
  readonly isBusy: boolean;
  /** Why the last run failed, in words for a person. */
  readonly error: string | undefined;
  /** Runs the work unless one is running. Whether it succeeded. */
  run(work: () => Promise<unknown>): Promise<boolean>;
  /** Forgets the error. */
  clear(): void;
};

/** The state of one button's or one form's work. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const isRunning = useRef(false);
  const isHere = useRef(true);
  useEffect(
    () => () => {
      isHere.current = false;
    },
    [],
  );
  const run = async (work: () => Promise<unknown>): Promise<boolean> => {
    if (isRunning.current) return false;
    isRunning.current = true;
    setBusy(true);
    setError(undefined);
    try {
      await work();
      return true;
    } catch (fault) {
      if (!(fault instanceof ApiError)) throw fault;
      if (isHere.current) setError(fault.advice);
      return false;
    } finally {
      isRunning.current = false;
      if (isHere.current) setBusy(false);
    }
  };
  return { isBusy, error, run, clear: () => setError(undefined) };
}
