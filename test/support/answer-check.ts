// Holds an answer of the service against its OpenAPI document. An answer that the document does not allow, be
// it a status, a media type, a missing field or one that is not named, throws, and fails the test that got
// it.

import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { openapiDocument } from '../../src/http/reference/openapi-document.ts';

/** Answer as it came. */
export type HeldAnswer = {
  readonly method: string;
  /** Path with the query, if there was one. */
  readonly path: string;
  readonly status: number;
  /** `Content-Type`; undefined where there was none. */
  readonly contentType: string | undefined;
  readonly text: string;
};

type Media = { readonly schema: AnySchema };
type Responses = Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
type Operation = { readonly responses: Responses };
type PathItem = Readonly<Record<string, Operation>>;
type Document = {
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: { readonly schemas: Readonly<Record<string, AnySchema>> };
};

const DOCUMENT = openapiDocument('0.0.0') as unknown as Document;
/** Paths of the document, the most literal first. */
const PLACES = Object.entries(DOCUMENT.paths)
  .map(([path, item]) => {
    const pattern = path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+');
    return { item, pattern: new RegExp(`^${pattern}$`), parts: path.split('{').length };
  })
  .toSorted((one, other) => one.parts - other.parts);
/** First segments of the paths that the document describes; `v1` alone of `api`. */
const DESCRIBED = /^\/(?:api\/v1|u|e|squirrel|velopack|sparkle|download|feed)\//;
const SCHEMAS = '#/components/schemas/';
/** Refusals that come before the service knows which call is meant. */
const WITHOUT_CALL: ReadonlySet<number> = new Set([400, 404, 405]);

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addSchema({ $id: 'sluice:', $defs: tightened(DOCUMENT.components.schemas) as AnySchema });
const compiled = new Map<AnySchema, ValidateFunction>();

/** Throws when the document does not allow the answer; answers of places that it does not describe pass. */
export function checkAnswer({ method, path, status, contentType, text }: HeldAnswer): void {
  const [address = ''] = path.split('?');
  // What browsers ask before a call of another origin, and an address that the call is not served at.
  if (!DESCRIBED.test(address) || method === 'OPTIONS' || isNowhere(status, text)) return;
  const said = `${method} ${address} answered ${status}`;
  const operation = operationOf(method, address);
  if (operation === undefined) {
    if (!WITHOUT_CALL.has(status)) throw new Error(`${said}, and the document has no such call`);
    return;
  }
  const response = operation.responses[status];
  if (response === undefined) throw new Error(`${said}, which the document does not have`);
  if (text === '' && (method === 'HEAD' || response.content === undefined)) return;
  const type = contentType?.split(';')[0]?.trim() ?? 'no type';
  const media = response.content?.[type];
  if (media === undefined) throw new Error(`${said} in ${type}, which the document does not have`);
  if (type === 'application/json') checkBody(said, media.schema, JSON.parse(text));
}

function isNowhere(status: number, text: string): boolean {
  return status === 404 && text === JSON.stringify({ error: 'Not found' });
}

function checkBody(said: string, schema: AnySchema, body: unknown): void {
  const validate = compiled.get(schema) ?? ajv.compile(tightened(schema) as AnySchema);
  compiled.set(schema, validate);
  if (validate(body)) return;
  const faults = validate.errors?.map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(' '),
  );
  throw new Error(`${said} with what the document does not allow: ${faults?.join('; ')}`);
}

/** Returns the call of the most literal path that fits. */
function operationOf(method: string, address: string): Operation | undefined {
  const name = (method === 'HEAD' ? 'GET' : method).toLowerCase();
  return PLACES.find(({ pattern }) => pattern.test(address))?.item[name];
}

/**
 * Returns a schema that allows no other fields than those it names. The document itself leaves them open,
 * because later versions may answer with more.
 */
function tightened(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(tightened);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([name, part]) => [
    name,
    name === '$ref' ? String(part).replace(SCHEMAS, 'sluice:#/$defs/') : tightened(part),
  ]);
  const tight = Object.fromEntries(entries) as Record<string, unknown>;
  const isOpen = 'properties' in tight && !('additionalProperties' in tight);
  return isOpen ? { ...tight, additionalProperties: false } : tight;
}
