// Tests the lists in docs/operating (settings, metrics, log messages, commands) against the source: nothing
// is missing, and nothing is described that the source does not have. Its index leads to every page.

import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import * as values from '../../src/observe/label-values.ts';
import { commandTree, runnableCommands } from '../support/command-tree.ts';
import {
  filesBelow,
  listDocuments,
  quotedIn,
  readDocument,
  sectionOf,
  tableRows,
} from './document.ts';

/** Names that begin like those of metrics: cookies, migrations, API keys, what a restore uses. */
const NO_METRICS: ReadonlySet<string> = new Set([
  ...['sluice_session', 'sluice_browser', 'sluice_challenge', 'sluice_sign_in', 'sluice_arrival'],
  ...['sluice_migrations', 'sluice_restore', 'sluice_restored', 'sluice_before', 'sluice_'],
]);

const sources = filesBelow('src').filter(({ path }) => path.endsWith('.ts'));
const source = sources.map(({ text }) => text).join('\n');

describe('docs/operating', () => {
  it('has an index that leads to every page', () => {
    const pages = listDocuments().filter(({ path }) => path.startsWith('docs/operating/'));
    const names = pages.map(({ path }) => path.slice('docs/operating/'.length));
    const { text } = readDocument('docs/operating/README.md');
    expect(names.length).toBeGreaterThan(10);
    const others = names.filter((name) => name !== 'README.md');
    expect(others.filter((name) => !text.includes(`](${name}`))).toEqual([]);
  });

  it.each([
    ['install', 'install.md', 'docker compose up'],
    ['upgrade', 'upgrade.md', 'Restart the nodes'],
    ['back up', 'backup.md', 'pg_dump'],
    ['restore', 'backup.md', 'pg_restore'],
    ['change secrets', 'rotate.md', 'SIGHUP'],
    ['large', 'size.md', '1 million'],
    ['move a store', 'stores.md', '## Move a store'],
    ['alert', 'alerts.md', 'rules.yml'],
    ['ports', 'health.md', '## Ports'],
    ['Redis, PostgreSQL, a node or a disk is lost', 'losses.md', '| Redis |'],
  ])('answers one link away: %s', (question, page, answer) => {
    const { text } = readDocument('docs/operating/README.md');
    const rows = tableRows(text).filter(([asked = '']) => asked.includes(question));
    expect(rows.map(([, pages]) => pages)).toContainEqual(expect.stringContaining(`](${page}`));
    expect(readDocument(`docs/operating/${page}`).text).toContain(answer);
  });
});

it('the settings are those that src/settings reads', () => {
  const { text } = readDocument('docs/operating/settings.md');
  const rows = tableRows(text.split('What lies in')[0] as string);
  const documented = rows.flatMap(([name = '']) => quotedIn(name));
  const names = ['settings', 'notify-settings', 'oidc-settings'];
  const config = names.map((name) => readDocument(`src/settings/${name}.ts`).text).join('\n');
  const service = [...config.matchAll(/^ {2}([A-Z][A-Z_]*):/gm)].map(([, name]) => name);
  const client = [...config.matchAll(/environment\.([A-Z][A-Z_]*)/g)].map(([, name]) => name);
  expect(service.length).toBeGreaterThan(10);
  expect(documented.toSorted()).toEqual([...new Set([...service, ...client])].toSorted());
});

