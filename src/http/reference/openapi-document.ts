// OpenAPI 3.1 document of the management API and the device endpoints, built from the shapes that validate
// requests. Rules of the format: https://spec.openapis.org/oas/v3.1.1.html.

import { z } from 'zod';
import { ANSWER_SHAPES } from '../../contract/answer-shape.ts';
import { KEY_OPERATIONS } from '../api/key-routes.ts';
import {
  type Answer,
  BODY_SHAPES,
  jsonAnswer,
  type Operation,
  type Parameters,
} from '../endpoint/operation.ts';
import { conditionalReply, type TaggedBody, tagBody } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import { staticSite } from '../transport/static-site.ts';
import { DEVICE_OPERATIONS } from './device-operations.ts';

type Json = Readonly<Record<string, unknown>>;

const SCHEMAS = '#/components/schemas/';
const JSON_TYPE = 'application/json';
/** Statuses of refusals of every call: a wrong field, too many calls, an unavailable store. */
const COMMON_REFUSALS = [400, 429, 503] as const;
/** Further statuses of refusals of calls that need a key. */
const KEY_REFUSALS = [401, 403] as const;
/** Further statuses of refusals of calls with a body: it took too long, or is too large. */
const BODY_REFUSALS = [408, 413] as const;

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'A field is missing or wrong; the message names it.',
  401: 'The key is missing, unknown, revoked or over.',
  403: 'The key was not made for this call.',
  404: 'What the request names does not exist, or belongs to another organization.',
  408: 'The body took too long.',
  409: 'The state of the release forbids it.',
  413: 'The body is too large.',
  422: 'Serving can only widen once a release was offered.',
  429: 'Too many calls; `Retry-After` says when to come back.',
  503: 'The service cannot know the answer at present; `Retry-After` says when to come back.',
};

const HEADERS: Readonly<Record<string, Json>> = {
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  'WWW-Authenticate': { description: 'The scheme.', schema: { type: 'string' } },
  Location: { description: 'Address of the file.', schema: { type: 'string' } },
  'Idempotent-Replayed': {
    description: '`true` when the call was made before, and this is the answer of then.',
    schema: { type: 'string', const: 'true' },
  },
};

/** Builds the document. `version` is the version of the service, `server` the base URL of its paths. */
export function openapiDocument(version: string, server = '/'): Json {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Sluice',
      version,
      summary: 'Decides, for every device of a fleet, which release it should install.',
      description:
        'The management API takes an API key as bearer token. Answers may have further fields in ' +
        'later versions. Every answer of the management API carries `X-Request-Id`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: server, description: 'The service that this document comes from.' }],
    tags: [
      { name: 'Releases', description: 'Publishing and control.' },
      { name: 'Reading', description: 'What is there, and why it is as it is.' },
      { name: 'Fleet', description: 'Push mode: for devices that do not ask themselves.' },
      { name: 'Devices', description: 'What updaters and readers of feeds ask.' },
    ],
    paths: pathsOf([...KEY_OPERATIONS, REFERENCE, ...DEVICE_OPERATIONS]),
    components: {
      schemas: componentSchemas(),
      headers: HEADERS,
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'API key: `sluice_…`.' },
      },
    },
  };
}

function pathsOf(operations: readonly Operation[]): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}');
    const onPath = paths[path] ?? {};
    paths[path] = { ...onPath, [operation.method.toLowerCase()]: operationObject(operation) };
  }
  return paths;
}

function operationObject(operation: Operation): Json {
  const { id, tag, summary, description, isGuarded, body } = operation;
  const names = operation.path.split('/');
  const placeOf = (name: string) => (names.includes(`:${name}`) ? 'path' : 'query');
  const parameters = [
    ...parameterObjects(operation.parameters, placeOf),
    ...parameterObjects(operation.headers, () => 'header'),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: isGuarded ? [{ key: [] }] : [],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { [JSON_TYPE]: { schema: schemaOf(body) } } } }),
    responses: responsesOf(operation),
  };
}

function parameterObjects(
  parameters: Parameters = {},
  placeOf: (name: string) => 'path' | 'query' | 'header',
): Json[] {
  return Object.entries(parameters).flatMap(([name, shape]) => {
    const { description, ...schema } = schemaOf(shape);
    const required = !shape.safeParse(undefined).success;
    return description === undefined
      ? []
      : [{ name, in: placeOf(name), required, description, schema }];
  });
}

