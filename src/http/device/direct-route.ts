// Handlers of GET and HEAD that bypass the router: a request is answered before its handler returns where
// nothing has to be waited for.

import type { Failure } from '../../contract/failure.ts';
import {
  type AnsweredRequest,
  answerLater,
  faultReply,
  readHeaders,
  remoteAddressOf,
} from '../transport/exchange.ts';
import type { HttpRequest, HttpResponse, RequestHandler } from '../transport/http-app.ts';
import type { Reply } from '../transport/reply.ts';
import type { Observation, RouteTraffic, Traffic } from '../transport/request-observation.ts';
import { writeReply, writeReplyAndClose } from '../transport/write-reply.ts';
import type { DeviceRequest } from './device-question.ts';
import { refusalReply } from './refusal-reply.ts';

/** A subclass implements `serve`: how it finds the device, and whether the request may wait. */
export abstract class DirectRoute {
  readonly get: RequestHandler = (res, req) => this.handle(res, req, false);
  readonly head: RequestHandler = (res, req) => this.handle(res, req, true);
  /** Counts the replies that are no decisions, and those that waited. */
  protected readonly replies: RouteTraffic;
  /** Observation of the request that is being handled, if requests are watched. */
  private present: Observation | undefined;

  /** `route` is the path pattern of the addresses, for the metrics. */
  constructor(
    route: string,
    private readonly traffic: Traffic,
  ) {
    this.replies = traffic.on({ surface: 'device', method: 'GET', route });
  }

  protected abstract serve(request: DeviceRequest, req: HttpRequest): void;

  private handle(res: HttpResponse, req: HttpRequest, isHead: boolean): void {
    const request = { res, isHead, path: req.getUrl() };
    if (this.replies.isWatched) this.present = this.observe(request, req);
    try {
      this.serve(request, req);
    } catch (error) {
      // An uncaught exception of a handler would end the process; only this request may fail.
      this.answer(request, faultReply(error, this.waiting(request), this.traffic));
    }
    if (this.replies.isWatched) this.present = undefined;
  }

  private observe(request: DeviceRequest, req: HttpRequest): Observation {
    const { res, path } = request;
    const remoteAddress = remoteAddressOf(res);
    const headers = readHeaders(req);
    const header = (name: string) => headers.get(name) ?? '';
    const app = path.split('/', 3)[2];
    const asked = { method: methodOf(request), path, remoteAddress, header };
    return this.replies.observe(asked, app === '' ? undefined : app);
  }

  protected refuse(request: DeviceRequest, failure: Failure): void {
    this.answer(request, refusalReply(failure));
  }

  /** Writes a reply at once, and counts it. */
  protected answer(request: DeviceRequest, reply: Reply): void {
    this.write(request, reply);
    this.replies.count(reply.status);
  }

  /** Writes a reply at once, counts it, and closes the connection. */
  protected close({ res }: DeviceRequest, reply: Reply): void {
    writeReplyAndClose(res, reply);
    this.present?.watch?.end(reply.status);
    this.replies.count(reply.status);
  }

  protected write({ res, isHead }: DeviceRequest, reply: Reply): void {
    writeReply(res, reply, isHead, this.traffic.endsConnection());
    this.present?.watch?.end(reply.status);
  }

  /** Answers with the reply of `work`, which begins at once. */
  protected answerLater(request: DeviceRequest, work: () => Reply | Promise<Reply>): void {
    answerLater(request.res, this.waiting(request), this.traffic, work);
  }

  /** Returns the request in the form that `answerLater` and `faultReply` need. */
  private waiting(request: DeviceRequest): AnsweredRequest {
    const { path } = request;
    return { method: methodOf(request), path, replies: this.replies, ...this.present };
  }
}

function methodOf({ isHead }: DeviceRequest): string {
  return isHead ? 'HEAD' : 'GET';
}
