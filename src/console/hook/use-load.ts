// Loads data from the console API. The page continues to show data while newer data loads, and shows recently
// loaded data at once when it is opened again.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type AnswerTo, ApiError, callForText, connection, type PathOf } from '../api/call.ts';

export type Loaded<Value> = {
  /** Newest loaded data, kept while newer data loads or fails to load. */
  readonly data: Value | undefined;
  readonly error: ApiError | undefined;
  /** Whether neither data nor an error has arrived yet. */
  readonly isComing: boolean;
  /** Whether `data` still belongs to another path. */
  readonly isLoading: boolean;
  /** Returns when `data` was last confirmed, in milliseconds since 1970. */
  at(): number | undefined;
  /** Milliseconds between two polls; 0 without polling. */
  readonly everyMs: number;
  /** Loads again at once. */
  reload(): Promise<void>;
};

type Seen<Value> = { readonly path: string; readonly text: string; readonly value: Value };
type State<Value> = {
  readonly seen: Seen<Value> | undefined;
  readonly error: ApiError | undefined;
};

const REMEMBERED_MAX = 40;
const remembered = new Map<string, string>();

/**
 * Loads the answer to a GET of `path`; null loads nothing. With `everyMs`, polls while the page is visible.
 * Data of the previous path stays until the new data arrives; to prevent that, give the component a `key`.
 */
export function useLoad<Path extends PathOf<'GET'>>(
  path: Path | null,
  everyMs = 0,
): Loaded<AnswerTo<'GET', Path>> {
  type Value = AnswerTo<'GET', Path>;
  const [state, setState] = useState<State<Value>>(() => ({
    seen: path === null ? undefined : recall<Value>(path),
    error: undefined,
  }));
  const turn = useRef(0);
  const seenAt = useRef<{ path: string; ms: number }>();
  const load = useCallback(async () => {
    if (path === null) return;
    turn.current += 1;
    const mine = turn.current;
    const outcome = await read(path);
    if (mine !== turn.current) return;
    if (typeof outcome === 'string') seenAt.current = { path, ms: Date.now() };
    setState((before) => after(before, path, outcome));
  }, [path]);
  useEffect(() => {
    const known = path === null ? undefined : recall<Value>(path);
    if (known !== undefined) {
      setState((before) =>
        before.seen?.path === path ? before : { seen: known, error: undefined },
      );
    }
    void load();
    return () => {
      turn.current += 1;
    };
  }, [load, path]);
  useRepetition(load, path === null ? 0 : everyMs);
  const { seen, error } = state;
  useRecovery(load, error?.isOutage === true);
  return {
    data: seen?.value,
    error,
    isComing: seen === undefined && error === undefined,
    isLoading: path !== null && seen?.path !== path && error === undefined,
    at: () => (seenAt.current?.path === seen?.path ? seenAt.current?.ms : undefined),
    everyMs,
    reload: load,
  };
}

/** Clears the cache, because another person may have signed in. */
export function forgetLoaded(): void {
  remembered.clear();
}

/** Loads again after an outage, once the service answers another request. */
function useRecovery(load: () => Promise<void>, isOut: boolean): void {
  useEffect(() => {
    if (!isOut) return undefined;
    return connection.onRecovery(() => void load());
  }, [load, isOut]);
}

/** Polls one request at a time; refreshes at once when the page becomes visible again. */
export function useRepetition(load: () => Promise<void>, everyMs: number): void {
  useEffect(() => {
    if (everyMs === 0) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    let isOver = false;
    let isReading = false;
    const again = async () => {
      if (isReading) return;
      clearTimeout(timer);
      isReading = true;
      try {
        if (document.visibilityState === 'visible') await load();
      } finally {
        isReading = false;
        if (!isOver) timer = setTimeout(again, everyMs);
      }
    };
    const whenShown = () => {
      if (document.visibilityState === 'visible') void again();
    };
    timer = setTimeout(again, everyMs);
    document.addEventListener('visibilitychange', whenShown);
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', whenShown);
    };
  }, [load, everyMs]);
}

async function read(path: string): Promise<string | ApiError> {
  try {
    return await callForText('GET', path);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

function after<Value>(
  before: State<Value>,
  path: string,
  outcome: string | ApiError,
): State<Value> {
  if (typeof outcome !== 'string') return { ...before, error: outcome };
  remember(path, outcome);
  const isSame = before.seen?.path === path && before.seen.text === outcome;
  if (isSame && before.error === undefined) return before;
  const seen = { path, text: outcome, value: JSON.parse(outcome) as Value };
  return { seen, error: undefined };
}

function remember(path: string, text: string): void {
  remembered.delete(path);
  remembered.set(path, text);
  const [oldest] = remembered.keys();
  if (remembered.size > REMEMBERED_MAX && oldest !== undefined) remembered.delete(oldest);
}

function recall<Value>(path: string): Seen<Value> | undefined {
  const text = remembered.get(path);
  return text === undefined ? undefined : { path, text, value: JSON.parse(text) as Value };
}
