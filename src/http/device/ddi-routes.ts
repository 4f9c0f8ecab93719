// What devices that speak DDI tell: attributes, feedback about actions, and answers to cancellations
// (docs/contract.md 34).

import {
  FAILURES,
  type Failure,
  fail,
  failUntil,
  isFailure,
  type Outcome,
} from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { Unavailable } from '../../contract/store-fault.ts';
import { NETWORK_WORDS, writeNetwork } from '../../domain/fleet/network-words.ts';
import { demandWithin } from '../../flow/within-time.ts';
import type { Log } from '../../observe/log.ts';
import type { ReceiveReports, Reporter } from '../../serving/receive-reports.ts';
import { type DdiResource, RAUC_AGENT } from '../../updater/ddi.ts';
import { clientAddress } from '../transport/client-address.ts';
import type { Exchange } from '../transport/exchange.ts';
import { failureReply, NO_STORE, type Reply, replyHead } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import {
  type AdmittedDevice,
  askerOf,
  type DdiAdmission,
  type DdiAsked,
  ddiRefusal,
  readAsked,
} from './ddi-admission.ts';

export type DdiReportDependencies = {
  readonly admission: DdiAdmission;
  readonly reports: ReceiveReports;
  /** Number of proxies whose entries in `X-Forwarded-For` are trusted. */
  readonly trustProxy: number;
  readonly log: Pick<Log, 'error'>;
};

const METHODS = ['PUT', 'POST'] as const;
/**
 * Longest wait until a closing that was received is kept: rauc-hawkbit-updater repeats a 429, and nothing
 * else.
 */
const CLOSING_MS_MAX = 1500;
const RETRY_MS = 1000;
/** Answer to all reports, whose head is made once: each header is a call into uWebSockets.js. */
const DONE: Reply = { status: 200, head: replyHead(200, NO_STORE), body: '' };
const NOT_KEPT = ddiRefusal({
  ...failUntil('rateLimited', RETRY_MS),
  message: FAILURES.unavailable,
});

/** Builds the routes, one for each method; that of GET stands for those that bypass the router. */
export function ddiRoutes(path: string, dependencies: DdiReportDependencies): readonly Route[] {
  const reports = new DdiReports(dependencies);
  return [
    { method: 'GET', path, handler: () => failureReply(fail('notFound')) },
    ...METHODS.map((method): Route => {
      const body = { bodyBytesMax: LIMIT.ddiBodyBytesMax, bodyBudget: 'unverified' } as const;
      const handler = (exchange: Exchange) => reports.answer(exchange);
      return { method, path, ...body, hasDryRun: 'ignored', handler };
    }),
  ];
}

class DdiReports {
  constructor(private readonly dependencies: DdiReportDependencies) {}

  async answer(exchange: Exchange): Promise<Reply> {
    const asked = readAsked(exchange.path, exchange.method);
    if ('status' in asked) return asked;
    const { resource } = asked;
    const reporter = this.admit(exchange, asked);
    if (!(reporter instanceof Promise)) return this.receive(exchange, resource, reporter);
    const answered = reporter.then((each) => this.receive(exchange, resource, each));
    return resource.kind === 'feedback' ? this.inTime(answered) : answered;
  }

  private admit(exchange: Exchange, { address }: DdiAsked) {
    const { headers } = exchange;
    const authorization = headers.get('authorization') ?? '';
    const admitted = this.dependencies.admission.admit(address, authorization, true);
    const reporterOf = (device: Outcome<AdmittedDevice>) =>
      isFailure(device) ? device : this.reporterOf(exchange, address, device);
    return admitted instanceof Promise ? admitted.then(reporterOf) : reporterOf(admitted);
  }

  private reporterOf(
    { headers, remoteAddress }: Exchange,
    address: DdiAsked['address'],
    device: AdmittedDevice,
  ): Outcome<Reporter> {
    const forwarded = headers.get('x-forwarded-for') ?? '';
    const client = clientAddress(remoteAddress, forwarded, this.dependencies.trustProxy);
    const network = new Int32Array(NETWORK_WORDS);
    writeNetwork(client, network);
    const isRauc = headers.get('user-agent')?.startsWith(RAUC_AGENT) ?? false;
    const asker = askerOf(address, device, { network, isRauc });
    return isFailure(asker) ? asker : { ...device, asker, client };
  }

  private async receive(
    exchange: Exchange,
    resource: DdiResource,
    reporter: Outcome<Reporter>,
  ): Promise<Reply> {
    if (isFailure(reporter)) return refusalOf(resource, reporter);
    const body = await exchange.body;
    if (isFailure(body)) return refusalOf(resource, body);
    const text = body.toString('utf8');
    const { reports } = this.dependencies;
    switch (resource.kind) {
      case 'attributes': {
        const refused = await reports.attributes(reporter, text);
        return refused === undefined ? DONE : ddiRefusal(refused);
      }
      case 'feedback': {
        const kept = reports.feedback(reporter, resource.id, text);
        return kept === undefined ? DONE : this.inTime(kept.then(() => DONE));
      }
      case 'cancelFeedback':
        await reports.cancelFeedback(reporter, resource.id, text);
        return DONE;
      default:
        throw new Error(`${resource.kind} is no report`);
    }
  }

  /** Answers feedback that cannot be kept in time with 429, whatever the reason. */
  private async inTime(answered: Promise<Reply>): Promise<Reply> {
    const late = () => new Unavailable('process', 'a report could not be kept in time');
    try {
      return await demandWithin(answered, CLOSING_MS_MAX, late);
    } catch (error) {
      if (!(error instanceof Unavailable)) {
        this.dependencies.log.error({ err: error }, 'a report of a device could not be kept');
      }
      return NOT_KEPT;
    }
  }
}

/** Returns the refusal of a report: feedback gets no 5xx. */
function refusalOf({ kind }: DdiResource, failure: Failure): Reply {
  const reply = ddiRefusal(failure);
  return kind === 'feedback' && reply.status >= 500 ? NOT_KEPT : reply;
}
