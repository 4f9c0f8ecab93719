// Faults of stores: the error of an unavailable store, its words, and the checks of `sluice doctor`.

// Words for faults of stores: which store, why, and what to do. `/readyz`, the log, the doctor and the 503 to
// publishers use the same words. They name no address and no account, because anybody may read `/readyz`.

/**
 * What is unavailable, by its role for a node. `upstream`: the service that an edge follows, which is its
 * ledger; `process`: a queue of this process is full, and no store was asked.
 */
export type UnavailableStore = 'ledger' | 'engine' | 'upstream' | 'process';

/** Words for a fault: `why` continues a sentence that begins with the store's name; `remedy`: what to do. */
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

/** Words by the code of a system error, by SQLSTATE, or by the class of a SQLSTATE (two characters). */
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

/** Words by the message of errors without a known code, such as those of drivers and of Redis. */
const BY_TEXT: readonly (readonly [RegExp, FaultWords])[] = [
  [/No space left on device/i, FULL],
  // Redis 6 has this word within the message if it refuses a command of a script.
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

/** Error that has its own words for the fault, which anybody may read. */
export type ToldFault = { readonly told: FaultWords };

/** Returns the sentence for a fault: `PostgreSQL refuses the login`. `name` replaces the store's name. */
export function describeStoreFault(
  store: UnavailableStore,
  error: unknown,
  name: string = NAMES[store],
): string {
  // Texts are sentences of this service, which name no address.
  if (typeof error === 'string') return `${name}: ${error}`;
  const why = wordsOf(error)?.why;
  if (why !== undefined) return `${name} ${why}`;
  // The messages of the upstream's client are sentences of this service as well.
  const isOwn = store === 'upstream' && error instanceof Error;
  return isOwn ? `${name}: ${error.message}` : `${name} cannot be used`;
}

/** Returns what an operator can do about a fault; undefined if the fault is unknown. */
export function remedyOf(error: unknown): string | undefined {
  return wordsOf(error)?.remedy;
}

/** Returns whether a store refuses writes because its disk or memory is full. */
export function isFull(error: unknown): boolean {
  return [FULL, MEMORY, UNWRITABLE].some((each) => each === wordsOf(error));
}

/** Returns whether a store answered, but refuses writes, or refuses the account a right. */
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

// The error of every store that cannot be reached or does not answer in time. It says nothing about the data,
// nor whether a write took place: the caller may try again after `Retry-After`.

export class Unavailable extends Error {
  readonly store: UnavailableStore;

  /**
   * The message is the sentence of `describeStoreFault`, which anybody may read. `cause` is the driver's
   * error, for the log, or a sentence; of another `Unavailable`, message and cause are copied. `name`
   * replaces the name of the store.
   */
  constructor(store: UnavailableStore, cause: unknown, name?: string) {
    const root = cause instanceof Unavailable ? cause.cause : describable(cause);
    const told =
      cause instanceof Unavailable ? cause.message : describeStoreFault(store, root, name);
    super(told, { cause: root });
    this.name = 'Unavailable';
    this.store = store;
  }

  /** Message of the driver, for operators; undefined if the cause is a sentence. */
  get detail(): string | undefined {
    return this.cause instanceof Error ? this.cause.message.replace(/\s+/g, ' ') : undefined;
  }
}

/** Returns a handler of rejections: calls `answer` for an unavailable store, rethrows other errors. */
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

/** The error of a call to another database than before, while the node examines whether it is the record. */
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

/** The error of a call that waited, or would have to wait, too long in this process: no store was asked. */
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

/** Returns the check of a store that cannot be used: the sentence, the driver's message, and what to do. */
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
