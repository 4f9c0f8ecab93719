// State of what is sent while somebody fills in something: an action that a button or form starts, at most
// one run at a time, and a question about what is being made up.

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

// An answer to what is being made up in a form, asked once it has stayed the same for a moment.

export type Asked<Answer> = {
  readonly said: Answer | undefined;
  /** Why nothing can be said; nothing is kept from being done by it. */
  readonly error: string | undefined;
  /** Whether the service refuses what is made up, so that sending it would be refused in the same way. */
  readonly isRefused?: boolean;
};

/** Time for which a question must stay as it is before it is asked. */
const QUIET_MS = 250;
/** Answers that say what is wrong with the question, and not with the service or the number of questions. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 404, 409, 422]);
const NOTHING = { said: undefined, error: undefined };

/**
 * Asks a question, given as the text of its body; undefined asks nothing. It is asked again when `turn`
 * changes. Both are undefined until there is an answer. What is said to one question is never shown for
 * another. `ask` is always the same function.
 */
export function useAsked<Answer>(
  text: string | undefined,
  ask: (body: object) => Promise<Answer>,
  turn = 0,
): Asked<Answer> {
  const [last, setLast] = useState<{ of: string; answer: Asked<Answer> }>();
  useEffect(() => {
    if (text === undefined) return undefined;
    let isOver = false;
    const run = async () => {
      const answer = await outcome(() => ask(JSON.parse(text)));
      if (!isOver) setLast({ of: text, answer });
    };
    const timer = setTimeout(() => void run(), QUIET_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text, turn, ask]);
  return last !== undefined && last.of === text ? last.answer : NOTHING;
}

async function outcome<Answer>(ask: () => Promise<Answer>): Promise<Asked<Answer>> {
  try {
    return { said: await ask(), error: undefined };
  } catch (error) {
    if (error instanceof ApiError) {
      const isRefused = REFUSALS.has(error.status);
      return { said: undefined, error: error.advice, isRefused };
    }
    throw error;
  }
}
