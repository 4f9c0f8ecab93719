// Declarations of the management API's operations. One declaration yields the route, the validation of its
// input, the description in the OpenAPI document and, for an operation that people may call as well, the
// routes of the console API.

import { z } from 'zod';
import type { Caller, Principal } from '../../access/api-keys.ts';
import { ANSWER_SHAPES, type Answered } from '../../contract/answer-shape.ts';
import type { ConsoleAnswers } from '../../contract/console.ts';
import type { Effect, Finding } from '../../contract/dry-run.ts';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { AskedOperation, KeyRight, Release } from '../../contract/resource.ts';
import type { DdiTokens } from '../../fleet/ddi-tokens.ts';
import type { ReportFleetDependencies } from '../../fleet/fleet-views.ts';
import type { Approvals } from '../../publishing/approvals.ts';
import type { Calling, Changes, Made, Tried } from '../../publishing/changes.ts';
import type { ReleaseRetries } from '../../publishing/release-retries.ts';
import type { ExplainDecision } from '../../serving/explain-decision.ts';
import type { WavePlanner } from '../../serving/fleet-decisions.ts';
import type { StandingReader } from '../../serving/read-standings.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { ApprovingCall, RunChange } from '../../store/ledger-terms.ts';
import type { Exchange } from '../transport/exchange.ts';
import { jsonReply, type Reply } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import { textField } from './field.ts';
import { readRepeatableCall } from './guard.ts';
import { jsonAnswer, type Operation, type Parameters } from './operation.ts';
import { noteApp, parseBody, parseShape } from './parse-shape.ts';

/** Services that changes of releases need, by a key or by a person. */
export type ChangeServices = {
  readonly ledger: Ledger;
  readonly changes: Changes;
  readonly approvals: Approvals;
  /** Seconds for which unchanged check-ins of a device are not recorded again (DEVICE_FRESHNESS_SECONDS). */
  readonly freshnessSeconds: number;
};

/** Services that the operations of the management API need. */
export type Services = ChangeServices &
  ReportFleetDependencies & {
    readonly planWave: WavePlanner;
    readonly explainer: ExplainDecision;
    readonly standings: StandingReader;
    readonly ddiTokens: DdiTokens;
    readonly retries: ReleaseRetries;
  };

/** Operation for callers with a key. */
export type KeyOperation = Operation & {
  /** Right that the key needs; a function returns several, of which one suffices. */
  readonly right: KeyRight | ((exchange: Exchange) => readonly KeyRight[]);
  /** Limits of the body, and whether the operation has a dry run. */
  readonly limits?: Pick<Route, 'bodyBytesMax' | 'bodyMsMax' | 'hasDryRun'> | undefined;
  readonly serve: (
    services: Services,
    caller: Caller,
    exchange: Exchange,
  ) => Promise<Outcome<Reply>>;
  /** Routes of the console API by which people call the operation. */
  readonly sessionRoutes?: readonly SessionRoute[];
};

/** Route of the console API for a change of a release, or for a dry run of it. */
export type SessionRoute = {
  readonly endpoint: Endpoint;
  /** Shape of the body. */
  readonly input: z.ZodType<NamesApp>;
  readonly status: number;
  readonly run: Work<never>;
  /** Change that an approval can carry out; undefined if it never waits. */
  readonly asks?: AskedChange | undefined;
};

/** Change whose call may be stored, and is run when somebody approves it. */
export type AskedChange = {
  readonly operation: AskedOperation;
  /** Shape that parses the stored body. */
  readonly input: z.ZodType<object>;
  readonly run: Work<never>;
};

/** Endpoint of the console API: its method, and its path below `/console/api/`. */
export type Endpoint = keyof ConsoleAnswers & string;
type DryRunEndpoint = Extract<Endpoint, `POST releases/rehearse${string}`>;
type NamesApp = { readonly app: string };

/** Runs a call for a key or a person; `approves` names the request that it carries out. */
type Work<Body, Answer = object> = (
  services: ChangeServices,
  who: Principal,
  body: Body,
  approves?: ApprovingCall,
) => Promise<Outcome<Answer>>;

type Declared = Omit<Operation, 'tag' | 'isGuarded' | 'body'>;

