// Faults of stores: the error of a store that is away, its words, and the checks of `sluice doctor`.

// Words for the faults of stores: which store, why, and what to do. `/readyz`, the log, the doctor and the
// 503 of publishers say them alike. They name no address and no account, because anybody may read `/readyz`.

/**
 * What cannot be used, by its role for a node. An edge's ledger is the service that it follows (`upstream`);
 * `process`: a queue of this process is full, and no store was asked.
 */
export type UnavailableStore = 'ledger' | 'engine' | 'upstream' | 'process';

/** Fault of a store: what is wrong, to be said after the store's name, and what to do. */
type FaultWords = { readonly why: string; readonly remedy: string };

const words = (why: string, remedy: string): FaultWords => ({ why, remedy });

const NAMES: Readonly<Record<UnavailableStore, string>> = {
  ledger: 'PostgreSQL',
  engine: 'Redis',
  upstream: 'the upstream',
  process: 'this process is busy',
};

const FULL = words('has no room left on its disk', 'make room');
const LOGIN = words('refuses the login', 'check the account and the password of the address');
const SLOW = words('does not answer in time', 'look at its load, and at the network on the way');
const LOST = words('has closed the connection', 'look at its log');
const REFUSED = words(
  'refuses the connection',
  'see that it runs, and that host and port are right',
);
const UNKNOWN_HOST = words('is at a host whose name is not known', 'check the host of the address');
const UNREACHABLE = words('is at a host that cannot be reached', 'look at the network on the way');
const STARTING = words('is starting or stopping', 'wait, or look at its log');
const STANDBY = words('is a standby, which refuses writes', 'let the address lead to the primary');
const MEMORY = words('has no memory left', 'give it more, or look for what fills it');
const UNWRITABLE = words('cannot write to its disk', 'make room there, and look at its log');
const READ_ONLY = words(
  'refuses writes: it is read-only, or a standby',
  'let the address lead to the primary, or make room: managed databases are read-only then',
);
const ALONE = words(
  'refuses writes: too few of its replicas are there',
  'look at its replicas, and at min-replicas-to-write',
);
const DENIED = words('refuses the account what it needs', 'grant it');

/** Words by the code of a system or SQLSTATE, or by its class (two characters). */
const BY_CODE: Readonly<Record<string, FaultWords>> = {
  '53100': FULL,
  '53200': MEMORY,
  '53300': words('takes no more connections', 'raise max_connections'),
  '28': LOGIN,
  '3D000': words(
    'has no database of this name',
    'check the address, or make it: createdb --owner=ACCOUNT NAME',
  ),
  '42501': DENIED,
  '55000': words(
    'lets nobody into the database',
    'wait for the restore to end, or allow it: ALTER DATABASE NAME ALLOW_CONNECTIONS true',
  ),
  '57014': SLOW,
  '55P03': words('has the row locked by another call', 'wait'),
  '57': STARTING,
  '25006': READ_ONLY,
  ENOSPC: FULL,
  EDQUOT: FULL,
  ECONNREFUSED: REFUSED,
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
  ETIMEDOUT: SLOW,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ECONNRESET: LOST,
  EPIPE: LOST,
};

/** Words by the text of a driver or of Redis, whose errors have no code. */
const BY_TEXT: readonly (readonly [RegExp, FaultWords])[] = [
  [/No space left on device/i, FULL],
  // Redis 6 says within a sentence what a command of a script was refused for.
  [/\bMISCONF\b/, UNWRITABLE],
  [/\bOOM\b|maxmemory/, MEMORY],
  [/\bREADONLY\b/, READ_ONLY],
  [/\bNOREPLICAS\b/, ALONE],
  [/^NOPERM/, DENIED],
  [/^(WRONGPASS|NOAUTH)|invalid password|username-password pair/, LOGIN],
  [/^LOADING/, words('is loading its data', 'wait')],
  [/^MASTERDOWN|takes writes|is a standby/, STANDBY],
  [/^CLUSTERDOWN/, words('has lost a part of its cluster', 'look at its nodes')],
  [/time(d)? ?out|timeout/i, SLOW],
  [/closed|terminated|not queryable|isn't writeable|ended/i, LOST],
];

/** Error whose message is already words that anybody may read, with what to do. */
export type ToldFault = { readonly told: FaultWords };

/** Returns the words for a fault: `PostgreSQL refuses the login`. `name` replaces that of the store. */
export function describeStoreFault(
  store: UnavailableStore,
  error: unknown,
  name: string = NAMES[store],
): string {
  // Sentences of our own, which name no address.
  if (typeof error === 'string') return `${name}: ${error}`;
  const why = wordsOf(error)?.why;
  if (why !== undefined) return `${name} ${why}`;
  // The messages of the upstream's client are sentences of our own as well.
  const isOwn = store === 'upstream' && error instanceof Error;
  return isOwn ? `${name}: ${error.message}` : `${name} cannot be used`;
}

/** Returns what an operator can do about a fault; undefined if only its log may tell. */
export function remedyOf(error: unknown): string | undefined {
  return wordsOf(error)?.remedy;
}

/** Returns whether a store refuses writes because its disk or memory is full. */
export function isFull(error: unknown): boolean {
  return [FULL, MEMORY, UNWRITABLE].some((each) => each === wordsOf(error));
}

/** Returns whether a store answered, and refuses writes or a right. */
export function refusesWrites(error: unknown): boolean {
  return isFull(error) || [READ_ONLY, ALONE, DENIED].some((each) => each === wordsOf(error));
}

function wordsOf(error: unknown): FaultWords | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('told' in error) return (error as ToldFault).told;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = BY_CODE[code] ?? BY_CODE[code.slice(0, 2)];
  return known ?? BY_TEXT.find(([text]) => text.test(error.message))?.[1];
}

