// Client of the console API: makes calls, turns refusals into errors, and observes whether the service
// answers. The session is a cookie that scripts cannot read.

import type { ConsoleAnswer, ConsoleAnswers } from '../../contract/console.ts';
import type { Approval } from '../../contract/resource.ts';
import { consolePath, MOUNT } from '../format/console-path.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Path that the service answers for this method, with or without a query. */
export type PathOf<M extends Method> = WithQuery<
  keyof ConsoleAnswers extends infer Endpoint
    ? Endpoint extends `${M} ${infer Path}`
      ? Path
      : never
    : never
>;

/** Answer of the service to a request, as the contract names it. */
export type AnswerTo<M extends Method, Path extends string> = Path extends `${infer Bare}?${string}`
  ? ConsoleAnswer<`${M} ${Bare}`>
  : ConsoleAnswer<`${M} ${Path}`>;

type WithQuery<Path extends string> = Path | `${Path}?${string}`;

/** Path of the console API; the endpoint's path follows. */
export const API = `${consolePath.home}/api/`;
/** Longest wait for the answer to a read; after it, the page shows that the connection hangs. */
const READ_MS_MAX = 10_000;
/** Longest wait for the answer to a write, which may wait for other writes. */
const WRITE_MS_MAX = 30_000;

/** Called when the session has ended (true) or its role no longer suffices (false). */
let onRefused: (isSignedOut: boolean) => void = () => undefined;
/** Number of sessions opened so far, so that the refusal of a request from an earlier one can be ignored. */
let sessionCount = 0;
/** Calls that open a session; for these, a 401 means wrong credentials, not an ended session. */
const OPENS_SESSION =
  /^(?:session(?:\/passkey)?|setup|invitation|password-reset|recovery|oidc\/join)$/;

/** Sends a request and returns the answer's JSON. Rejects with an `ApiError` for refusals and outages. */
export async function call<M extends Method, Path extends PathOf<M>>(
  method: M,
  path: Path,
  body?: unknown,
): Promise<AnswerTo<M, Path>> {
  return JSON.parse(await callForText(method, path, body)) as AnswerTo<M, Path>;
}

/** Sends a request and returns the answer's text; equal texts are equal answers. */
export async function callForText(method: Method, path: string, body?: unknown): Promise<string> {
  const opensSession = method === 'POST' && OPENS_SESSION.test(path);
  const session = sessionCount;
  const response = await reach(method, path, body);
  const text = await textOf(response, method);
  // Thrown, because callers would read the answer as that of a change that was made.
  const waiting = response.status === ACCEPTED ? readWaiting(text) : undefined;
  if (waiting !== undefined) throw new ApiError(ACCEPTED, WAITS, { waiting });
  if (response.ok && opensSession) sessionCount += 1;
  if (response.ok) return text === '' ? '{}' : text;
  if (response.status === 401 && !opensSession) noteSignedOut(session);
  if (response.status === 403) onRefused(false);
  const message = readError(text) ?? `The service answered ${response.status}`;
  throw new ApiError(response.status, message, { waitSeconds: waitOf(response) });
}

/** Returns the seconds after which the service accepts the request again; undefined if it names none. */
function waitOf(response: Response): number | undefined {
  const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds : undefined;
}

/** Reads the answer's text, within the time limit of the request. */
async function textOf(response: Response, method: Method): Promise<string> {
  try {
    return await response.text();
  } catch {
    throw method === 'GET' ? noteOutage(SILENT) : new ApiError(0, UNSURE);
  }
}

/** Returns only the status of a read; 0 if the service cannot be reached. */
export async function statusOf(path: string): Promise<number> {
  try {
    const { status } = await fetch(API + path, { method: 'HEAD', credentials: 'same-origin' });
    return status;
  } catch {
    return 0;
  }
}

/** Returns the number of the present session, for `noteSignedOut`. */
export function presentSession(): number {
  return sessionCount;
}

/** Reports that a session has ended; has no effect if another one has been opened since. */
export function noteSignedOut(session: number): void {
  if (session === sessionCount) onRefused(true);
}

/** Sets the listener for an ended session, or a role that no longer suffices. */
export function whenRefused(listener: (isSignedOut: boolean) => void): void {
  onRefused = listener;
}

