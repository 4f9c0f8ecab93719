// State of a form's requests: an action that runs at most once at a time, a question about the present input,
// and a review of it.

import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, connection } from '../api/call.ts';

export type Action = {
  readonly isBusy: boolean;
  /** Message of the last run's error. */
  readonly error: string | undefined;
  /** Id of the approval that the last run waits for. */
  readonly waiting: string | undefined;
  /** Runs the work unless a run is in progress; resolves with whether it succeeded. */
  run(work: () => Promise<unknown>): Promise<boolean>;
  /** Clears the error. */
  clear(): void;
};

/** Provides the state of one button's or form's action. */
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
  // Clears the error of an outage once the service answers again.
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
  const waiting = fault?.waiting;
  const error = waiting === undefined ? fault?.advice : undefined;
  return { isBusy, error, waiting, run, clear: () => setFault(undefined) };
}

export type Asked<Answer> = {
  readonly said: Answer | undefined;
  /** Why there is no answer; the form can be sent in spite of it. */
  readonly error: string | undefined;
  /** Whether the service refused the input: it would also refuse the change itself. */
  readonly isRefused?: boolean;
};

/** Milliseconds without a change of the input before it is sent to the service. */
const QUIET_MS = 250;
/** Statuses of a refused input; others come from a fault or a limit of the service. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 404, 409, 422]);
const NOTHING = { said: undefined, error: undefined };

/**
 * Calls `ask` with input, given as JSON, once it has not changed for `QUIET_MS`; not if it is undefined.
 * Calls it again when `turn` changes. Returns only the answer to the present input. `ask` must be a stable
 * function.
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

/** Statuses of a service that is too busy to answer. */
const BUSY: ReadonlySet<number> = new Set([429, 503]);

export type Review<Answer> = {
  /** Answer to the present input, or why there is none. */
  readonly dryRun: Asked<Answer>;
  /** Whether the service was asked about the present input. */
  readonly isReviewed: boolean;
  /** Asks about the present input. Rejects with the service's refusal. */
  review(): Promise<void>;
};

/** Calls `ask` with the input when `review` is called; drops the answer when the input changes. */
export function useReview<Answer>(
  input: object,
  ask: (input: object) => Promise<Answer>,
): Review<Answer> {
  const text = JSON.stringify(input);
  const [last, setLast] = useState<{ of: string; answer: Asked<Answer> }>();
  const review = async () => {
    try {
      setLast({ of: text, answer: { said: await ask(input), error: undefined } });
    } catch (error) {
      if (!(error instanceof ApiError && BUSY.has(error.status))) throw error;
      setLast({ of: text, answer: { said: undefined, error: error.advice } });
    }
  };
  const present = last?.of === text ? last.answer : undefined;
  return { dryRun: present ?? NOTHING, isReviewed: present !== undefined, review };
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
