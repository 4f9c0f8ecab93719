// Tests when a new embedded ledger is made from the template, with a folder in its place. What the template
// has is tested in test/release/ledger-template.test.ts.

import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { fillFromTemplate } from '../../../../src/store/ledger/database/fill-from-template.ts';

vi.mock('node:fs', async (load) => {
  const real = await load<typeof fs>();
  return { ...real, renameSync: vi.fn(real.renameSync) };
});

let folder: string;
let directory: string;
/** Small folder that is copied like a template. */
let template: string;

beforeAll(() => {
  template = fs.mkdtempSync(join(tmpdir(), 'sluice-small-'));
  fs.writeFileSync(join(template, 'PG_VERSION'), 'of the template');
  fs.mkdirSync(join(template, 'base'));
});
afterAll(() => fs.rmSync(template, { recursive: true }));
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'sluice-template-'));
  directory = join(folder, 'ledger');
  fs.mkdirSync(directory);
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

test('a ledger made from the template can be read by its owner alone, like every ledger', () => {
  fillFromTemplate(directory, template);
  expect(fs.statSync(directory).mode & 0o777).toBe(0o700);
  expect(fs.readdirSync(directory)).toEqual(fs.readdirSync(template));
});

describe('the directory', () => {
  test('that is not empty stays as it is', () => {
    fs.writeFileSync(join(directory, 'PG_VERSION'), 'of another');
    fillFromTemplate(directory, template);
    expect(fs.readdirSync(directory)).toEqual(['PG_VERSION']);
    expect(fs.readdirSync(folder)).toEqual(['ledger']);
  });

  test('stays empty while the copy is made, and a copy that was cut off is made anew', () => {
    const draft = `${directory}.draft`;
    fs.mkdirSync(draft);
    fs.writeFileSync(join(draft, 'PG_VERSION'), 'cut off');
    vi.mocked(fs.renameSync).mockImplementationOnce((from, to) => {
      expect([from, to]).toEqual([draft, directory]);
      expect(fs.readdirSync(directory)).toEqual([]);
      throw new Error('killed');
    });
    expect(() => fillFromTemplate(directory, template)).toThrow('killed');
    fillFromTemplate(directory, template);
    expect(fs.readFileSync(join(directory, 'PG_VERSION'))).toEqual(
      fs.readFileSync(join(template, 'PG_VERSION')),
    );
    expect(fs.readdirSync(folder)).toEqual(['ledger']);
  });

  test.each(['EBUSY', 'EXDEV'])('that is a mounted volume (%s) is left to PGlite', (code) => {
    vi.mocked(fs.renameSync).mockImplementationOnce(() => {
      throw Object.assign(new Error('a mount point'), { code });
    });
    fillFromTemplate(directory, template);
    expect(fs.readdirSync(directory)).toEqual([]);
    expect(fs.readdirSync(folder)).toEqual(['ledger']);
  });

  test('is left to PGlite when there is no template', () => {
    fillFromTemplate(directory, join(folder, 'none'));
    expect(fs.readdirSync(directory)).toEqual([]);
  });
});