// The error of every store that cannot be reached or does not answer in time. It says nothing about the data:
// the caller may try again after `Retry-After`.

export class Unavailable extends Error {
  readonly store: UnavailableStore;

  /**
   * The message is what anybody may read (`store-fault.ts`). `cause` is the driver's error, for the log, or a
   * sentence; that of another `Unavailable` is taken over, so that nothing is said twice. `name` replaces the
   * name of the store.
   */
  constructor(store: UnavailableStore, cause: unknown, name?: string) {
    const root = cause instanceof Unavailable ? cause.cause : describable(cause);
    const told =
      cause instanceof Unavailable ? cause.message : describeStoreFault(store, root, name);
    super(told, { cause: root });
    this.name = 'Unavailable';
    this.store = store;
  }

  /** What the driver said, for operators; undefined if that is the message. */
  get detail(): string | undefined {
    return this.cause instanceof Error ? this.cause.message.replace(/\s+/g, ' ') : undefined;
  }
}

/** Returns a handler of rejections that answers where a store is away, and passes any other error on. */
export function whenAway<Answer>(
  answer: (fault: Unavailable) => Answer,
): (error: unknown) => Answer {
  return (error) => {
    if (error instanceof Unavailable) return answer(error);
    throw error;
  };
}

/** The error of a store that answers, but belongs to another record than this node. */
export class OfAnotherRecord extends Unavailable {}

/** The error of a call to another database than before: whether it is the record is just being examined. */
export class Unexamined extends Unavailable {
  constructor() {
    super('ledger', 'the address leads to another database, which is being examined');
  }
}

/**
 * The error of a call that gave up waiting for a lock of another call. The store is available, and calls that
 * need other locks may succeed.
 */
export class LockedTooLong extends Unavailable {}

/** The error of a call that waited, or would have waited, too long in this process: no store was asked. */
export class Overloaded extends Unavailable {
  constructor(why: string) {
    super('process', why);
  }
}

/**
 * Returns an error with a message. A host with several IP addresses fails with an AggregateError, which has a
 * code but no message; its first error has one.
 */
function describable(error: unknown): unknown {
  if (error instanceof AggregateError && error.message === '') return error.errors[0] ?? error;
  return error;
}

// Output of `sluice doctor`: one line per check.

export type Diagnosis = { readonly checks: readonly Check[] };

export type Check = {
  /** Subject in kebab-case, such as `redis-memory`. */
  readonly name: string;
  /** False if the operator has to fix something. */
  readonly ok: boolean;
  /** What was found, and what to do about it; never a secret. */
  readonly message: string;
};

/** Returns a check without a problem. */
export function sound(name: string, message: string): Check {
  return { name, ok: true, message };
}

/** Returns a check with a problem that must be fixed. */
export function faulty(name: string, message: string): Check {
  return { name, ok: false, message };
}

/** Returns a check of a store that cannot be used: the words that all use, what it said, and what to do. */
export function unusable(
  name: string,
  { store, place }: { readonly store: UnavailableStore; readonly place: string },
  error: unknown,
): Check {
  const { message, detail, cause } =
    error instanceof Unavailable ? error : new Unavailable(store, error);
  const remedy = remedyOf(cause);
  const said = detail === undefined ? '' : ` (${detail})`;
  return faulty(name, `${message}, at ${place}${said}${remedy === undefined ? '' : `: ${remedy}`}`);
}
