// Shell of a build machine: a folder of a build, the `sluice` command, and in place of the service a server
// that takes publications as the service does, with its findings and without a ledger.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { Artifact } from '../../src/contract/resource.ts';
import { findingsOf } from '../../src/domain/release/finding/findings.ts';
import { snapshot, version } from '../domain/sample.ts';
import { BuildFolder } from './build-folder.ts';
import { loopbackServer } from './loopback-server.ts';
import { type CommandResult, runSluiceHere } from './sluice-command.ts';
import type { Json } from './tenant.ts';

export const TIME = '2026-01-02T03:04:05.678Z';
export const URL_BASE = 'https://downloads.example.com/notes';
export const ONE_LINE = /^sluice: [^\n]+\n$/;

/** Request of the command: `POST releases?dryRun=true`, and its body as text. */
type Asked = { readonly call: string; readonly body: string };
type Answered = readonly [status: number, body: object, headers?: Record<string, string>];
type Publication = Json & { readonly version: string; readonly artifacts: readonly Artifact[] };

export class BuildShell extends BuildFolder {
  url = '';
  asked: Asked[] = [];
  /** Releases that the service has. */
  releases: Json[] = [];
  requireSignature = false;
  /** Answer to a request in place of the service's own. */
  instead: (asked: Asked) => Answered | undefined = () => undefined;

  /** Starts the server for the suite; it has no releases at the beginning of each test. */
  constructor() {
    super();
    let server: Awaited<ReturnType<typeof loopbackServer>>;
    beforeAll(async () => {
      server = await loopbackServer((request, response) => void this.reply(request, response));
      this.url = `http://127.0.0.1:${server.port}`;
    });
    afterAll(() => server.close());
    beforeEach(() => {
      Object.assign(this, { asked: [], releases: [], requireSignature: false });
      this.instead = () => undefined;
    });
  }

  /** Runs the command with a key and the admin token; `env` adds to its environment. */
  sluice(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandResult> {
    const own = { SLUICE_URL: this.url, SLUICE_KEY: 'key', ADMIN_TOKEN: 'token' };
    return runSluiceHere(args, { ...own, DATA_DIR: join(this.path, 'none'), ...env });
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
  name(): string[] {
    return ['--app', 'notes', '--channel', 'stable', '--version', '1.2.3'];
  }

  /** Arguments that publish files as 1.2.3. */
  publish(files: readonly string[], ...more: string[]): string[] {
    return ['release', 'publish', ...files, ...this.name(), '--url-base', URL_BASE, ...more];
  }

  private async reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.replace(/^\/(?:api\/v1|console\/api)\//, '');
    const body = Buffer.concat(await request.toArray()).toString();
    const asked = { call: `${request.method} ${path}`, body };
    this.asked.push(asked);
    const [status, answer, headers] = this.instead(asked) ?? this.answer(asked);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(answer));
  }

  private answer({ call, body }: Asked): Answered {
    if (call.startsWith('GET releases?')) return [200, { releases: this.releases }];
    if (!call.startsWith('POST releases')) return [404, { error: 'Unknown release' }];
    const { rollout = 100, ...publication } = JSON.parse(body) as Publication;
    const { canonical } = version(publication.version);
    if (this.releases.some((each) => version(String(each.version)).canonical === canonical)) {
      return [409, { error: 'Version already exists on this app and channel' }];
    }
    const release = { status: 'published', notes: '', rolloutPct: rollout, ...publication };
    if (call === 'POST releases') {
      this.releases.push(release);
      return [201, { release }];
    }
    const place = { ...snapshot([]), requireSignature: this.requireSignature };
    const findings = findingsOf(version(publication.version), publication.artifacts, place);
    const moves = [{ from: null, to: publication.version, devices: 1 }];
    return [200, { release, findings, effect: { devices: 1, isEstimate: false, lose: 0, moves } }];
  }
}