/** Declares an operation that reads. */
export function read<Shape extends z.ZodObject, Answer extends z.ZodType<object>>(
  declared: Omit<Declared, 'method' | 'answers'> & {
    /** Description of the answer, and its shape. */
    readonly answer: readonly [description: string, shape: Answer];
    readonly tag?: Operation['tag'];
    /** Right that the key needs; `read` by default. */
    readonly right?: KeyOperation['right'];
    /** Shape of the parameters in the path and the query. */
    readonly input: Shape;
    /** Returns the parameters of a query; by default `lastOfEach`. */
    readonly gather?: (queryText: string) => Readonly<Record<string, unknown>>;
    readonly run: (
      services: Services,
      caller: Caller,
      input: z.output<Shape>,
      exchange: Exchange,
    ) => Promise<Outcome<Answered<z.output<Answer>>>>;
  },
): KeyOperation {
  const { answer: told, input, gather = lastOfEach, run, ...described } = declared;
  return {
    ...{ method: 'GET', tag: 'Reading', right: 'read', isGuarded: true, parameters: input.shape },
    answers: { 200: jsonAnswer(...told) },
    ...described,
    async serve(services, caller, exchange) {
      const given = gather(exchange.queryText);
      noteApp(exchange, given);
      const parsed = parseShape(input, { ...given, ...Object.fromEntries(exchange.params) });
      if (isFailure(parsed)) return parsed;
      const answer = await run(services, caller, parsed, exchange);
      return isFailure(answer) ? answer : jsonReply(200, answer);
    },
  };
}

/** Returns the parameters of a query by their names; of a repeated name, the last one. */
export function lastOfEach(queryText: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(new URLSearchParams(queryText));
}

/** Declares an operation with a body that only programs call. */
export function call<Body>(
  declared: Declared & {
    readonly tag: Operation['tag'];
    readonly right: KeyRight;
    readonly limits?: KeyOperation['limits'];
    /** Shape of the body. */
    readonly input: z.ZodType<Body>;
    readonly run: (services: Services, caller: Caller, body: Body) => Promise<Outcome<Reply>>;
  },
): KeyOperation {
  const { input, run, ...described } = declared;
  return {
    ...{ isGuarded: true, body: input },
    ...described,
    async serve(services, caller, exchange) {
      const body = await parseBody(exchange, input);
      return isFailure(body) ? body : run(services, caller, body);
    },
  };
}

const IDEMPOTENCY: Parameters = {
  'Idempotency-Key': textField(LIMIT.idempotencyKeyLengthMax)
    .optional()
    .describe('A call that is repeated with the same key within 24 hours is answered as before.'),
};

/** Answer to a dry run. */
type Rehearsed = object & { readonly effect: Effect };

/** Parts of a change that do not depend on the caller: its body, its call of the ledger, and its answer. */
type DeclaredMaking<Body, Input, Value, Answer = object> = {
  /** Shape of the body. */
  readonly input: z.ZodType<Body>;
  readonly by: (ledger: Ledger) => RunChange<Input, Value>;
  /** Converts a body to the input of the ledger's call. */
  readonly prepare: (body: Body, services: ChangeServices) => Outcome<Input>;
  readonly answer: (value: Value) => Answer;
  /** Operation under which the call is stored if it needs an approval; undefined if it never does. */
  readonly asks?: AskedOperation | undefined;
};

type DeclaredChange<Body, Input, Value, SessionBody> = Declared &
  DeclaredMaking<Body, Input, Value> & {
    readonly right: KeyRight;
    /** Endpoint for people; `input`: shape of its body if it has more fields, which `bodyOf` removes. */
    readonly session: {
      readonly endpoint: Endpoint;
      readonly input?: z.ZodType<SessionBody>;
      readonly bodyOf?: (body: SessionBody) => Body;
    };
    /** Status of the answer; 200 by default. */
    readonly status?: number;
    /** Whether a call may have an idempotency key. */
    readonly isRepeatable?: true;
    /** Whether a call may ask for findings in the release (`?findings=true`). */
    readonly hasFindings?: true;
    readonly dryRun?: {
      /** Endpoint for people. */
      readonly endpoint: DryRunEndpoint;
      /** What the answer to a key contains, for the OpenAPI document. */
      readonly tells: string;
      readonly answer: (tried: Tried<Value>) => Rehearsed;
    };
  };

/** Returns the functions that run a declared change: `make` and `run` for a call, `asks` for an approval. */
export function making<Body extends object, Input extends object, Value, Answer extends object>({
  input,
  by,
  prepare,
  answer,
  asks,
}: DeclaredMaking<Body, Input, Value, Answer>) {
  const make = async (
    services: ChangeServices,
    who: Principal,
    body: Body,
    calling: Calling,
  ): Promise<Outcome<Made<Value>>> => {
    const prepared = prepare(body, services);
    if (isFailure(prepared)) return prepared;
    const reason = 'reason' in body && typeof body.reason === 'string' ? body.reason : undefined;
    const asked = asks && { operation: asks, body };
    return services.changes.make(by(services.ledger), who, prepared, {
      ...{ ...calling, reason, asks: asked },
    });
  };
  const run: Work<Body, Answer> = async (services, who, body, approves) => {
    const made = await make(services, who, body, { approves });
    return isFailure(made) ? made : answer(made.value);
  };
  return { make, run, asks: asks && { operation: asks, input, run } };
}

