// Shell of a publisher: a folder of build files, a tenant of its own for each test, and the `sluice` command.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { type Json, releasesOf } from './published.ts';
import { type CommandResult, runSluiceHere } from './sluice-command.ts';
import { createTenant, type Tenant } from './tenant.ts';

const ONE_LINE = /^sluice: [^\n]+\n$/;
const URL_BASE = 'https://downloads.example.com/notes';

export class PublisherShell {
  folder = '';
  tenant: Tenant = { org: '', app: '', appId: '', secret: '', keyId: '' };
  private readonly node: { readonly url: string };

  /** Makes the folder and the tenant before each test of the suite. */
  constructor(node: { readonly url: string }) {
    this.node = node;
    beforeEach(async () => {
      this.folder = mkdtempSync(join(tmpdir(), 'sluice-publisher-'));
      this.tenant = await createTenant(node);
    });
    afterEach(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  releases(): Promise<Json[]> {
    return releasesOf(this.node, this.tenant);
  }

  /** Writes a file into the folder, with the folders on the way, and returns its path. */
  write(name: string, content: string | Buffer = `content of ${name}`): string {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Runs the command with the tenant's key; `env` adds to its environment. */
  sluice(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandResult> {
    const own = { SLUICE_URL: this.node.url, SLUICE_KEY: this.tenant.secret };
    return runSluiceHere(args, { ...own, ...env });
  }

  /** Runs a command that must succeed, and returns what it answers. */
  async json(...args: string[]): Promise<Json> {
    const { code, stdout, stderr } = await this.sluice([...args, '--json']);
    expect([code, stderr], stdout).toEqual([0, '']);
    return JSON.parse(stdout) as Json;
  }

  /** Expects a command to end so, with nothing on stdout and one line on stderr. */
  async expectEnd(
    args: readonly string[],
    code: number,
    words: RegExp | string,
    env: NodeJS.ProcessEnv = {},
  ): Promise<void> {
    const result = await this.sluice(args, env);
    expect([result.code, result.stdout], args.join(' ')).toEqual([code, '']);
    expect(result.stderr, args.join(' ')).toMatch(ONE_LINE);
    expect(result.stderr, args.join(' ')).toMatch(words);
  }

  /** Options that name the release 1.2.3. */
  name(channel = 'stable'): string[] {
    return ['--app', this.tenant.app, '--channel', channel, '--version', '1.2.3'];
  }

  /** Arguments that publish files as 1.2.3. */
  publish(files: readonly string[], ...more: string[]): string[] {
    return ['release', 'publish', ...files, ...this.name(), '--url-base', URL_BASE, ...more];
  }
}
