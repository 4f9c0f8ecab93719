// Shell in which tests run the `sluice` command: a folder of a build, and what is usual to run and to expect.

import { expect } from 'vitest';
import { BuildFolder } from './build-folder.ts';
import type { Json } from './published.ts';
import type { CommandResult } from './sluice-command.ts';

const ONE_LINE = /^sluice: [^\n]+\n$/;
export const URL_BASE = 'https://downloads.example.com/notes';

export abstract class CommandShell extends BuildFolder {
  /** Ref of the app that the commands name. */
  abstract readonly app: string;

  /** Runs the command; `env` adds to its environment. */
  abstract sluice(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<CommandResult>;

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
    return ['--app', this.app, '--channel', 'stable', '--version', '1.2.3'];
  }

  /** Arguments that publish files as 1.2.3. */
  publish(files: readonly string[], ...more: string[]): string[] {
    return ['release', 'publish', ...files, ...this.name(), '--url-base', URL_BASE, ...more];
  }
}