/** Declares a change of releases that programs make with a key, and people in the console. */
export function change<Body extends object, Input extends object, Value, SessionBody extends Body>(
  declared: DeclaredChange<Body, Input, Value, SessionBody>,
): KeyOperation {
  const { by, prepare, answer, asks, session, dryRun, ...operation } = declared;
  const { input, status = 200, isRepeatable, hasFindings, ...described } = operation;
  const { bodyOf } = session;
  const stored = (bodyOf === undefined && session.input) || input;
  const { make, run, asks: asked } = making({ input: stored, by, prepare, answer, asks });
  const rehearse = async (services: ChangeServices, who: Principal, body: Body) => {
    const prepared = prepare(body, services);
    if (isFailure(prepared)) return prepared;
    const tried = await services.changes.try(by(services.ledger), who, prepared);
    if (isFailure(tried)) return tried;
    if (dryRun === undefined) throw new Error('This change has no dry run');
    return dryRun.answer(tried);
  };
  return {
    ...{ tag: 'Releases', isGuarded: true, body: input },
    ...described,
    ...(asks && { answers: { ...described.answers, 202: WAITING } }),
    ...(dryRun && { limits: { hasDryRun: true }, parameters: queryOf(dryRun.tells, hasFindings) }),
    ...(isRepeatable && { headers: IDEMPOTENCY }),
    async serve(services, caller, exchange) {
      const body = await parseBody(exchange, input);
      if (isFailure(body)) return body;
      const wish = readWish(exchange.queryText, { dryRun, hasFindings });
      if (isFailure(wish)) return wish;
      if (wish.dryRun) return dryRunReply(caller, await rehearse(services, caller, body));
      const repeat = isRepeatable && (await readRepeatableCall(caller, exchange));
      if (isFailure(repeat)) return repeat;
      const made = await make(services, caller, body, { repeat, isFinding: wish.findings });
      if (isFailure(made)) return made;
      const findings = wish.findings && { findings: await findingsIn(services, made) };
      const headers = made.isRepeated ? REPLAYED : [];
      return { ...jsonReply(status, { ...answer(made.value), ...findings }), headers };
    },
    sessionRoutes: [
      {
        ...{ endpoint: session.endpoint, input: namingApp(session.input ?? input), status },
        ...{
          run: (services, who, body: SessionBody) => run(services, who, bodyOf?.(body) ?? body),
        },
        asks: asked,
      },
      ...(dryRun
        ? [{ endpoint: dryRun.endpoint, input: namingApp(input), status: 200, run: rehearse }]
        : []),
    ],
  };
}

/** Returns the shape as one whose body names the app, as every body of the console API's changes does. */
function namingApp(shape: z.ZodType): z.ZodType<NamesApp> {
  return shape as z.ZodType<NamesApp>;
}

const REPLAYED = [['Idempotent-Replayed', 'true']] as const;

/** Answer to a call that waits for an approval. */
const WAITING = jsonAnswer(
  'Nothing is done yet: the channel asks for approvals, and another member has to approve this.',
  ANSWER_SHAPES.ApprovalAnswer,
);

/**
 * Returns the reply to a dry run with a key: without `runners`, which only the console gets, and with example
 * devices only if the key may read.
 */
function dryRunReply(
  { may }: Caller,
  outcome: Outcome<Rehearsed & { readonly runners?: unknown }>,
): Outcome<Reply> {
  if (isFailure(outcome)) return outcome;
  const { runners: _, effect, ...answer } = outcome;
  const examples = may.includes('read') ? effect.examples : { gain: [], lose: [] };
  return jsonReply(200, { ...answer, effect: { ...effect, examples } });
}

/**
 * Returns the findings in a release that was published; if an earlier call did that, those in its present
 * state.
 */
async function findingsIn(
  { changes }: ChangeServices,
  { value, findings }: Made<unknown>,
): Promise<readonly Finding[]> {
  return findings ?? changes.findStanding(value as Release);
}

const flagField = z.enum(['true', 'false']);
const flag = flagField.default('false').transform((text) => text === 'true');

const wishShape = z.object({ dryRun: flag, findings: flag });

/** Reads from a query whether to dry-run the call and whether to return findings, if the call has these. */
function readWish(
  queryText: string,
  { dryRun, hasFindings }: { readonly dryRun?: unknown; readonly hasFindings?: unknown },
): Outcome<z.output<typeof wishShape>> {
  const given = lastOfEach(queryText);
  return parseShape(wishShape, {
    ...(dryRun !== undefined && { dryRun: given.dryRun }),
    ...(hasFindings !== undefined && { findings: given.findings }),
  });
}

function queryOf(tells: string, hasFindings: true | undefined): Parameters {
  const dryRun = `With \`true\` nothing is written: the answer tells ${tells}.`;
  const findings = 'With `true` the answer has `findings`: what a dry run would find.';
  return {
    dryRun: flagField.optional().describe(dryRun),
    ...(hasFindings ? { findings: flagField.optional().describe(findings) } : {}),
  };
}
