// Program that an installed app of Velopack stands for: checks for an update with the real client, downloads
// it when there is one, and prints what it found. The client is a native addon, so it has this process for
// itself.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const { clientFolder, feedUrl, appFolder } = JSON.parse(process.argv[2] ?? '');
const { UpdateManager, setVelopackLogger } = createRequire(join(clientFolder, 'package.json'))(
  clientFolder,
);
// It would log to the standard output.
setVelopackLogger(() => undefined);
const manager = new UpdateManager(feedUrl, undefined, {
  RootAppDir: appFolder,
  UpdateExePath: join(appFolder, 'Update'),
  PackagesDir: join(appFolder, 'packages'),
  ManifestPath: join(appFolder, 'current', 'sq.version'),
  CurrentBinaryDir: join(appFolder, 'current'),
  IsPortable: true,
});
const update = await manager.checkForUpdatesAsync();
if (update !== null) await manager.downloadUpdateAsync(update);
process.stdout.write(JSON.stringify(update?.TargetFullRelease ?? null));
