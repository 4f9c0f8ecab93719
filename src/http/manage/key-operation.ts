// Declarations of the management API's operations. From one declaration come the route, the check of what is
// sent, the description in the OpenAPI document and, for what people may do as well, the routes of the
// console API.

import { z } from 'zod';
import type { Caller, Principal } from '../../access/api-keys.ts';
import type { AskedOperation } from '../../contract/approval.ts';
import type { ConsoleAnswers } from '../../contract/console.ts';
import type { Effect, Finding } from '../../contract/dry-run.ts';
import { type FailureKind, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { KeyRight, Release } from '../../contract/resource.ts';
import type { ReportFleetDependencies } from '../../fleet/fleet-views.ts';
import type { Approvals } from '../../publishing/approvals.ts';
import type { DryRun } from '../../publishing/dry-run.ts';
import type { PropagateChange } from '../../publishing/propagate-change.ts';
import type { ExplainDecision } from '../../serving/explain-decision.ts';
import type { PlanWave } from '../../serving/fleet-decisions.ts';
import type { ReadStandings } from '../../serving/read-standings.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { RepeatableCall } from '../../store/ledger-terms.ts';
import type { Exchange } from '../exchange.ts';
import { jsonReply, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import { ANSWER_SHAPES } from '../shape/answer-shape.ts';
import { textField } from '../shape/field.ts';
import { jsonAnswer, type Operation, type Parameters } from '../shape/operation.ts';
import { noteApp, parseBody, parseShape } from '../shape/parse-shape.ts';
import { readRepeatableCall } from './guard.ts';

/** What releases are changed with, by a key or by a person. */
export type ChangeServices = {
  readonly ledger: Ledger;
  readonly propagate: PropagateChange;
  readonly dryRun: DryRun;
  readonly approvals: Approvals;
  /** Seconds after which a device that asks again is written down again. */
  readonly freshnessSeconds: number;
};

/** What the operations of the management API work with. */
export type Services = ChangeServices &
  ReportFleetDependencies & {
    readonly planWave: PlanWave;
    readonly explainer: ExplainDecision;
    readonly standings: ReadStandings;
  };

/** Operation for callers with a key. */
export type KeyOperation = Operation & {
  /** Right that the key needs, or any of those that the function returns. */
  readonly right: KeyRight | ((exchange: Exchange) => readonly KeyRight[]);
  /** Limits of the body, and whether there is a dry run. */
  readonly limits?: Pick<Route, 'bodyBytesMax' | 'bodyMsMax' | 'hasDryRun'> | undefined;
  readonly serve: (
    services: Services,
    caller: Caller,
    exchange: Exchange,
  ) => Promise<Outcome<Reply, FailureKind>>;
  /** Routes of the console API by which people do the same. */
  readonly sessionRoutes?: readonly SessionRoute[];
};

/** Route of the console API for a change of a release, or for a dry run of it. */
export type SessionRoute = {
  readonly endpoint: Endpoint;
  /** Shape of the body. */
  readonly input: z.ZodType<NamesApp>;
  readonly status: number;
  readonly run: Work<never, object>;
  /** Operation that an approval carries out by this route; undefined for what never waits. */
  readonly asks?: AskedOperation;
};

/** Endpoint of the console API: its method, and its path below `/console/api/`. */
export type Endpoint = keyof ConsoleAnswers & string;
type DryRunEndpoint = Extract<Endpoint, `POST releases/rehearse${string}`>;
type NamesApp = { readonly app: string };

/** Work of a change, for a key or a person. */
type Work<Body, Answer> = (
  services: ChangeServices,
  who: Principal,
  body: Body,
  repeatable?: RepeatableCall,
) => Promise<Outcome<Answer, FailureKind>>;

type Declared = Omit<Operation, 'tag' | 'isGuarded' | 'body'>;

/** Value as it is answered: nobody changes it. */
type Answered<Value> = unknown extends Value
  ? Value
  : { readonly [Key in keyof Value]: Answered<Value[Key]> };

/** Declares an operation that reads. */
export function read<Shape extends z.ZodObject, Answer extends z.ZodType<object>>(
  declared: Omit<Declared, 'method' | 'answers'> & {
    /** Answer in words, and its shape. */
    readonly answer: readonly [description: string, shape: Answer];
    readonly tag?: Operation['tag'];
    /** Right that the key needs; `read` by default. */
    readonly right?: KeyOperation['right'];
    /** Shape of the parameters in the path and the query. */
    readonly input: Shape;
    /** Returns the parameters of a query; by default the last one of each name. */
    readonly gather?: (queryText: string) => Readonly<Record<string, unknown>>;
    readonly run: (
      services: Services,
      caller: Caller,
      input: z.output<Shape>,
      exchange: Exchange,
    ) => Promise<Outcome<Answered<z.output<Answer>>, FailureKind>>;
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

/** Returns the parameters of a query by their names: the last one of each. */
export function lastOfEach(queryText: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(new URLSearchParams(queryText));
}

/** Declares an operation with a body that programs call, and people do not. */
export function call<Body>(
  declared: Declared & {
    readonly tag: Operation['tag'];
    readonly right: KeyRight;
    readonly limits?: KeyOperation['limits'];
    /** Shape of the body. */
    readonly input: z.ZodType<Body>;
    readonly run: (
      services: Services,
      caller: Caller,
      body: Body,
    ) => Promise<Outcome<Reply, FailureKind>>;
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

type DeclaredChange<Body, Session extends Endpoint, Preview extends DryRunEndpoint> = Declared & {
  readonly right: KeyRight;
  /** Shape of the body. */
  readonly input: z.ZodType<Body>;
  /** Endpoint for people, and the shape of its body where they may say more. */
  readonly session: { readonly endpoint: Session; readonly input?: z.ZodType<Body> };
  /** Status of the change; 200 by default. */
  readonly status?: number;
  /** Whether a call may carry an idempotency key. */
  readonly isRepeatable?: true;
  /** Name by which the call is stored when it has to wait for an approval; undefined for what never waits. */
  readonly asks?: AskedOperation;
  readonly run: Work<Body, ConsoleAnswers[Session]>;
  /** Finds what a dry run of it would find, for a call that publishes a release and asks for that. */
  readonly finds?: Work<Body, readonly Finding[]>;
  readonly dryRun?: {
    /** Endpoint for people. */
    readonly endpoint: Preview;
    /** Answer to a key, in words. */
    readonly tells: string;
    readonly run: Work<Body, ConsoleAnswers[Preview]>;
  };
};

/** Declares a change of a release, which programs make with a key, and people in the console. */
export function change<
  Body extends NamesApp,
  Session extends Endpoint,
  Preview extends DryRunEndpoint = never,
>(declared: DeclaredChange<Body, Session, Preview>): KeyOperation {
  const {
    input,
    session,
    status = 200,
    isRepeatable,
    asks,
    finds,
    dryRun,
    ...described
  } = declared;
  const run = asks === undefined ? declared.run : waiting(asks, declared.run, dryRun?.run);
  return {
    ...{ tag: 'Releases', isGuarded: true, body: input },
    ...described,
    ...(asks && { answers: { ...described.answers, 202: WAITING } }),
    ...(dryRun && { limits: { hasDryRun: true }, parameters: queryOf(dryRun.tells, finds) }),
    ...(isRepeatable && { headers: IDEMPOTENCY }),
    async serve(services, caller, exchange) {
      const body = await parseBody(exchange, input);
      if (isFailure(body)) return body;
      const wish = readWish(exchange.queryText, { dryRun, finds });
      if (isFailure(wish)) return wish;
      if (dryRun && wish.dryRun) {
        return dryRunReply(caller, await dryRun.run(services, caller, body));
      }
      const repeatable = isRepeatable && (await readRepeatableCall(caller, exchange));
      if (isFailure(repeatable)) return repeatable;
      const found = finds && wish.findings ? await finds(services, caller, body) : undefined;
      const changed = await run(services, caller, body, repeatable);
      if (isFailure(changed)) {
        const isFound = changed.approval !== undefined && found && !isFailure(found);
        return isFound ? { ...changed, findings: found } : changed;
      }
      const { answer, headers } = withoutMark(changed);
      const told = found && { findings: await toldFindings(services, found, answer) };
      return { ...jsonReply(status, { ...answer, ...told }), headers };
    },
    sessionRoutes: [
      {
        ...{ endpoint: session.endpoint, input: session.input ?? input, status },
        ...(asks && { asks }),
        run: async (services, who, body) => {
          const changed = await run(services, who, body);
          return isFailure(changed) ? changed : withoutMark(changed).answer;
        },
      },
      ...(dryRun ? [{ ...dryRun, input, status: 200 }] : []),
    ],
  };
}

/** Answer of a call that waits for an approval. */
export const WAITING = jsonAnswer(
  'Nothing is done yet: the channel asks for approvals, and another member has to approve this.',
  ANSWER_SHAPES.ApprovalAnswer,
);

/**
 * Returns the work of a change that may have to wait: its call is stored with its body, and answered with the
 * effect that its dry run measures.
 */
export function waiting<Body extends object, Answer>(
  operation: AskedOperation,
  run: Work<Body, Answer>,
  dryRun?: Work<Body, { readonly effect: Effect }>,
): Work<Body, Answer> {
  return async (services, who, body, repeatable) => {
    const reason = 'reason' in body && typeof body.reason === 'string' ? body.reason : undefined;
    const asking = { ...who, actor: { ...who.actor, asks: { operation, body, reason } } };
    const outcome = await run(services, asking, body, repeatable);
    return services.approvals.complete(outcome, dryRun && (() => dryRun(services, who, body)));
  };
}

/**
 * Splits what a change answers from the mark that an earlier call with the same idempotency key made it,
 * which a header tells.
 */
function withoutMark({
  isRepeated,
  ...answer
}: object & { readonly isRepeated?: boolean }): Required<Pick<Reply, 'headers'>> & {
  readonly answer: object;
} {
  return { answer, headers: isRepeated ? [['Idempotent-Replayed', 'true']] : [] };
}

/**
 * Returns the reply of a dry run to a key: what the document names, with devices only where the key may read.
 */
function dryRunReply(
  { may }: Caller,
  outcome: Outcome<object & { readonly runners?: unknown; readonly effect: Effect }, FailureKind>,
): Outcome<Reply, FailureKind> {
  if (isFailure(outcome)) return outcome;
  const { runners: _, effect, ...answer } = outcome;
  const examples = may.includes('read') ? effect.examples : { gain: [], lose: [] };
  return jsonReply(200, { ...answer, effect: { ...effect, examples } });
}

/**
 * Returns what was found before a release was published. A repeated call finds nothing before, because the
 * release is there: then the one that stands is looked at.
 */
async function toldFindings(
  { dryRun }: ChangeServices,
  found: Outcome<readonly Finding[], FailureKind>,
  answer: { readonly release?: Release },
): Promise<readonly Finding[]> {
  if (!isFailure(found)) return found;
  return answer.release === undefined ? [] : dryRun.findStanding(answer.release);
}

const flagField = z.enum(['true', 'false']);
const flag = flagField.default('false').transform((text) => text === 'true');

const wishShape = z.object({ dryRun: flag, findings: flag });

/** Reads whether a call is to write nothing, and whether to tell findings, where it offers that. */
function readWish(
  queryText: string,
  { dryRun, finds }: { readonly dryRun?: unknown; readonly finds?: unknown },
): Outcome<z.output<typeof wishShape>, 'invalid'> {
  const given = lastOfEach(queryText);
  return parseShape(wishShape, {
    ...(dryRun !== undefined && { dryRun: given.dryRun }),
    ...(finds !== undefined && { findings: given.findings }),
  });
}

function queryOf(tells: string, finds: unknown): Parameters {
  const dryRun = `With \`true\` nothing is written: the answer tells ${tells}.`;
  const findings = 'With `true` the answer has `findings`: what a dry run would find.';
  return {
    dryRun: flagField.optional().describe(dryRun),
    ...(finds ? { findings: flagField.optional().describe(findings) } : {}),
  };
}