describe('metrics', () => {
  const { text } = readDocument('docs/operating/metrics.md');
  const rows = tableRows(text.split('The values of the labels')[0] as string);
  const documented = rows.map(([name = '', type = '', label = '']) => [
    ...quotedIn(name),
    type,
    ...quotedIn(label),
  ]);

  it('are those that the source has, with their type and label', () => {
    const counters = [...source.matchAll(/'(sluice_\w+_total)',\s*'[^']*',\s*\{\s*(\w+):/g)];
    const plain = [...source.matchAll(/\bcounter\(\s*'(sluice_\w+)'/g)];
    const gauges = [...source.matchAll(/\bgauge\(\s*'(sluice_\w+)'/g)];
    const labelled = [...source.matchAll(/\.(\w+)\(\s*'(sluice_\w+)',\s*'[^']*',\s*\[([^\]]*)\]/g)];
    const types: Readonly<Record<string, string>> = {
      ...{ gauges: 'gauge', build: 'gauge', histogram: 'histogram', durations: 'histogram' },
      ...{ routeCounts: 'counter', counts: 'counter' },
    };
    const known = [
      ...counters.map(([, name, label]) => [name, 'counter', label]),
      ...plain.map(([, name]) => [name, 'counter']),
      ...gauges.map(([, name]) => [name, 'gauge']),
      ...labelled.map(([, method = '', name, labels = '']) => [
        ...[name, types[method]],
        ...[...labels.matchAll(/'(\w+)'/g)].map(([, label]) => label),
      ]),
    ];
    expect(documented.toSorted()).toEqual(known.toSorted());
  });

  it('are all that any document names', () => {
    const names = new Set(documented.map(([name]) => name));
    const named = listDocuments().flatMap(({ text }) => text.match(/`sluice_[a-z_]+/g) ?? []);
    expect(named.length).toBeGreaterThan(names.size);
    const others = named.map((each) => each.slice(1)).filter((each) => !names.has(each));
    expect(others.filter((each) => !NO_METRICS.has(each))).toEqual([]);
  });

  it('have their label values in the table of values', () => {
    const quoted = quotedIn(text);
    for (const each of Object.values(values))
      expect(quoted).toEqual(expect.arrayContaining([...each]));
  });
});

it('the reasons of decisions are all named where the console API explains a decision', () => {
  const named = quotedIn(sectionOf(readDocument('docs/console.md'), 'The fleet'));
  expect(values.CHECK_REASONS.filter((reason) => !named.includes(reason))).toEqual([]);
});

describe('the log', () => {
  const { text } = readDocument('docs/operating/log.md');

  it('has every message that the table explains', () => {
    const messages = tableRows(text).flatMap(([message = '']) => quotedIn(message));
    expect(messages.length).toBeGreaterThan(20);
    expect(messages.filter((message) => !source.includes(`'${message}'`))).toEqual([]);
  });

  it('has no warning or error that the table leaves out', () => {
    const logged = [
      ...source.matchAll(/[lL]og\.(?:warn|error|fatal)\(\s*(?:\{[^}]*\}|\w+),?\s*'([^']+)'/g),
      ...source.matchAll(/tellFault\([^;]*?error,\s*'([^']+)'/g),
    ].map(([, message = '']) => message);
    expect(logged.length).toBeGreaterThan(15);
    expect(logged.filter((message) => !text.includes(`\`${message}\``))).toEqual([]);
  });
});

describe('commands', () => {
  const { text } = readDocument('docs/operating/commands.md');
  const commands = runnableCommands(commandTree());

  it('have the arguments and options that the command line has', () => {
    const usages = text.replace(/\n {10,}/g, ' ').match(/(?<=^ {4})sluice .*$/gm) ?? [];
    expect(usages.map(withoutValues).toSorted()).toEqual(commands.map(usageOf).toSorted());
    for (const { argChoices } of commands.flatMap(([, { options }]) => options)) {
      expect(text).toContain(argChoices?.join('|') ?? '');
    }
  });

  it('have a row each that says what they do', () => {
    const rows = tableRows(text).flatMap(([name = '']) => quotedIn(name));
    const names = commands.map(([name]) => name);
    expect(rows.toSorted()).toEqual(names.toSorted());
  });

  it('include serve, which src/cli/sluice.ts adds', () => {
    const added = [...readDocument('src/cli/sluice.ts').text.matchAll(/\.command\('(\w+)'\)/g)];
    expect(added.map(([, name]) => name)).toEqual(['serve']);
  });
});

/**
 * Returns the usage of a command, such as `sluice key revoke <argument> [--limit]`, without the `--json` of
 * all.
 */
function usageOf([name, command]: readonly [string, Command]): string {
  const options = command.options.filter(({ long }) => long !== '--json');
  const flags = options.map(({ long, mandatory, description }) =>
    mandatory || description.endsWith('(required)') ? long : `[${long}]`,
  );
  const given = command.registeredArguments.map(() => '<argument>');
  return ['sluice', name, ...given, ...flags].join(' ');
}

/**
 * Returns a documented usage in the form of `usageOf`: `--limit N` without its value, `KEY_ID` as an
 * argument.
 */
function withoutValues(usage: string): string {
  return usage
    .replace(/(--[a-z-]+) [^\s\]]+/g, '$1')
    .replace(/ [A-Z][A-Z_]+(?= |$)/g, ' <argument>');
}