function responsesOf({ answers, refusals, isGuarded, body }: Operation): Json {
  const refused = [
    ...COMMON_REFUSALS,
    ...(isGuarded ? KEY_REFUSALS : []),
    ...(body === undefined ? [] : BODY_REFUSALS),
    ...refusals,
  ];
  return Object.fromEntries([
    ...Object.entries(answers).map(([status, answer]) => [status, answerObject(answer)]),
    ...refused.map((status) => [String(status), refusalObject(status)]),
  ]);
}

function answerObject({ description, content, headers = [] }: Answer): Json {
  const types = Object.entries(content ?? {}).map(([type, shape]) => [
    type,
    { schema: schemaOf(shape) },
  ]);
  return {
    description,
    ...headersObject(headers),
    ...(content === undefined ? {} : { content: Object.fromEntries(types) }),
  };
}

function refusalObject(status: number): Json {
  const headers = status === 401 ? ['WWW-Authenticate'] : [];
  return {
    description: REFUSALS[status],
    ...headersObject(status === 429 || status === 503 ? ['Retry-After'] : headers),
    content: { [JSON_TYPE]: { schema: { $ref: `${SCHEMAS}ErrorBody` } } },
  };
}

function headersObject(names: readonly string[]): Json {
  if (names.length === 0) return {};
  const entries = names.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { headers: Object.fromEntries(entries) };
}

const NAMED = new Map<z.ZodType, string>(
  Object.entries({ ...ANSWER_SHAPES, ...BODY_SHAPES }).map(([name, shape]) => [shape, name]),
);

/** Returns a reference to a shape that has a name, or the whole schema of another shape. */
function schemaOf(shape: z.ZodType): Json {
  const name = NAMED.get(shape);
  if (name !== undefined) return { $ref: SCHEMAS + name };
  if (shape instanceof z.ZodUnion) {
    return { anyOf: shape.options.map((option) => schemaOf(option as z.ZodType)) };
  }
  return withoutMarks(z.toJSONSchema(shape, OPTIONS));
}

function componentSchemas(): Json {
  const registry = z.registry<{ id: string }>();
  for (const [shape, id] of NAMED) registry.add(shape, { id });
  const { schemas } = z.toJSONSchema(registry, { ...OPTIONS, uri: (id) => SCHEMAS + id });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, withoutMarks(schema)]),
  );
}

/**
 * Options for schemas: they describe the input of shapes, so that a field with a default is optional, and an
 * answer may have more fields in a later version. Rules that no schema can express are left out.
 */
const OPTIONS = { io: 'input', unrepresentable: 'any', reused: 'inline' } as const;

/** Removes the keys that make a schema a document of its own. */
function withoutMarks({ $schema: _schema, $id: _id, ...schema }: Json): Json {
  return schema;
}

// Routes of the OpenAPI document, for programs, and of the page that shows it to people. Both are public,
// because they describe what the service can do, and contain none of its data.

const REFERENCE: Operation = {
  ...{ method: 'GET', path: '/api/v1/openapi.json', id: 'readReference', tag: 'Reading' },
  isGuarded: false,
  summary: 'This document',
  answers: {
    200: jsonAnswer('OpenAPI 3.1.', z.record(z.string(), z.unknown())),
    304: { description: 'The present document is the one of `If-None-Match`.' },
  },
  refusals: [],
};

/** Headers of the document: pages of other origins may read it, such as tools for OpenAPI. */
const DOCUMENT_HEADERS = [
  ['Cache-Control', 'no-cache'],
  ['Access-Control-Allow-Origin', '*'],
  ['X-Content-Type-Options', 'nosniff'],
] as const;

/** Builds the routes of `/api/v1/openapi.json` and `/docs`. The first request builds the document. */
export function referenceRoutes(dependencies: {
  /** Version of the service. */
  readonly version: string;
  /** Returns the base URL of the document's paths; called only at the first request. */
  readonly server: () => string;
  /** Folder of the built page. */
  readonly folder: string;
}): readonly Route[] {
  const { version, server, folder } = dependencies;
  let document: TaggedBody | undefined;
  const made = () => tagBody(Buffer.from(JSON.stringify(openapiDocument(version, server()))));
  // The path of assets is relative to `/docs`, so that it works behind a proxy that strips a prefix.
  const { page, asset } = staticSite(folder, 'docs/assets');
  return [
    {
      method: REFERENCE.method,
      path: REFERENCE.path,
      handler: ({ headers }) => {
        document ??= made();
        const tag = headers.get('if-none-match');
        return conditionalReply(tag, document, 'application/json', DOCUMENT_HEADERS);
      },
    },
    { method: 'GET', path: '/docs', handler: page },
    { method: 'GET', path: '/docs/assets/:name', handler: asset },
  ];
}
