// Tests the OpenAPI document: two validators accept it, it has every call that the service has and no other,
// and what it does not allow is noticed.

import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { keyRoutes } from '../../src/http/api/key-routes.ts';
import { openapiDocument } from '../../src/http/reference/openapi-document.ts';
import { checkAnswer, type HeldAnswer } from '../support/answer-check.ts';

type Operation = { operationId: string; parameters?: { name: string; required: boolean }[] };
type Document = { paths: Record<string, Record<string, Operation>> };

const document = openapiDocument('1.2.3') as unknown as Document & Record<string, unknown>;

describe('the OpenAPI document', () => {
  it('is valid by the JSON schema of OpenAPI 3.1, and by the rules of Redocly', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document));
    expect(result.errors).toBeUndefined();
    expect([result.valid, validator.version]).toEqual([true, '3.1']);
    const config = await createConfig({ extends: ['recommended'] });
    const source = JSON.stringify(document);
    const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
    // A relative server is where the document came from; not every call can be wrong in a way of its own.
    const errors = problems.filter(({ severity }) => severity === 'error');
    expect(errors.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
  });

  it('has each call of the management API, and no other', () => {
    // The routes are only listed here; nothing calls them.
    const nothing = {} as never;
    const routes = keyRoutes(nothing, nothing);
    const served = routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    const described = Object.entries(document.paths)
      .filter(([path]) => path.startsWith('/api/v1/'))
      .flatMap(([path, item]) => Object.keys(item).map((name) => `${name.toUpperCase()} ${path}`));
    expect(described.toSorted()).toEqual([...served, 'GET /api/v1/openapi.json'].toSorted());
  });

  it('names each call once, and requires what has to be given', () => {
    const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
    const names = operations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    const explain = document.paths['/api/v1/explain']?.get?.parameters ?? [];
    expect(explain.filter(({ required }) => required).map(({ name }) => name)).toEqual(['app']);
  });
});

describe('an answer', () => {
  const release = {
    ...{ id: 'rel_1', app: 'notes', channel: 'stable', version: '1.0.0', notes: '' },
    ...{ status: 'published', rolloutPct: 100, createdAt: '2026-01-01T00:00:00.000Z' },
    artifacts: [{ platform: 'linux' }],
  };
  const right: HeldAnswer = {
    ...{ method: 'POST', path: '/api/v1/releases', status: 201 },
    ...{ contentType: 'application/json', text: JSON.stringify({ release }) },
  };
  const check = { method: 'GET', path: '/u/a/b/c/d/1.0.0', status: 204 };
  const withRelease = (parts: object) => JSON.stringify({ release: { ...release, ...parts } });

  it.each<[what: string, answer: Partial<HeldAnswer>]>([
    ['as it is', {}],
    ['a refusal', { status: 409, text: '{"error":"Version already exists"}' }],
    ['of an unknown path', { path: '/api/v1/nothing', status: 404, text: '{}' }],
    ['of a place without a description', { path: '/console/api/apps', status: 299 }],
    ['no update', { ...check, contentType: undefined, text: '' }],
  ])('%s is allowed', (_what, answer) => {
    expect(() => checkAnswer({ ...right, ...answer })).not.toThrow();
  });

  it.each<[what: string, answer: Partial<HeldAnswer>]>([
    ['a field is missing', { text: '{"release":{"id":"rel_1"}}' }],
    ['a field is one too many', { text: withRelease({ secret: 'x' }) }],
    ['a field has another type', { text: withRelease({ rolloutPct: '100' }) }],
    ['a time is none', { text: withRelease({ createdAt: 'yesterday' }) }],
    ['a field is one too many further down', { text: withRelease({ artifacts: [{ os: 'x' }] }) }],
    ['the status is none that it has', { status: 418 }],
    ['a fault', { status: 500, text: '{"error":"Internal error"}' }],
    ['a refusal says nothing', { status: 409, text: '{}' }],
    ['the media type is another one', { contentType: 'text/html' }],
    ['the call is none', { method: 'PUT', status: 201 }],
    ['there is a body where none may be', check],
  ])('is noticed when %s', (_what, answer) => {
    expect(() => checkAnswer({ ...right, ...answer })).toThrow();
  });
});
