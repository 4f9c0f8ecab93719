// Routes of the OpenAPI document, for programs, and of the page that shows it to people. Both are public:
// they say what the service can do, and nothing of what is in it.

import { conditionalReply, tagBody } from '../conditional.ts';
import type { Route } from '../router.ts';
import { staticSite } from '../static-site.ts';
import { openapiDocument } from './openapi-document.ts';

export type ReferenceDependencies = {
  /** Version of the service. */
  readonly version: string;
  /** Folder of the built page. */
  readonly folder: string;
};

/** Headers of the document: pages of other origins may read it, as other tools for OpenAPI do. */
const DOCUMENT_HEADERS = [
  ['Cache-Control', 'no-cache'],
  ['Access-Control-Allow-Origin', '*'],
  ['X-Content-Type-Options', 'nosniff'],
] as const;

/** Builds the routes of `/api/v1/openapi.json` and `/docs`. The document is made once. */
export function referenceRoutes({ version, folder }: ReferenceDependencies): readonly Route[] {
  const document = tagBody(Buffer.from(JSON.stringify(openapiDocument(version))));
  const { page, asset } = staticSite(folder);
  return [
    {
      method: 'GET',
      path: '/api/v1/openapi.json',
      handler: ({ headers }) =>
        conditionalReply(
          headers.get('if-none-match'),
          document,
          'application/json',
          DOCUMENT_HEADERS,
        ),
    },
    { method: 'GET', path: '/docs', handler: page },
    { method: 'GET', path: '/docs/assets/:name', handler: asset },
  ];
}
