// What devices that speak DDI read: their polls, their actions and cancellations (docs/contract.md 34). Most
// requests of a fleet are polls, so these bypass the router, and wait for the device's actions alone.

import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { DdiAsker } from '../../serving/ddi-queries.ts';
import type { PollActions } from '../../serving/poll-actions.ts';
import { actionDocument, cancelDocument, pollDocument, RAUC_AGENT } from '../../updater/ddi.ts';
import { AMBIGUOUS_BODY, isBodyAmbiguous, readHeaders } from '../transport/exchange.ts';
import type { HttpRequest } from '../transport/http-app.ts';
import { NO_STORE, type Reply, replyHead } from '../transport/reply.ts';
import type { Traffic } from '../transport/request-observation.ts';
import {
  type AdmittedDevice,
  askerOf,
  type DdiAdmission,
  type DdiAsked,
  ddiRefusal,
  readAsked,
} from './ddi-admission.ts';
import type { DeviceGate } from './device-gate.ts';
import type { DeviceRequest } from './device-question.ts';
import { DirectRoute } from './direct-route.ts';

export type DdiPollDependencies = {
  readonly admission: DdiAdmission;
  readonly gate: Pick<DeviceGate, 'networkOf'>;
  readonly polls: PollActions;
  /** `PUBLIC_URL`; undefined if it is not set. */
  readonly publicUrl: string | undefined;
  /** Number of proxies whose entries in `X-Forwarded-For` are trusted. */
  readonly trustProxy: number;
  readonly traffic: Traffic;
};

type Said = Pick<DdiAsker, 'network' | 'isRauc'> & {
  /** What links begin with. */
  readonly origin: string;
};

/** A host with or without a port, as links can have it. */
const HOST = /^[\w.-]+(?::\d{1,5})?$|^\[[0-9a-f:.]+\](?::\d{1,5})?$/i;
/** Headers of which each line counts: those that say where a body ends, and the credential. */
const MISLEADING = ['content-length', 'transfer-encoding', 'authorization'];
/** Head of the answers, made once: each header is a call into uWebSockets.js. */
const FOUND_HEAD = replyHead(200, [...NO_STORE, ['Content-Type', 'application/json']]);

export class DdiPollRoute extends DirectRoute {
  private readonly publicOrigin: string | undefined;

  constructor(
    route: string,
    private readonly dependencies: DdiPollDependencies,
  ) {
    super(route, dependencies.traffic);
    this.publicOrigin = dependencies.publicUrl?.replace(/\/$/, '');
  }

  protected override serve(request: DeviceRequest, req: HttpRequest): void {
    const headers = this.headersOf(req);
    if (headers !== undefined && isBodyAmbiguous(headers)) {
      return this.close(request, AMBIGUOUS_BODY);
    }
    const header = (name: string) => headers?.get(name) ?? req.getHeader(name);
    const asked = readAsked(request.path, 'GET');
    if ('status' in asked) return this.answer(request, asked);
    const { admission, gate } = this.dependencies;
    const admitted = admission.admit(asked.address, header('authorization'), false);
    if (isFailure(admitted)) return this.answer(request, ddiRefusal(admitted));
    const said: Said = {
      network: gate.networkOf(request.res, req),
      isRauc: header('user-agent').startsWith(RAUC_AGENT),
      origin: this.publicOrigin ?? this.originBy(header),
    };
    this.answerLater(request, () => this.reply(admitted, asked, said));
  }

  private async reply(
    admitted: Outcome<AdmittedDevice> | Promise<Outcome<AdmittedDevice>>,
    { address, resource }: DdiAsked,
    said: Said,
  ): Promise<Reply> {
    const device = admitted instanceof Promise ? await admitted : admitted;
    if (isFailure(device)) return ddiRefusal(device);
    const asker = askerOf(address, device, said);
    if (isFailure(asker)) return ddiRefusal(asker);
    const { polls } = this.dependencies;
    if (resource.kind === 'poll') {
      const polled = await polls.poll(device, asker);
      return isFailure(polled)
        ? ddiRefusal(polled)
        : found(pollDocument(`${said.origin}${address.base}`, polled));
    }
    if (resource.kind === 'action') {
      const fetched = await polls.fetch(device, asker, resource.id);
      return isFailure(fetched)
        ? ddiRefusal(fetched)
        : found(actionDocument(resource.id, fetched.candidate, fetched));
    }
    if (resource.kind !== 'cancel') throw new Error(`${resource.kind} is not read`);
    const isThere = await polls.isWithdrawing(device, resource.id);
    return isThere ? found(cancelDocument(resource.id)) : ddiRefusal(fail('unknownAction'));
  }

  /** Reads all headers where one of several lines could mislead; most polls have no such header. */
  private headersOf(req: HttpRequest): ReadonlyMap<string, string> | undefined {
    const isPlain = this.dependencies.trustProxy === 0 && !MISLEADING.some(isIn(req));
    return isPlain ? undefined : readHeaders(req);
  }

  /** Returns the origin that was asked, as a proxy tells it if one is believed. */
  private originBy(header: (name: string) => string): string {
    const isBelieved = this.dependencies.trustProxy > 0;
    const proto = isBelieved ? header('x-forwarded-proto').split(',').at(-1)?.trim() : '';
    const host = header('host');
    return `${proto === 'https' ? 'https' : 'http'}://${HOST.test(host) ? host : 'localhost'}`;
  }
}

function isIn(req: HttpRequest): (name: string) => boolean {
  return (name) => req.getHeader(name) !== '';
}

function found(body: string): Reply {
  return { status: 200, head: FOUND_HEAD, body };
}
