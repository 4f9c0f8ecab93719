// Shell of a publisher: the `sluice` command against a node, with a tenant of its own for each test.

import { beforeEach } from 'vitest';
import { CommandShell } from './command-shell.ts';
import { type CommandResult, runSluiceHere } from './sluice-command.ts';
import { createTenant, type Tenant } from './tenant.ts';

export class PublisherShell extends CommandShell {
  tenant: Tenant = { org: '', app: '', appId: '', secret: '', keyId: '' };

  /** Makes the tenant before each test of the suite. */
  constructor(private readonly node: { readonly url: string }) {
    super();
    beforeEach(async () => {
      this.tenant = await createTenant(node);
    });
  }

  get app(): string {
    return this.tenant.app;
  }

  sluice(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandResult> {
    const own = { SLUICE_URL: this.node.url, SLUICE_KEY: this.tenant.secret };
    return runSluiceHere(args, { ...own, ...env });
  }
}
