// Commands of the operator for the devices that an app has on record.

import type { Command } from 'commander';
import type { DevicePage, DeviceRecord, PurgedDevices } from '../../contract/console-fleet.ts';
import { isFoldedAway } from '../../contract/text.ts';
import { countWords } from '../../words/name.ts';
import { answering, asking, type Connect, send } from '../call/asking.ts';
import { type Options, query, wholeNumber, withNextPage } from '../call/options.ts';
import { callInParts, type ServiceClient } from '../call/service-client.ts';
import { type Column, fieldColumns, printTable, valueText } from '../print/print-answer.ts';

const COLUMNS: readonly Column<DeviceRecord>[] = [
  { label: 'device', value: ({ deviceId }) => deviceId },
  ...fieldColumns('version', 'channel'),
  {
    label: 'platform',
    value: ({ platform, arch }) => [platform, arch].filter(Boolean).join('/'),
  },
  { label: 'last seen', value: ({ lastSeen }) => lastSeen },
  {
    label: 'last offered',
    value: ({ lastOffered }) => lastOffered && `${lastOffered.version} at ${lastOffered.at}`,
  },
  { label: 'client', value: ({ client }) => client },
  { label: 'first seen', value: ({ firstSeen }) => firstSeen },
  { label: 'labels', value: ({ labels }) => valueText(labels), lengthMax: 60 },
];

/** Adds `devices` and `devices purge`, which call the console API. */
export function addDeviceRecordCommands(program: Command, connect: Connect): void {
  const devices = program
    .command('devices')
    .description("show an app's devices, by device id")
    // Not required by the library, which would then require the option before the name of a subcommand.
    .option('--app <ref>', 'app (required)')
    .option('--limit <n>', 'how many devices (default: 100, at most 1000)', wholeNumber)
    .option('--after <id>', 'the page after this device id')
    .enablePositionalOptions();
  asking(
    devices,
    connect,
    (options) => {
      if (options.app === undefined) {
        devices.error("error: required option '--app <ref>' not specified");
      }
      return send('GET', `devices?${query(options)}`);
    },
    { text: devicesText },
  );
  const command = devices
    .command('purge')
    .description('delete devices that should not be on record, such as invented ones')
    .requiredOption('--app <ref>', 'app')
    .requiredOption('--first-seen-after <time>', 'only devices first seen after it (RFC 3339)')
    .option('--version <version>', 'only devices that run it')
    .option('--dry-run', 'count them and delete none');
  answering(command, connect, purge, { text: purgedText });
}

function devicesText({ devices, next }: DevicePage, options: Options): string {
  const table = printTable(COLUMNS, devices, 'no devices');
  return withNextPage(table, 'devices', options, next === null ? {} : { after: next });
}

/** Purges devices; the service does it in parts. Returns how many there were. */
async function purge(client: ServiceClient, options: Options): Promise<{ devices: number }> {
  let devices = 0;
  await callInParts(client, 'devices/purge', options, (part: PurgedDevices) => {
    devices += part.devices;
  });
  return { devices };
}

function purgedText({ devices }: { readonly devices: number }, { dryRun }: Options): string {
  return `${dryRun === true ? 'would delete' : 'deleted'}: ${countWords(devices, 'device')}`;
}

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
