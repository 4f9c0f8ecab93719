// The console's routes for release webhooks: on, off, and what they delivered last.

import { z } from 'zod';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import type { Webhooks } from '../../operations/webhooks.ts';
import type { Route } from '../router.ts';
import { nameField } from '../shape/field.ts';
import { parseBody, parseShape } from '../shape/parse-shape.ts';
import type { Admit } from './admit.ts';

const enableBody = z.strictObject({ app: nameField, provider: z.enum(['github']) });
const appShape = z.object({ app: nameField });
const PATH = '/console/api/webhooks';

/** The webhooks' routes below `/console/api`. */
export function webhookConsoleRoutes(webhooks: Webhooks, admit: Admit): readonly Route[] {
  const post = <Body extends z.ZodType>(
    path: string,
    shape: Body,
    work: (body: z.output<Body>) => Promise<Outcome<unknown>>,
    status: number,
  ): Route => ({
    method: 'POST',
    path,
    handler: admit(async (exchange) => {
      const body = await parseBody(exchange, shape);
      return isFailure(body) ? body : work(body);
    }, status),
  });
  return [
    post(PATH, enableBody, ({ app, provider }) => webhooks.enable(app, provider), 201),
    post(`${PATH}/disable`, appShape.strict(), ({ app }) => webhooks.disable(app), 200),
    {
      method: 'GET',
      path: PATH,
      handler: admit(async ({ queryText }) => {
        const query = Object.fromEntries(new URLSearchParams(queryText));
        const wanted = parseShape(appShape, query);
        return isFailure(wanted) ? wanted : webhooks.show(wanted.app);
      }),
    },
  ];
}