const ACCEPTED = 202;
const WAITS = 'Nothing is done yet: it waits for a second person';
const UNREACHABLE = 'The service cannot be reached. Your connection, or the service, is down.';
const SILENT = 'The service does not answer. Your connection, or the service, hangs.';
const UNSURE =
  'The service did not answer in time. It may have done it all the same: look before you try again.';

async function reach(method: Method, path: string, body: unknown): Promise<Response> {
  const isRead = method === 'GET';
  const signal = AbortSignal.timeout(isRead ? READ_MS_MAX : WRITE_MS_MAX);
  try {
    const response = await fetch(API + path, {
      method,
      signal,
      credentials: 'same-origin',
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    });
    connection.note(undefined);
    return response;
  } catch {
    if (!signal.aborted) throw noteOutage(UNREACHABLE);
    throw isRead ? noteOutage(SILENT) : new ApiError(0, UNSURE);
  }
}

/** Records an outage, and returns its error. */
function noteOutage(reason: string): ApiError {
  connection.note(reason);
  return new ApiError(0, reason, { isOutage: true });
}

function readError(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the id of the approval that a call waits for; undefined for a message that was accepted. */
function readWaiting(text: string): string | undefined {
  const { approval } = JSON.parse(text) as { readonly approval?: Pick<Approval, 'id'> };
  return approval?.id;
}

/** Error for a refusal or fault of the service, with the service's message. */
export class ApiError extends Error {
  /** HTTP status of the answer; 0 without an answer. */
  readonly status: number;
  /** Whether the service could not be reached; the error is obsolete once the service answers. */
  readonly isOutage: boolean;
  /** Id of the approval that the call waits for; undefined for any other error. */
  readonly waiting: string | undefined;
  /** Seconds after which to try again; undefined if unknown. */
  readonly waitSeconds: number | undefined;

  constructor(
    status: number,
    message: string,
    {
      isOutage = false,
      waiting,
      waitSeconds,
    }: { isOutage?: boolean; waiting?: string; waitSeconds?: number | undefined } = {},
  ) {
    super(message);
    this.status = status;
    this.isOutage = isOutage;
    this.waiting = waiting;
    this.waitSeconds = waitSeconds;
  }

  /** Returns the message to display: the service's own, and for a 429 also when to try again. */
  get advice(): string {
    if (this.status === 429) return `${this.message}. Try again ${waitText(this.waitSeconds)}.`;
    return this.message;
  }
}

/** Returns when to try again: `in 15 minutes`, rounded up. */
function waitText(seconds: number | undefined): string {
  if (seconds === undefined) return 'in a moment';
  const [count, unit] = seconds < 90 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute'];
  return `in ${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Reads the messages of `/readyz` about stores that are away or refuse writes; none if a proxy hides it. */
export async function readDegraded(): Promise<readonly string[]> {
  try {
    const signal = AbortSignal.timeout(READ_MS_MAX);
    const response = await fetch(`${MOUNT}/readyz`, { signal, credentials: 'omit' });
    const { degraded = [] } = (await response.json()) as {
      readonly degraded?: readonly { readonly message: string }[];
    };
    return degraded.map(({ message }) => message);
  } catch {
    return [];
  }
}

// State of the connection to the service, observed with every request: the page shows one notice for an
// outage, and repeats failed reads when the outage ends.

type Listener = () => void;

let outage: string | undefined;
const listeners = new Set<Listener>();

export const connection = {
  /** Returns the sentence for the present outage; undefined while the service answers. */
  outage: (): string | undefined => outage,

  /** Records that the service answered (undefined), or why it did not. */
  note(reason: string | undefined): void {
    if (outage === reason) return;
    outage = reason;
    for (const listener of listeners) listener();
  },

  /** Calls the listener when an outage begins, changes or ends. Returns a function that stops this. */
  onChange(listener: Listener): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },

  /** Calls the listener when an outage ends. Returns a function that stops this. */
  onRecovery(listener: Listener): () => void {
    return connection.onChange(() => {
      if (outage === undefined) listener();
    });
  },
};

/** Name of a release: its app's ref, its channel, and its version as published. */
export type ReleaseName = {
  readonly app: string;
  readonly channel: string;
  readonly version: string;
};
