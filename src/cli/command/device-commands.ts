// Command that erases a device.

import type { Command } from 'commander';
import { isFoldedAway } from '../../contract/text.ts';
import { answering, type Connect } from '../call/asking.ts';
import { query } from '../call/options.ts';

/** Adds the command, which calls the management API. */
export function addDeviceCommand(program: Command, connect: Connect): void {
  const device = program.command('device').description('a device of an app, with SLUICE_KEY');
  answering(
    device
      .command('erase <id>')
      .description('erase a device from the record; its counts of past hours and days stay')
      .requiredOption('--app <ref>', 'app'),
    connect,
    async (client, { app }, [id = '']) => {
      const path = isFoldedAway(id)
        ? `devices?${query({ app, deviceId: id })}`
        : `devices/${encodeURIComponent(id)}?${query({ app })}`;
      await client.callForNothing('DELETE', path);
      return { erased: true };
    },
    { text: () => 'Erased. When it asks again, it is a new device.' },
  );
}
