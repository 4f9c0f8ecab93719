// State of an action that a button or form starts: at most one run at a time, and the error of the last run.

import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, connection } from '../api/call.ts';

export type Action = {
  readonly isBusy: boolean;
  /** Message of the last run's error, to display. */
  readonly error: string | undefined;
  /** Runs the work unless a run is in progress; resolves with whether it succeeded. */
  run(work: () => Promise<unknown>): Promise<boolean>;
  /** Clears the error. */
  clear(): void;
};

/** Provides the state of one button's or one form's action. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<ApiError>();
  const isRunning = useRef(false);
  const isHere = useRef(true);
  useEffect(
    () => () => {
      isHere.current = false;
    },
    [],
  );
  // What could not be sent is no longer true of a service that answers again.
  useEffect(() => {
    if (fault?.isOutage !== true) return undefined;
    return connection.onRecovery(() => setFault(undefined));
  }, [fault]);
  const run = async (work: () => Promise<unknown>): Promise<boolean> => {
    if (isRunning.current) return false;
    isRunning.current = true;
    setBusy(true);
    setFault(undefined);
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (isHere.current) setFault(error);
      return false;
    } finally {
      isRunning.current = false;
      if (isHere.current) setBusy(false);
    }
  };
  return { isBusy, error: fault?.advice, run, clear: () => setFault(undefined) };
}
