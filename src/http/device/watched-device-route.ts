// Handlers of update checks whose requests are watched (the access log). They are a class of their own,
// chosen when the routes are built, so that checks which nobody watches do nothing for it.

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Candidate } from '../../domain/decision/catalog.ts';
import { type AnsweredRequest, remoteAddressOf } from '../exchange.ts';
import type { Reply } from '../reply.ts';
import { RequestNotes } from '../request-notes.ts';
import type { RequestWatch } from '../request-watch.ts';
import { type DeviceRequest, DeviceRoute } from './device-route.ts';

export class WatchedDeviceRoute<Item extends Candidate> extends DeviceRoute<Item> {
  /** Watch of the request that is being handled, until its handler returns. */
  private present: { readonly watch: RequestWatch; readonly notes: RequestNotes } | undefined;

  protected override handle(res: HttpResponse, req: HttpRequest, isHead: boolean): void {
    const path = req.getUrl();
    const notes = new RequestNotes(req.getHeader('x-request-id'));
    const app = path.split('/', 3)[2];
    if (app !== undefined && app !== '') notes.app = app;
    const watch = this.replies.watch?.({
      method: isHead ? 'HEAD' : 'GET',
      path,
      remoteAddress: remoteAddressOf(res),
      header: (name) => req.getHeader(name),
      notes,
    });
    this.present = watch && { watch, notes };
    super.handle(res, req, isHead);
    this.present = undefined;
  }

  protected override waiting(request: DeviceRequest): AnsweredRequest {
    return { ...super.waiting(request), ...this.present };
  }

  protected override write(request: DeviceRequest, reply: Reply): void {
    super.write(request, reply);
    this.present?.watch.end(reply.status);
  }
}
