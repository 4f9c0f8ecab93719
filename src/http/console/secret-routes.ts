// Route of the console API by which the operator changes the key of sealed secrets.

import { z } from 'zod';
import { fail } from '../../contract/failure.ts';
import type { ResealSecrets } from '../../publishing/webhooks.ts';
import type { Route } from '../router.ts';
import { nameField } from '../shape/field.ts';
import type { ConsoleRoutes } from './console-route.ts';

const resealBody = z.strictObject({ after: nameField.optional() });

/** Builds the route for secrets, which only the admin token may use. */
export function secretRoutes(routes: ConsoleRoutes, resealing: ResealSecrets): readonly Route[] {
  return [
    routes.onVisitor(
      { method: 'POST', path: 'secrets/reseal', shape: resealBody },
      async ({ session }, { after }) =>
        session === undefined ? resealing.reseal(after) : fail('forbidden'),
    ),
  ];
}
