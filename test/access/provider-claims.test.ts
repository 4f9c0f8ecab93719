// Tests the forms in which providers name groups, and that what has none of them is told from naming none.

import { describe, expect, test } from 'vitest';
import {
  doubtAbout,
  findClaim,
  formOf,
  isElsewhere,
  readGroups,
} from '../../src/access/provider-claims.ts';

const KNOWN = new Set(['it', 'CN=it,OU=groups']);

describe('the groups of a claim (§31.9)', () => {
  test.each<[string, unknown, readonly string[]]>([
    ['a list of texts', ['it', 'ops'], ['it', 'ops']],
    ['an empty list', [], []],
    ['a text', 'it', ['it']],
    ['a text of nothing', '', []],
    ['a text with commas', 'it, ops,', ['it', 'ops']],
    ['a text with commas that is a group', 'CN=it,OU=groups', ['CN=it,OU=groups']],
    ['a text in a list, with commas', ['it,ops'], ['it,ops']],
    ['a list in JSON', ' ["it","ops"]', ['it', 'ops']],
    ['a list in JSON of objects with a name', '[{"name":"it"}]', ['it']],
    ['a list of objects with a name', [{ name: 'it', id: 7 }, { name: 'ops' }], ['it', 'ops']],
    ['an object of objects', { it: { org: 'a.example' }, ops: {} }, ['it', 'ops']],
    ['an object of nothing', {}, []],
  ])('%s', (_, claim, groups) => {
    expect([...(readGroups(claim, KNOWN) ?? expect.unreachable())]).toEqual(groups);
  });

  test.each<[string, unknown, string]>([
    ['an object of lists', { roles: ['it'] }, 'an object with 1 keys, such as roles (a list)'],
    [
      'an object of some objects',
      { it: {}, 'a@b.example': 'x' },
      'an object with 2 keys, such as it (an object), … (a text)',
    ],
    ['a list of numbers', [7, 'it'], 'a list with a number, a text'],
    ['a list of objects without a name', [{ id: 'it' }], 'a list with an object'],
    ['a list of lists', [['it']], 'a list with a list'],
    ['a list with nothing', [null], 'a list with null'],
    ['a text that looks like a list', '[it, ops]', 'a text like JSON'],
    ['an object in JSON', '{"it":{}}', 'a text like JSON'],
    ['a number', 7, 'a number'],
    ['a boolean', false, 'a boolean'],
  ])('%s is unreadable, and is told by its form', (_, claim, form) => {
    expect(readGroups(claim, KNOWN)).toBeUndefined();
    expect(formOf(claim)).toBe(form);
  });
});

describe('the place of a claim (§31.9)', () => {
  const roles = ['it'];

  test.each<[string, string, readonly object[]]>([
    ['its exact name', 'groups', [{ groups: roles }]],
    ['a path', 'realm_access.roles', [{ realm_access: { roles } }]],
    ['a name with dots', 'https://a.example/roles', [{ 'https://a.example/roles': roles }]],
    ['an exact name before a path', 'a.b', [{ a: { b: ['ops'] } }, { 'a.b': roles }]],
    ['parts with dots', 'access.my.client.roles', [{ access: { 'my.client': { roles } } }]],
    ['the second answer', 'a.b', [{ a: {} }, { a: { b: roles } }]],
    ['what is not null', 'groups', [{ groups: null }, { groups: roles }]],
  ])('%s', (_, name, answers) => {
    expect(findClaim(name, answers as never)).toEqual({ path: name, value: roles });
  });

  test('a claim that is missing, null or only inherited is not there', () => {
    for (const name of ['groups', 'a.b', 'constructor', 'a.constructor', 'a.', '.']) {
      expect(findClaim(name, [{ groups: null, a: { c: 1 } }, {}])).toBeUndefined();
    }
  });

  test('what stands in the way of a path is there, and names nothing', () => {
    expect(findClaim('a.b.c', [{ a: { b: 'it' } }])).toEqual({ path: 'a.b', value: 'it' });
  });

  test('groups that the provider keeps elsewhere are told', () => {
    const answer = { _claim_names: { groups: 'src1' } };
    expect(isElsewhere('groups', [{}, answer])).toBe(true);
    expect(isElsewhere('groups.names', [answer])).toBe(true);
    expect(isElsewhere('roles', [answer, { _claim_names: 'groups' }])).toBe(false);
  });
});

test('an address is verified by a boolean or its text, and by nothing else (§31.4)', () => {
  expect([true, 'true'].map(doubtAbout)).toEqual([undefined, undefined]);
  expect([false, 'false', undefined, null, 1, 'yes'].map(doubtAbout)).toEqual([
    ...['email_verified is false', 'email_verified is false'],
    ...['email_verified is missing', 'email_verified is missing'],
    ...['email_verified is a number', 'email_verified is a text'],
  ]);
});
